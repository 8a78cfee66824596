import type { Command } from "@stricli/core";
import type { Context } from "./context.ts";

/** A command's entry in lists, and the file that implements it, loaded on demand. */
export interface Leaf {
  readonly brief: string;
  /** As that of a noun; for a verb, in addition to it. */
  readonly has_plan?: true;
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

/** The words of a command line that name its command: a leaf, a noun, or a noun and its verb. */
export function wordsOf({ leaves, nouns }: CommandTable, [first = "", second = ""]: readonly string[]): string[] {
  const noun = Object.hasOwn(nouns, first) ? nouns[first] : undefined;
  if (noun !== undefined) return Object.hasOwn(noun.verbs, second) ? [first, second] : [first];
  return Object.hasOwn(leaves, first) ? [first] : [];
}

/** Whether a command line names a verb with a plan. */
export function hasPlan(commands: CommandTable, argv: readonly string[]): boolean {
  const [first = "", second] = wordsOf(commands, argv);
  const noun = commands.nouns[first];
  const leaf = noun === undefined ? commands.leaves[first] : noun.verbs[second ?? noun.default_verb ?? ""];
  return noun?.has_plan === true || leaf?.has_plan === true;
}
