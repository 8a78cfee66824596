import type { Secret } from "@appdb/system/secret";

/** A process group that the service runs for a database, and how it is bounded. Equal specs have equal `specHash`es. */
export interface PodSpec {
  /** `[a-z0-9-]{1,63}`, of the service's own making: `db-<database id>`. */
  readonly id: string;
  /** Who it belongs to, by ids, never by names. */
  readonly labels: PodLabels;
  /** The bundled pod program and its role: `["pod.js", "database"]`; the driver runs it by its own Node. */
  readonly args: readonly string[];
  /** One JSON document that the pod reads from its standard input up to the end: the only way by which it gets secrets. */
  readonly input: Secret;
  /** The environment of the organization that the application's code runs in, by its hash; null for the base library alone. */
  readonly image: string | null;
  /** What the pod sees besides the system, its program and its image; it sees nothing else. */
  readonly volumes: readonly PodVolume[];
  /** What it listens on. */
  readonly ports: readonly PodPort[];
  readonly limits: PodLimits;
  /** `none`: not even a loopback that is shared. `internet`: everything but what `DENIED_NETWORKS` lists. */
  readonly network: "none" | "internet";
}

/** A pod, and the database that it belongs to: enough to find what is the pod's own, also when the pod is gone. */
export interface PodName {
  readonly id: string;
  readonly database_id: string;
}

export interface PodVolume {
  /** Unique in its spec, and a DNS label: `data`. */
  readonly name: string;
  readonly source: VolumeSource;
  /** Where the pod finds it: what `PodDriver.target` says of the source. The input names this path. */
  readonly target: string;
  /** `code`: read by the pod and by the application's code, which sees no other volume. */
  readonly access: "read" | "write" | "code";
}

/** What a volume holds. The driver knows where it is stored. */
export type VolumeSource =
  /** What a database stores. */
  | { readonly kind: "data"; readonly database_id: string }
  | ({ readonly kind: "logs" } & PodLog)
  /** Logs and scratch files of all services of a database. */
  | { readonly kind: "services"; readonly database_id: string }
  /** Scratch files of one pod; removed with it. */
  | { readonly kind: "scratch"; readonly pod: PodName }
  /** The unix sockets of one pod; removed with it. No worker sees it. */
  | { readonly kind: "sockets"; readonly pod: PodName }
  /** The project files of a database, each tree under its digest. */
  | { readonly kind: "project-trees"; readonly database_id: string }
  /** One tree of them; null: a folder without files. */
  | { readonly kind: "project-tree"; readonly database_id: string; readonly digest: string | null };

/** A log that pods write: of a database, or of a service over all of its instances. It stays when a pod is gone. */
export interface PodLog {
  readonly database_id: string;
  readonly service_id: string | null;
}

/** A database, or one of its services, that has volumes. */
export interface VolumeOwner {
  readonly database_id: string;
  /** Null: the database itself. */
  readonly service_id: string | null;
  /** Of its oldest volume. */
  readonly made_at: Date;
}

/** `api`: the pod's own API, with its token. `http`: a service's routes. `link`: the same by frames. `postgres`: PostgreSQL. */
export type PodPort = "api" | "http" | "link" | "postgres";

/** How a port is reached: by the server and the gateway, and by other pods of the same database. */
export type PodEndpoint =
  | { readonly kind: "socket"; readonly path: string }
  | { readonly kind: "tcp"; readonly host: string; readonly port: number };

export type PodEndpoints = Readonly<Record<PodPort, PodEndpoint>>;

export interface PodLabels {
  readonly organization_id: string;
  readonly database_id: string;
  readonly kind: "database" | "service";
}

export interface PodLimits {
  /** Cores and megabytes that all pods of `labels.database_id` share. */
  readonly cpu: number;
  readonly memory_mb: number;
  /** Processes and threads together. */
  readonly tasks: number;
}

export interface PodStatus {
  readonly id: string;
  readonly labels: PodLabels;
  readonly spec_hash: string;
  readonly state: "running" | "exited";
  readonly pid: number | null;
  readonly started_at: string;
  /** How it ended; null while it runs. */
  readonly exit: PodExit | null;
  /** Of all its processes, by PSS or the group's counter; null where nobody counts, and in `list` where that takes long. */
  readonly memory_bytes: number | null;
}

