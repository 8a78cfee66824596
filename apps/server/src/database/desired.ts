import { type Resources, resourcesSchema } from "@appdb/contract/pod-spec";
import * as z from "zod";

/** Of service.toml, kept as the person wrote it. */
const settingsSchema = z.strictObject({
  /** `15m`, `never`. */
  sleep_after: z.string(),
  wake_on_request: z.boolean(),
  vars: z.record(z.string(), z.string()),
  db_input_media_dest: z.string().nullable(),
  db_output_media_dest: z.string().nullable(),
});

/** What a database shall be, as people asked for it: `control.databases.desired`. */
export const desiredSchema = z.strictObject({
  resources: resourcesSchema,
  /** Digest of its tree of project files; null before the first upload. */
  tree: z.string().nullable(),
  /** Hash of its environment; null for the base library alone. */
  environment: z.string().nullable(),
  settings: settingsSchema,
  /** Its pods run; false while it sleeps. */
  is_awake: z.boolean(),
  /** Grows when its pods are to be started anew although nothing else changed. */
  restarts: z.int(),
  /** Grows when its image is to be built anew although its environment is the same. */
  builds: z.int(),
});
export type DesiredDatabase = z.infer<typeof desiredSchema>;

/** What the pod was started with: `control.databases.observed`. */
export const observedSchema = z.strictObject({
  resources: resourcesSchema,
  tree: z.string().nullable(),
  environment: z.string().nullable(),
  settings: settingsSchema,
  restarts: z.int(),
  builds: z.int(),
});
export type ObservedDatabase = z.infer<typeof observedSchema>;

/** A database of which nobody has said anything yet. */
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
