import { spawn, spawnSync } from "node:child_process";
import { setPriority } from "node:os";

/** Runs a program to its end and answers `{code, stdout, stderr}`; never throws for a status. */
export function capture(command, args, options = {}) {
  const done = spawnSync(command, args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"], ...options });
  return { code: done.status ?? 1, stdout: done.stdout ?? "", stderr: done.stderr ?? String(done.error ?? "") };
}

/** Runs a program whose output goes to this one's; answers its exit status, 1 when a signal ended it. */
export function stream(command, args, options = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ["ignore", "inherit", "inherit"], ...options });
    child.on("error", reject);
    child.on("close", (code) => resolve(code ?? 1));
  });
}

/** Runs a program and keeps its output back, stdout and stderr together, so that two at a time stay readable; answers `{code, output}`. With a `niceness` it lets other programs go first. */
export function collect(command, args, { niceness = 0, ...options } = {}) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"], ...options });
    if (niceness > 0 && child.pid !== undefined) setPriority(child.pid, niceness);
    let output = "";
    const add = (data) => {
      output += data;
    };
    child.stdout.on("data", add);
    child.stderr.on("data", add);
    child.on("error", (error) => resolve({ code: 1, output: String(error) }));
    child.on("close", (code) => resolve({ code: code ?? 1, output }));
  });
}

/** PYTHONDONTWRITEBYTECODE, PYTHONPATH and their kin change what is tested and measured: without them Python runs as on any machine. */
export function withoutPython(env) {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith("PYTHON")));
}
