import type { CommandTable } from "../command-entry.ts";
import { SHELLS } from "../output/completion-scripts.ts";
import { BUILT_IN_NAMES } from "./built-ins.ts";
import { completeSql } from "./complete-sql.ts";
import { databaseOf, type Location, parseLocation, resolvePath } from "./location.ts";
import { type CommandOption, type CommandShape, findCommand, readShape, readWords } from "./parse-command.ts";
import { pathKindOf } from "./place-words.ts";
import { splitWords } from "./split-words.ts";
import { beginsSql, SQL_WORDS } from "./sql-text.ts";
import type { TableCache } from "./table-cache.ts";

/** What can be at the cursor, and the typed text that it begins with. */
export type Completion = readonly [candidates: string[], typed: string];

export interface CompletionInput {
  /** Lines before this one that belong to it: a statement of SQL, an open quote. */
  readonly before: string;
  /** The line up to the cursor. */
  readonly line: string;
  readonly location: Location;
  readonly commands: CommandTable;
  readonly tables: TableCache;
}

/** Values of options that have names of columns: alone, separated by commas, or within a condition. */
const COLUMN_VALUES: ReadonlySet<string> = new Set(["names", "column", "condition", "column=value"]);
const COLUMN_OPTION = "--column";

export async function complete(input: CompletionInput): Promise<Completion> {
  const { before, line, location, tables } = input;
  const text = `${before}${line}`;
  if (beginsSql(text)) {
    const found = location === undefined ? [] : await tables.tables(databaseOf(location));
    return completeSql(text, found);
  }
  const { is_between: isBetween, words: split } = splitWords(text);
  const words = isBetween ? split : split.slice(0, -1);
  const typed = isBetween ? "" : (split.at(-1) ?? "");
  const command = words[0] === "cli" ? words.slice(1) : words;
  const { names, partial } = await candidatesOf(command, typed, input);
  const found = [...new Set(names)].filter((name) => name.startsWith(partial)).sort();
  const [only] = found;
  const isWhole = found.length === 1 && only !== undefined && partial === typed && !only.endsWith("/");
  return [isWhole ? [`${only} `] : found, partial];
}

interface Candidates {
  readonly names: readonly string[];
  /** The end of the typed word that a name begins with. */
  readonly partial: string;
}

async function candidatesOf(words: readonly string[], typed: string, input: CompletionInput): Promise<Candidates> {
  const [first = ""] = words;
  const { leaves, nouns } = input.commands;
  const whole = (names: readonly string[]): Candidates => ({ names, partial: typed });
  if (first === "") return whole([...BUILT_IN_NAMES, ...Object.keys(leaves), ...Object.keys(nouns), ...SQL_WORDS]);
  if (first === "cd") return whole(await pathsAt(typed, "folders", input));
  if (first.startsWith("\\")) return whole(await pathsAt(typed, "tables", input));
  if (first === "help") return await candidatesOf(words.slice(1), typed, input);
  const verbs = words.length === 1 && Object.hasOwn(nouns, first) ? Object.keys(nouns[first]?.verbs ?? {}) : [];
  const command = findCommand(input.commands, words);
  if (command === undefined) return whole(verbs);
  const shape = await readShape(command.leaf);
  const last = readWords([...words.slice(command.depth), typed], shape).at(-1);
  if (last?.kind === "value" && hasColumns(last.option)) {
    return { names: await columnsOf(words.slice(command.depth), shape, input), partial: /\w*$/.exec(typed)?.[0] ?? "" };
  }
  if (last?.kind === "value") {
    if (last.option.name === "--target") return whole(await pathsAt(typed, "folders", input));
    return whole(last.option.value?.choices ?? []);
  }
  if (typed.startsWith("-")) return whole([...shape.options.map(({ name }) => name), "--help"]);
  const arguments_ =
    last?.kind === "argument" ? await argumentsAt({ shape, at: last.at, noun: first, typed }, input) : [];
  return whole([...verbs, ...arguments_]);
}

function hasColumns({ name, value }: CommandOption): boolean {
  return name === COLUMN_OPTION || COLUMN_VALUES.has(value?.placeholder ?? "");
}

async function argumentsAt(
  { at, noun, shape, typed }: { shape: CommandShape; at: number; noun: string; typed: string },
  input: CompletionInput,
): Promise<readonly string[]> {
  const placeholder = shape.slots[shape.repeats ? 0 : at]?.placeholder ?? "";
  if (placeholder === "SHELL") return SHELLS;
  const kind = pathKindOf(placeholder, noun);
  if (placeholder === "TABLE COLUMN" && at > 0)
    return await columnsOf([input.line.trim().split(/\s+/)[1] ?? ""], shape, input);
  if (kind === undefined || (placeholder === "TABLE KEY" && at > 0)) return [];
  return await pathsAt(typed, placeholder === "TARGET" || placeholder === "FOLDER" ? "folders" : "tables", input);
}

/** The columns of the table that the words after a command name first. */
async function columnsOf(words: readonly string[], shape: CommandShape, input: CompletionInput): Promise<string[]> {
  const { location, tables } = input;
  const table = readWords(words, shape).find(({ kind }) => kind === "argument")?.text;
  if (table === undefined) return [];
  const path = resolvePath(location, table, "table") ?? "";
  const cut = path.lastIndexOf("/");
  const at = folderAt(undefined, path.slice(0, cut + 1));
  if (at === undefined) return [];
  const name = [...at.folders, path.slice(cut + 1)].join("/");
  const known = await tables.tables(databaseOf(at));
  return [...(known.find((one) => one.path === name)?.columns ?? [])];
}

/** Folders, and tables if wanted, as they are typed at the location. A folder ends with `/`. */
async function pathsAt(typed: string, wanted: "folders" | "tables", input: CompletionInput): Promise<string[]> {
  const { location, tables } = input;
  const folder = typed.slice(0, typed.lastIndexOf("/") + 1);
  const machine = location === undefined || typed.startsWith("/");
  const at = folderAt(machine ? undefined : location, folder);
  if (at === undefined) {
    if (!machine) return [];
    const databases = await tables.databases();
    return databases.map((name) => `${folder}${name}/`);
  }
  const database = databaseOf(at);
  const prefix = at.folders.length === 0 ? "" : `${at.folders.join("/")}/`;
  const found = new Set<string>();
  for (const { path } of await tables.tables(database)) {
    if (!path.startsWith(prefix)) continue;
    const [name = "", ...below] = path.slice(prefix.length).split("/");
    if (below.length > 0) found.add(`${folder}${name}/`);
    else if (wanted === "tables") found.add(`${folder}${name}`);
  }
  return [...found];
}

/** The database or folder that a typed folder names; undefined for this machine, and while it is not a valid one. */
function folderAt(location: Location, folder: string): Exclude<Location, undefined> | undefined {
  try {
    return parseLocation(location, folder === "" ? "." : folder.slice(0, -1) || "/");
  } catch {
    return undefined;
  }
}
