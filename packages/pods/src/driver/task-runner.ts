import type { PodExit, PodLabels, PodLimits, PodSpec, PodVolume } from "./pod-driver.ts";

/** A folder or a file of this machine that a program sees, under the path that it has here. */
export interface PodFolder {
  readonly path: string;
  /** `code`: read by the pod and by the application's code, which sees no other of these folders. */
  readonly mode: "read" | "write" | "code";
  /** As in a pod's volume. Tasks have none: all of their folders are the code's. */
  readonly code_parts?: PodVolume["code_parts"];
}

/** A program that ends on its own: a build, or Python that writes a manifest. */
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

/**
 * Runs programs on this machine for a caller that shares folders with them: it writes before the task begins and reads what the task
 * left. Drivers of pods on this machine are task runners as well.
 */
export interface TaskRunner {
  /** Runs a program to its end, in the same bounds as a pod; it ends with the signal, and with the caller's process.
   *  @throws pod_failed, only when it could not be started; pods_one_organization of a driver that does not isolate */
  run(task: PodTask, signal: AbortSignal): Promise<PodExit>;
}
