import type { Command } from "@stricli/core";
import type { Context } from "./context.ts";

/** A command's entry in lists, and the file that implements it, loaded on demand. */
export interface Leaf {
  readonly brief: string;
  load(): Promise<Command<Context>>;
}

export interface Noun {
  readonly brief: string;
  /** Whether its verbs have plans: 2 then means "something is pending", and a usage error is 1. */
  readonly has_plan: boolean;
  /** The verb that runs without its name. */
  readonly default_verb?: string;
  readonly verbs: Readonly<Record<string, Leaf>>;
}

/** Every command, by its first word. */
export interface CommandTable {
  readonly leaves: Readonly<Record<string, Leaf>>;
  readonly nouns: Readonly<Record<string, Noun>>;
}
