import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { delimiter } from "node:path";
import { Writable } from "node:stream";
import type { Runtime } from "@appdb/contract/runtime";
import { environmentOptions, optionsText } from "./bubblewrap-options.ts";

/** The launcher's complete environment. */
const LAUNCHER_ENVIRONMENT = { PATH: "/usr/local/bin:/usr/bin:/bin", LANG: "C.UTF-8" };

export interface SpawnPythonInput {
  readonly runtime: Pick<Runtime, "env" | "launcher" | "library_paths" | "python">;
  readonly args: readonly string[];
  /** Variables in addition to the runtime's. */
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin: "pipe" | "ignore";
}

/**
 * Starts the application's Python with piped output. With a launcher, the environment goes to descriptor 3 as
 * bubblewrap options, so that no other program has it.
 * @throws pod_failed for a variable that a launcher cannot receive
 */
export function spawnPython(
  { args, env, runtime, stdin }: SpawnPythonInput,
  options: Omit<SpawnOptions, "env" | "stdio">,
): ChildProcess {
  const variables = { ...pythonEnvironment(runtime), ...env };
  const [launcher, ...before] = runtime.launcher ?? [];
  if (launcher === undefined) {
    return spawn(runtime.python, args, { ...options, env: variables, stdio: [stdin, "pipe", "pipe"] });
  }
  const text = optionsText(environmentOptions(variables));
  const stdio: SpawnOptions["stdio"] = [stdin, "pipe", "pipe", "pipe"];
  const child = spawn(launcher, [...before, runtime.python, ...args], {
    ...options,
    env: LAUNCHER_ENVIRONMENT,
    stdio,
  });
  const controlPipe: unknown = child.stdio[3];
  if (controlPipe instanceof Writable) {
    // the exit status explains a launcher that ends without reading it
    controlPipe.on("error", () => undefined);
    controlPipe.end(text);
  }
  return child;
}

/** Environment of the application's Python: the runtime's variables, and our library on the import path. */
export function pythonEnvironment({
  env,
  library_paths: libraryPaths,
}: Pick<Runtime, "env" | "library_paths">): Record<string, string> {
  const own = env.PYTHONPATH;
  const paths = own === undefined || own === "" ? libraryPaths : libraryPaths.concat(own);
  return { ...env, PYTHONPATH: paths.join(delimiter) };
}
