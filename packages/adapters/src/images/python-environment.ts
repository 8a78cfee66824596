import { delimiter } from "node:path";
import type { Runtime } from "@appdb/contract/routes/local";

/** Variables with which a Python of the application is run: its own, and our library on the import path. */
export function pythonEnvironment(runtime: Pick<Runtime, "env" | "library_paths">): Record<string, string> {
  const own = runtime.env.PYTHONPATH;
  const paths = own === undefined || own === "" ? runtime.library_paths : [...runtime.library_paths, own];
  return { ...runtime.env, PYTHONPATH: paths.join(delimiter) };
}
