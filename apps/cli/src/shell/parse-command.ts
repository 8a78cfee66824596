import type { Command } from "@stricli/core";
import type { CommandTable, Leaf } from "../command-entry.ts";
import type { Context } from "../context.ts";
import { toKebab } from "../output/usage-text.ts";

/** A command and how many words name it. */
export interface NamedCommand {
  readonly leaf: Leaf;
  readonly depth: 1 | 2;
}

/** The command that the first words name. */
export function findCommand({ leaves, nouns }: CommandTable, words: readonly string[]): NamedCommand | undefined {
  const [first = "", second = ""] = words;
  const noun = Object.hasOwn(nouns, first) ? nouns[first] : undefined;
  const verb = noun !== undefined && Object.hasOwn(noun.verbs, second) ? noun.verbs[second] : undefined;
  if (verb !== undefined) return { leaf: verb, depth: 2 };
  const leaf = noun === undefined ? ownLeaf(leaves, first) : noun.verbs[noun.default_verb ?? ""];
  return leaf === undefined ? undefined : { leaf, depth: 1 };
}

function ownLeaf(leaves: CommandTable["leaves"], name: string): Leaf | undefined {
  return Object.hasOwn(leaves, name) ? leaves[name] : undefined;
}

/** A positional argument or the value of an option, as the shell needs to know it. */
export interface Slot {
  /** `TABLE`, `TARGET[/TABLE]`, `FILE`. */
  readonly placeholder: string;
  readonly optional: boolean;
}

export interface CommandOption {
  /** `--columns`. */
  readonly name: string;
  readonly alias: string | undefined;
  /** Undefined for an option without a value. */
  readonly value: { readonly placeholder: string; readonly choices: readonly string[] } | undefined;
}

/** The arguments and options that a command declares. */
export interface CommandShape {
  readonly slots: readonly Slot[];
  /** The last slot takes all further arguments. */
  readonly repeats: boolean;
  readonly options: readonly CommandOption[];
}

/** The parts of stricli's declarations that are read here. */
interface DeclaredFlag {
  readonly kind: string;
  readonly placeholder?: string;
  readonly values?: readonly string[];
}

/** Loads a command's file and reads its declaration. */
export async function readShape(leaf: Leaf): Promise<CommandShape> {
  const { aliases = {}, flags = {}, positional } = ((await leaf.load()) as Command<Context>).parameters;
  const aliasOf = (name: string) => Object.entries(aliases).find(([, full]) => full === name)?.[0];
  const options = Object.entries(flags as Readonly<Record<string, DeclaredFlag>>).map(([name, flag]): CommandOption => {
    const alias = aliasOf(name);
    return {
      name: `--${toKebab(name)}`,
      alias: alias === undefined ? undefined : `-${alias}`,
      value:
        flag.kind === "boolean" || flag.kind === "counter"
          ? undefined
          : { placeholder: flag.placeholder ?? name, choices: flag.values ?? [] },
    };
  });
  if (positional === undefined) return { slots: [], repeats: false, options };
  if (positional.kind === "tuple") {
    const slots = positional.parameters.map(({ optional = false, placeholder = "" }) => ({ placeholder, optional }));
    return { slots, repeats: false, options };
  }
  const { parameter, minimum = 0 } = positional;
  return { slots: [{ placeholder: parameter.placeholder ?? "", optional: minimum === 0 }], repeats: true, options };
}

/** A word after the command's name: an argument, an option, or the value of one. */
export type ReadWord =
  | { readonly kind: "argument"; readonly text: string; readonly at: number }
  | { readonly kind: "option"; readonly text: string; readonly option: CommandOption | undefined }
  | { readonly kind: "value"; readonly text: string; readonly option: CommandOption };

/** Reads the words after a command's name. */
export function readWords(words: readonly string[], shape: CommandShape): ReadWord[] {
  const read: ReadWord[] = [];
  let arguments_ = 0;
  let open: CommandOption | undefined;
  let onlyArguments = false;
  for (const text of words) {
    if (open !== undefined) {
      read.push({ kind: "value", text, option: open });
      open = undefined;
    } else if (!onlyArguments && text === "--") {
      onlyArguments = true;
      read.push({ kind: "option", text, option: undefined });
    } else if (!onlyArguments && /^-./.test(text)) {
      const [name = ""] = text.split("=");
      const option = shape.options.find((one) => one.name === name || one.alias === name);
      read.push({ kind: "option", text, option });
      if (option?.value !== undefined && !text.includes("=")) open = option;
    } else {
      read.push({ kind: "argument", text, at: arguments_ });
      arguments_ += 1;
    }
  }
  return read;
}
