import { defineChange } from "./change.ts";

/** For failures that are not the project's fault: a full machine, an unreachable index. */
export const retry = defineChange({
  verb: "retry",
  brief: "Retry a database that FAILED",
  examples: [
    ["cli db retry cloud://acme:main", "start it once more, and wait"],
    ["cli db retry cloud://acme:main --no-wait --json", "do not wait, for a program"],
  ],
  nothing: "There was nothing to try again.",
});
