import { createLinuxProcesses } from "./linux.ts";
import { createPsProcesses } from "./posix-ps.ts";
import type { ProcessSystem } from "./process-system.ts";
import { createWindowsProcesses } from "./windows.ts";

/** What differs between systems in how processes are found and ended. */
export interface System {
  readonly processes: ProcessSystem;
  /** A child can have a process group of its own (`detached`), which ends as a whole. */
  readonly has_groups: boolean;
  /** A process can be asked to end by a signal. On Windows, every signal ends it at once. */
  readonly has_signals: boolean;
}

/** The system of a platform as Node names it. */
export function systemOf(platform: NodeJS.Platform): System {
  if (platform === "win32") return { processes: createWindowsProcesses(), has_groups: false, has_signals: false };
  const processes = platform === "linux" ? createLinuxProcesses() : createPsProcesses();
  return { processes, has_groups: true, has_signals: true };
}

export const THIS_SYSTEM = systemOf(process.platform);
