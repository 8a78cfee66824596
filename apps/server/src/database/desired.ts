import { type Resources, resourcesSchema } from "@appdb/contract/pod-spec";
import * as z from "zod";

/** Settings of service.toml, in the person's spelling. */
const settingsSchema = z.strictObject({
  /** Such as `15m` or `never`. */
  sleep_after: z.string(),
  wake_on_request: z.boolean(),
  vars: z.record(z.string(), z.string()),
  db_input_media_dest: z.string().nullable(),
  db_output_media_dest: z.string().nullable(),
  /** Absent: none. */
  db_media_sources: z.array(z.string()).optional(),
  /** Absent: the server's default. */
  media_gb: z.int().optional(),
});

/** The requested state of a database: `control.databases.desired`. */
export const desiredSchema = z.strictObject({
  resources: resourcesSchema,
  /** Digest of its tree of project files. Null before the first upload. */
  tree: z.string().nullable(),
  /** Hash of its environment. Null for the base library alone. */
  environment: z.string().nullable(),
  settings: settingsSchema,
  /** Whether its pods run. False while it sleeps. */
  is_awake: z.boolean(),
  /** Increased to restart its pods without another change. */
  restarts: z.int(),
  /** Increased to rebuild its image from the same environment. */
  builds: z.int(),
});
export type DesiredDatabase = z.infer<typeof desiredSchema>;

/** The state with which the pod was started: `control.databases.observed`. */
export const observedSchema = z.strictObject({
  resources: resourcesSchema,
  tree: z.string().nullable(),
  environment: z.string().nullable(),
  settings: settingsSchema,
  restarts: z.int(),
  builds: z.int(),
});
export type ObservedDatabase = z.infer<typeof observedSchema>;

/** The default state of a new database. */
export function firstDesired(resources: Resources): DesiredDatabase {
  return {
    resources,
    tree: null,
    environment: null,
    settings: {
      sleep_after: "never",
      wake_on_request: false,
      vars: {},
      db_input_media_dest: null,
      db_output_media_dest: null,
    },
    is_awake: true,
    restarts: 0,
    builds: 0,
  };
}
