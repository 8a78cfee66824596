import type { JsonFlag } from "../../define-command.ts";

/** Flags of a command without a question. `-f` is accepted for consistency and has no effect. */
export interface Forced extends JsonFlag {
  readonly force: boolean;
}

export const NO_QUESTION = {
  flags: { force: { kind: "boolean", brief: "Has no effect: the command never asks", default: false } },
  aliases: { f: "force" },
} as const;
