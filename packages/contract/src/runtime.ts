import * as z from "zod";

/** How an application's Python is run: interpreter, import paths beside the project root, environment at the command. */
export const runtimeSchema = z.strictObject({
  python: z.string(),
  /** Which rule chose it, for people: `--python`, `uv.lock`, `requirements.txt`, `virtual environment`, `base library`. */
  python_source: z.string(),
  project_root: z.string(),
  /** Folders put on PYTHONPATH so that `appdb` and msgpack import when the environment lacks them. */
  library_paths: z.array(z.string()),
  env: z.record(z.string(), z.string()),
  /** Worker processes of each service, where the project's entry of the local database says how many. */
  workers: z.int().min(1).optional(),
  /** What stands before `python`, where it runs in bounds of its own: program and arguments. It reads Python's environment from descriptor 3. */
  launcher: z.array(z.string()).optional(),
});
export type Runtime = z.infer<typeof runtimeSchema>;
