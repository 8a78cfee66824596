import { createLinuxProcesses } from "./linux.ts";
import { createPsProcesses } from "./posix-ps.ts";
import type { ProcessSystem } from "./process-system.ts";
import { createWindowsProcesses } from "./windows.ts";

/** System-specific ways to find and end processes. */
export interface System {
  readonly processes: ProcessSystem;
  /** Whether a child can have its own process group (`detached`), which ends as a whole. */
  readonly has_groups: boolean;
  /** Whether a process can handle a termination signal. On Windows, every signal kills it immediately. */
  readonly has_signals: boolean;
}

/** System for a platform name of Node. */
export function systemOf(platform: NodeJS.Platform): System {
  if (platform === "win32") return { processes: createWindowsProcesses(), has_groups: false, has_signals: false };
  const processes = platform === "linux" ? createLinuxProcesses() : createPsProcesses();
  return { processes, has_groups: true, has_signals: true };
}

export const THIS_SYSTEM = systemOf(process.platform);
