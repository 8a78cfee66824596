import * as z from "zod";

/** How to run an application's Python: interpreter, import paths in addition to the project root, environment of the
 *  command. */
export const runtimeSchema = z.strictObject({
  python: z.string(),
  /** The rule that chose it, for people: `--python`, `uv.lock`, `requirements.txt`, `virtual environment`, `base
   *  library`. */
  python_source: z.string(),
  project_root: z.string(),
  /** Folders on PYTHONPATH so that `appdb` and msgpack can be imported when the environment lacks them. */
  library_paths: z.array(z.string()),
  env: z.record(z.string(), z.string()),
  /** Worker processes of each service, if the project's entry of the local database sets them. */
  workers: z.int().min(1).optional(),
  /** The prefix of the `python` command in a sandbox: program and arguments. It reads Python's environment from
   *  descriptor 3. */
  launcher: z.array(z.string()).optional(),
});
export type Runtime = z.infer<typeof runtimeSchema>;
