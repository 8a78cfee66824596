import { defineChange } from "./change.ts";

/** A stopped database uses no memory; `db start` starts it again. */
export const stop = defineChange({
  verb: "stop",
  brief: "Stop the pods of a database; its data stays",
  examples: [
    ["cli db stop cloud://acme:main", "and wait until it is STOPPED"],
    ["cli db stop cloud://acme:main --no-wait --json", "do not wait, for a program"],
  ],
  nothing: "It is already stopped.",
});
