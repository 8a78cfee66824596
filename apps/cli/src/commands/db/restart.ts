import { defineChange } from "./change.ts";

/** Image, files and services do not change. */
export const restart = defineChange({
  verb: "restart",
  brief: "Restart the pods of a database; they read new secrets",
  examples: [
    ["cli db restart cloud://acme:main", "after cli secret set, for example"],
    ["cli db restart cloud://acme:main --no-wait --json", "do not wait, for a program"],
  ],
  nothing: "There was nothing to restart.",
});
