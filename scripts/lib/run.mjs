import { spawn, spawnSync } from "node:child_process";
import { setPriority } from "node:os";

/** Runs a program to its end and returns `{code, stdout, stderr}`. Never throws because of the exit status. */
export function capture(command, args, options = {}) {
  const done = spawnSync(command, args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"], ...options });
  return { code: done.status ?? 1, stdout: done.stdout ?? "", stderr: done.stderr ?? String(done.error ?? "") };
}

/** Runs a program with inherited output. Returns its exit status; 1 when a signal ended it. */
export function stream(command, args, options = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ["ignore", "inherit", "inherit"], ...options });
    child.on("error", reject);
    child.on("close", (code) => resolve(code ?? 1));
  });
}

/**
 * Runs a program and collects stdout and stderr together, so that concurrent output stays readable. Returns `{code,
 * output}`. A `niceness` gives other programs priority.
 */
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

/**
 * Variables such as PYTHONDONTWRITEBYTECODE and PYTHONPATH affect tests and measurements. Without them Python runs with
 * its defaults.
 */
export function withoutPython(env) {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith("PYTHON")));
}
