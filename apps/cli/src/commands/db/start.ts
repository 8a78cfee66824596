import { defineChange } from "./change.ts";

/** Its data is unchanged. */
export const start = defineChange({
  verb: "start",
  brief: "Start a stopped or sleeping database",
  examples: [
    ["cli db start cloud://acme:main", "and wait until it is AVAILABLE"],
    ["cli db start cloud://acme:main --no-wait --json", "do not wait, for a program"],
  ],
  nothing: "It is already awake.",
});