export interface PodExit {
  readonly code: number | null;
  readonly signal: string | null;
  /** Killed because its database's pods needed more than `memory_mb`; read from the group's own counter. */
  readonly is_out_of_memory: boolean;
  /** Which limit of a task the driver ended it for; null for any other end. */
  readonly exceeded: "time" | "disk" | "files" | null;
}

export interface PodLine {
  readonly at: string;
  readonly level: "debug" | "info" | "warn" | "error";
  readonly line: string;
}

export interface PodLogsInput {
  /** The last lines first; all that are kept when left out. */
  readonly tail?: number;
  /** No lines from before. */
  readonly since?: Date;
  /** Goes on until the signal. */
  readonly follow: boolean;
  readonly signal: AbortSignal;
}

/** How pods are reached and what they log, for those that run none: the gateway and the control plane. */
export interface PodAccess {
  /**
   * How the ports of a pod are reached. The answer is the same for all starts of a pod of this name, so it is asked for once and
   * kept. A pod listens on the ports of its spec alone.
   */
  endpoints(pod: PodName): Promise<PodEndpoints>;
  /** Lines of a log, the oldest first. With `follow` they continue from one start of a pod to the next. */
  logs(log: PodLog, input: PodLogsInput): AsyncIterable<PodLine>;
  /** The last lines since a start, what the program printed itself last: why it ended. Lines of requests are left out. */
  lastLines(log: PodLog, since: Date, count: number): Promise<string[]>;
}

/**
 * Runs pods. Pods outlive the process that asked for them: another driver over the same state finds them again. A driver restarts
 * nothing: the caller that watches (`list`) decides. Only answers of a driver name paths and sockets: pods may run on another
 * machine.
 */
export interface PodDriver extends PodAccess, AsyncDisposable {
  readonly name: "process" | "sandbox";
  /** Whether organizations are kept apart; `process` serves one alone. */
  readonly isolates: boolean;
  /** The path under which a pod of this driver finds a volume. */
  target(source: VolumeSource): string;
  /**
   * Makes the pod run as the spec says, and resolves when its process runs; it is not waited for until it is ready. Volumes that are
   * missing are made. A pod that runs by an equal spec is left alone, one by another spec is stopped first. Safe to repeat and to
   * be killed in.
   * @throws pod_failed with what the system said; pods_one_organization of a driver that does not isolate
   */
  ensure(spec: PodSpec, signal: AbortSignal): Promise<PodStatus>;
  /** Ends the pod with all of its processes: asked first, by force after `grace_ms`. Resolves when none is left; nothing for one that is gone. */
  stop(id: string, graceMs: number): Promise<void>;
  inspect(id: string): Promise<PodStatus | undefined>;
  list(labels: Partial<PodLabels>): Promise<PodStatus[]>;
  /** Forgets a pod that has ended, and removes its sockets and scratch files, also of one that is not known. @throws pod_failed when it runs */
  forget(pod: PodName): Promise<void>;
  /** Databases and services that have volumes, also those that were forgotten elsewhere. */
  listOwners(): Promise<VolumeOwner[]>;
  /** Removes the log of a service, and everything else that its pods have left. Safe to repeat. */
  forgetService(service: { readonly database_id: string; readonly service_id: string }): Promise<void>;
  /** Removes all volumes of a database, and releases what the driver keeps for it, above all its user. Safe to repeat. */
  forgetDatabase(databaseId: string): Promise<void>;
}

/** What no pod and no build reaches: the host's loopback, private, link-local (metadata), shared, multicast and reserved addresses. */
export const DENIED_NETWORKS = {
  ipv4: [
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/4",
    "240.0.0.0/4",
  ],
  ipv6: [
    // with the unspecified address, the loopback, and every address of version 4 as it was once written
    "::/96",
    "::ffff:0:0/96",
    "64:ff9b::/96",
    "64:ff9b:1::/48",
    "100::/64",
    "2001::/32",
    "2001:db8::/32",
    "2002::/16",
    "fc00::/7",
    "fe80::/10",
    "fec0::/10",
    "ff00::/8",
  ],
} as const;
