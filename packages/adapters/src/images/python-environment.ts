import { delimiter } from "node:path";
import type { Runtime } from "@appdb/contract/routes/local";

/** Variables with which a Python of the application is run: its own, and our library on the import path. */
export function pythonEnvironment({
  env,
  library_paths,
}: Pick<Runtime, "env" | "library_paths">): Record<string, string> {
  const own = env.PYTHONPATH;
  const paths = own === undefined || own === "" ? library_paths : library_paths.concat(own);
  return { ...env, PYTHONPATH: paths.join(delimiter) };
}

/** How the application's Python is started: behind its launcher, where it has one. */
export function pythonCommand(
  runtime: Pick<Runtime, "python" | "launcher">,
  args: readonly string[],
): { readonly program: string; readonly args: string[] } {
  const [program = runtime.python, ...rest] = [...(runtime.launcher ?? []), runtime.python, ...args];
  return { program, args: rest };
}
