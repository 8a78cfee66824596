import { spawnSync } from "node:child_process";

/** Whether this process may mount file systems: root outside of most containers. */
export function canMount(): boolean {
  return process.platform === "linux" && process.getuid?.() === 0 && tryUnshare();
}

/** Tries it without side effects: in a mount namespace that ends with the command. */
function tryUnshare(): boolean {
  return spawnSync("unshare", ["--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]).status === 0;
}
