/**
 * Where things lie in a home (`SERVICE_HOME`, default `~/.service`), relative to it. The command and the daemon meet
 * through `daemon.json` and the token file; everything else is the daemon's own.
 */
export const HOME_PATHS = {
  /** `DaemonFile`, 0600, there while a daemon listens; a killed daemon leaves it behind. */
  daemon: "daemon.json",
  /** `[service]` with `api_url` and `api_key`: which hosted service the command talks to, and as whom. */
  config: "config.toml",
  /** Sign-ins of `cli login`, 0600, by the server's address. */
  sessions: "sessions.json",
  /** `ServerFile`, there while `npm start` runs the hosted service on this home; a killed server leaves it behind. */
  server: "server.json",
  /** The bearer token, 0600, one line. */
  token: "daemon.token",
  /** One file per daemon that held the home, the highest number is the lock. */
  locks: "locks",
  postgres: "postgres",
  logs: "logs",
  daemonLog: "logs/daemon.log",
  services: "services",
  serviceLogs: "logs/services",
  runtimes: "runtimes",
  /** What services are told when they start, removed as soon as they have read it. */
  specs: "specs",
  images: "images",
  /** The base library's packages for Pythons that lack them. */
  base: "base",
  /** Digests of project files that were uploaded, one file a project. */
  digests: "digests",
  /** What was found out about interpreters. */
  pythons: "pythons",
} as const;

/** What the daemon of a home keeps, by names in the home. Settings, sign-ins and the hosted service of a home are not among it. */
export const LOCAL_DATA: readonly string[] = [
  HOME_PATHS.daemon,
  HOME_PATHS.token,
  HOME_PATHS.locks,
  HOME_PATHS.postgres,
  HOME_PATHS.logs,
  HOME_PATHS.services,
  HOME_PATHS.runtimes,
  HOME_PATHS.specs,
  HOME_PATHS.images,
  HOME_PATHS.base,
  HOME_PATHS.digests,
  HOME_PATHS.pythons,
];

/** What `server.json` says. */
export interface ServerFile {
  /** Without a slash at its end. */
  readonly url: string;
  readonly pid: number;
}

/** What `daemon.json` says. */
export interface DaemonFile {
  readonly pid: number;
  readonly port: number;
  readonly started_at: string;
  readonly version: string;
}
