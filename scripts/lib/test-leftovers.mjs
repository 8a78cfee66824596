import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, readlinkSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/** On systems with /proc: other processes whose environment or command line names the folder, or that write into it. */
export function processesNaming(folder) {
  if (!existsSync("/proc/self/environ")) return [];
  return readdirSync("/proc")
    .filter((pid) => /^\d+$/.test(pid) && Number(pid) !== process.pid)
    .filter(
      (pid) =>
        ["environ", "cmdline"].some((file) => readProcess(pid, file).includes(folder)) ||
        ["1", "2"].some((stream) => readStream(pid, stream).includes(folder)),
    )
    .map((pid) => ({ pid: Number(pid), command: readProcess(pid, "cmdline").replaceAll("\0", " ").trim() }));
}

/** Ends every process that names the folder, including ones started meanwhile, and removes the folder. */
export async function removeAll(folder) {
  for (let quiet = 0, round = 0; quiet < 3 && round < 100; round += 1) {
    const found = processesNaming(folder);
    quiet = found.length === 0 ? quiet + 1 : 0;
    for (const { pid } of found) killIfThere(pid);
    await sleep(100);
  }
  unmountBelow(folder);
  rmSync(folder, { recursive: true, force: true });
}

/** Unmounts everything below the folder, inner mounts first. */
export function unmountBelow(folder) {
  for (const mount of mountsBelow(folder).reverse()) execFileSync("umount", ["--lazy", mount]);
}

function killIfThere(pid) {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if (error.code !== "ESRCH") throw error;
  }
}

function mountsBelow(folder) {
  if (!existsSync("/proc/self/mounts")) return [];
  // one character per byte, since escapes are bytes
  return readFileSync("/proc/self/mounts", "latin1")
    .split("\n")
    .map((line) =>
      (line.split(" ")[1] ?? "").replace(/\\([0-7]{3})/g, (_, octal) => String.fromCharCode(Number.parseInt(octal, 8))),
    )
    .map((path) => Buffer.from(path, "latin1").toString("utf8"))
    .filter((path) => path.startsWith(`${folder}/`));
}

/** Target of its output: a pod has no other reference to the folder. */
function readStream(pid, stream) {
  try {
    return readlinkSync(join("/proc", pid, "fd", stream));
  } catch {
    // it has ended, or belongs to another user
    return "";
  }
}

function readProcess(pid, file) {
  try {
    return readFileSync(join("/proc", pid, file), "utf8");
  } catch {
    // it has ended, or belongs to another user
    return "";
  }
}
