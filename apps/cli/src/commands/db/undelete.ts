import { defineChange } from "./change.ts";

/** It returns stopped, with its rows and secrets. */
export const undelete = defineChange({
  verb: "undelete",
  brief: "Restore a deleted database",
  examples: [
    ["cli db undelete cloud://acme:staging", "within the days that cli db delete named"],
    ["cli db undelete cloud://acme:staging --no-wait --json", "do not wait, for a program"],
  ],
  nothing: "It was not deleted.",
  next: (uri) => `cli db start ${uri}`,
});
