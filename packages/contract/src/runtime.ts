import * as z from "zod";

/** How a local database reaches the media stores of hosted ones: by a key, or by the sign-in that the home has at the time. */
export const hostedAccessSchema = z.strictObject({
  /** The control plane, without a final slash, and the setting that contains it. */
  url: z.string(),
  url_source: z.string(),
  api_key: z.string().optional(),
  /** Contains the sign-ins of `cli login`. */
  home: z.string(),
});
export type HostedAccess = z.infer<typeof hostedAccessSchema>;

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
  /** The minor version of `python`, `3.12`, if it is known: that of a hosted database. */
  python_version: z.string().optional(),
  /** Worker processes of each service, if the project's entry of the local database sets them. */
  workers: z.int().min(1).optional(),
  /** The prefix of the `python` command in a sandbox: program and arguments. It reads Python's environment from
   *  descriptor 3. */
  launcher: z.array(z.string()).optional(),
  /** Present if files go to the media store of a hosted database. Functions do not see it. */
  hosted: hostedAccessSchema.optional(),
});
export type Runtime = z.infer<typeof runtimeSchema>;
