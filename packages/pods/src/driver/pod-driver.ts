import type { Clock, Logger } from "@appdb/engine/ports";
import type { Secret } from "@appdb/system/secret";
import type { UserRange } from "./pod-users.ts";

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
  /** Folders that the pod sees, under the very paths that they have here; nothing else of the host but system and program. */
  readonly folders: readonly PodFolder[];
  /** Where its socket lies, short enough for one (`nameRuntimeFolder`); seen by the pod and by whoever calls it, by no worker. */
  readonly run_folder: string;
  /** `pod.log` and, of what the program writes by itself, `output.log`. */
  readonly log_folder: string;
  readonly limits: PodLimits;
  /** `none`: not even a loopback that is shared. `internet`: everything but what `DENIED_NETWORKS` lists. */
  readonly network: "none" | "internet";
}

export interface PodLabels {
  readonly organization_id: string;
  readonly database_id: string;
  readonly kind: "database" | "service";
}

export interface PodFolder {
  readonly path: string;
  /** `code`: read by the pod and by the application's code, which sees no other of these folders. */
  readonly mode: "read" | "write" | "code";
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

/**
 * Runs pods. Pods outlive whoever asked for them: another driver over the same folder finds them again. A driver starts
 * nothing again by itself: who watches (`list`) decides.
 */
export interface PodDriver extends AsyncDisposable {
  readonly name: "process" | "sandbox";
  /** Whether organizations are kept apart; `process` serves one alone. */
  readonly isolates: boolean;
  /**
   * Makes the pod run as the spec says, and resolves when its process runs; it is not waited for until it is ready. A pod that
   * runs by an equal spec is left alone, one by another spec is stopped first. Safe to repeat and to be killed in.
   * @throws pod_failed with what the system said; pods_one_organization of a driver that does not isolate
   */
  ensure(spec: PodSpec, signal: AbortSignal): Promise<PodStatus>;
  /** Ends the pod with all of its processes: asked first, by force after `grace_ms`. Resolves when none is left; nothing for one that is gone. */
  stop(id: string, graceMs: number): Promise<void>;
  inspect(id: string): Promise<PodStatus | undefined>;
  list(labels: Partial<PodLabels>): Promise<PodStatus[]>;
  /** Lines of `pod.log`, the oldest first; a file that was rotated meanwhile is read to its end. */
  logs(logFolder: string, input: PodLogsInput): AsyncIterable<PodLine>;
  /** Forgets a pod that has ended: what the driver keeps of it goes. Nothing for one that is not known. @throws pod_failed when it runs */
  forget(id: string): Promise<void>;
  /** Lets go of what is kept for a database beyond its pods, its user above all: once its storage is gone. Safe to repeat. */
  forgetDatabase(databaseId: string): Promise<void>;
  /** Runs a program to its end, in the same bounds as a pod; it ends with the signal, and with whoever runs it.
   *  @throws pod_failed, only when it could not be started; pods_one_organization as `ensure` */
  run(task: PodTask, signal: AbortSignal): Promise<PodExit>;
}

/** A program that ends by itself: a build, or Python that writes a manifest. */
export interface PodTask {
  readonly id: string;
  readonly labels: PodLabels;
  readonly program: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly folders: readonly PodFolder[];
  readonly limits: PodLimits & {
    readonly timeout_ms: number;
    /** What its writable folders may grow by. */
    readonly disk_bytes: number;
    /** Files and folders that it may make in them: a disk may have no place for more although it is not full. */
    readonly files: number;
  };
  readonly network: PodSpec["network"];
  /** Of whose own user it is, by a name of the service's making: for work on what all organizations share. Their own when left out. */
  readonly user?: string | undefined;
  /** `host:port` of the operator that it may reach although `DENIED_NETWORKS` has it: an own package index or proxy. */
  readonly allowed_hosts: readonly string[];
  onLine(line: string): void;
}

/** The pod program, run by the Node that runs us. */
export interface PodProgram {
  readonly file: string;
  readonly node_options: readonly string[];
  /** What it reads beside the folder of its file: a checkout, when it is run from source. */
  readonly folders?: readonly string[];
}

/** What every driver is made from. */
export interface PodDriverInput {
  /** Where the driver keeps what it must know of pods; private, and of one driver alone. */
  readonly folder: string;
  readonly program: PodProgram;
  /** User ids that drivers which keep pods apart may give to databases and organizations; `POD_USERS` when left out. */
  readonly users?: UserRange | undefined;
  readonly log: Logger;
  readonly clock: Clock;
}

/** What a machine lacks for a driver, for whoever operates it. */
export interface MissingPart {
  /** `the program bwrap is not on the PATH` */
  readonly what: string;
  /** What to do about it: `apt-get install bubblewrap`. */
  readonly remedy: string;
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
