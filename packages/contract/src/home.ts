/**
 * Paths in a home (`SERVICE_HOME`, default `~/.service`), relative to it. The command and the daemon share
 * `daemon.json` and the token file; everything else belongs to the daemon.
 */
export const HOME_PATHS = {
  /** `DaemonFile`, 0600, exists while a daemon listens; a killed daemon leaves it behind. */
  daemon: "daemon.json",
  /** `[service]` with `api_url` and `api_key`: the hosted service and the credential of the command. */
  config: "config.toml",
  /** Sign-ins of `cli login`, 0600, by the server's address. */
  sessions: "sessions.json",
  /** `ServerFile`, exists while `npm start` runs the hosted service on this home; a killed server leaves it behind. */
  server: "server.json",
  /** Lines typed into `cli shell`, 0600. */
  shellHistory: "shell-history",
  /** The bearer token, 0600, one line. */
  token: "daemon.token",
  /** One file per daemon that held the home; the highest number is the lock. */
  locks: "locks",
  postgres: "postgres",
  logs: "logs",
  daemonLog: "logs/daemon.log",
  services: "services",
  serviceLogs: "logs/services",
  /** Services of `cli service run`, one file for each command that runs. */
  terminals: "terminals",
  runtimes: "runtimes",
  /** Databases that end with a process, one file for each. */
  scratch: "scratch",
  /** Functions of running programs, one folder for each program. */
  programs: "programs",
  /** Manifests of applied updates. */
  manifests: "manifests",
  /** Start documents of services, removed after they are read. */
  specs: "specs",
  images: "images",
  /** Media of the local databases, one folder for each: its store, its cache, and files on their way. */
  media: "media",
  /** The base library's packages for Pythons that lack them. */
  base: "base",
  /** Digests of uploaded project files, one file per project. */
  digests: "digests",
  /** Cached facts about interpreters. */
  pythons: "pythons",
} as const;

/** The daemon's data in a home, by name. Excludes settings, sign-ins and the hosted service of a home. */
export const LOCAL_DATA: readonly string[] = [
  HOME_PATHS.daemon,
  HOME_PATHS.token,
  HOME_PATHS.locks,
  HOME_PATHS.postgres,
  HOME_PATHS.logs,
  HOME_PATHS.services,
  HOME_PATHS.terminals,
  HOME_PATHS.runtimes,
  HOME_PATHS.scratch,
  HOME_PATHS.programs,
  HOME_PATHS.manifests,
  HOME_PATHS.specs,
  HOME_PATHS.images,
  HOME_PATHS.media,
  HOME_PATHS.base,
  HOME_PATHS.digests,
  HOME_PATHS.pythons,
];

/** The content of `server.json`. */
export interface ServerFile {
  /** Without a trailing slash. */
  readonly url: string;
  readonly pid: number;
}

/** The content of `daemon.json`. */
export interface DaemonFile {
  readonly pid: number;
  readonly port: number;
  readonly started_at: string;
  readonly version: string;
}
