import type { JsonFlag } from "../../define-command.ts";

/** Of a command that asks nothing: `-f` is taken, since others want it, and changes nothing. */
export interface Forced extends JsonFlag {
  readonly force: boolean;
}

export const NO_QUESTION = {
  flags: { force: { kind: "boolean", brief: "Nothing is asked, with it or without", default: false } },
  aliases: { f: "force" },
} as const;
