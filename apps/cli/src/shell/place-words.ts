import type { CommandTable } from "../command-entry.ts";
import { databaseOf, type Location, resolvePath } from "./location.ts";
import { type CommandShape, findCommand, type ReadWord, readShape, readWords } from "./parse-command.ts";

/** Arguments that are paths, by the placeholder of the command's declaration. */
const PATHS: Readonly<Record<string, "table" | "target">> = {
  TABLE: "table",
  "TABLE KEY": "table",
  "TABLE COLUMN": "table",
  TARGET: "target",
  FOLDER: "target",
  PATH: "target",
  "TARGET[/TABLE]": "target",
};
/** Services of `service` commands. Other nouns use the placeholder for names without a path. */
const SERVICE_NAME = "NAME";
const URI = "URI";
/** Arguments that default to the location. */
const FILLED: ReadonlySet<string> = new Set(["TARGET", "TARGET[/TABLE]", "PATH", URI]);

/** What the path of an argument names; undefined for any other argument. */
export function pathKindOf(placeholder: string, noun: string): "table" | "target" | undefined {
  if (placeholder === SERVICE_NAME) return noun === "service" ? "table" : undefined;
  return Object.hasOwn(PATHS, placeholder) ? PATHS[placeholder] : undefined;
}

/** The command line of typed words: paths are complete, and a missing target is the location. */
export async function placeWords(
  commands: CommandTable,
  words: readonly string[],
  location: Location,
): Promise<readonly string[]> {
  const command = findCommand(commands, words);
  if (command === undefined) return words;
  const [noun = ""] = words;
  const shape = await readShape(command.leaf);
  const read = readWords(words.slice(command.depth), shape);
  const missing = findMissingTarget(read, shape, location);
  const placed = read.flatMap((word): string[] => {
    if (word.kind === "value" && isTargetOption(word.option.name))
      return [resolvePath(location, word.text, "target") ?? word.text];
    if (word.kind !== "argument") return [word.text];
    const isMoved = missing !== undefined && word.at >= missing.at;
    const path = placeArgument(word.text, slotOf(shape, word.at + (isMoved ? 1 : 0)), { location, noun, at: word.at });
    const before = word.at === missing?.at ? [missing.target] : [];
    return path === undefined ? before : [...before, path];
  });
  const isLast = missing !== undefined && !read.some((word) => word.kind === "argument" && word.at === missing.at);
  const last = isLast ? [missing.target] : [];
  return [...words.slice(0, command.depth), ...targetOption(read, shape, location), ...placed, ...last];
}

function slotOf({ repeats, slots }: CommandShape, at: number): string {
  return slots[repeats ? 0 : at]?.placeholder ?? "";
}

/** An argument with its complete path; undefined for this machine. */
function placeArgument(
  typed: string,
  placeholder: string,
  { at, location, noun }: { readonly at: number; readonly location: Location; readonly noun: string },
): string | undefined {
  const kind = pathKindOf(placeholder, noun);
  // of several arguments in one slot, a table's comes first: TABLE KEY
  const isPath = kind !== undefined && (at === 0 || !placeholder.startsWith("TABLE "));
  return isPath ? resolvePath(location, typed, kind) : typed;
}

function isTargetOption(name: string): boolean {
  return name === "--target";
}

function targetOption(read: readonly ReadWord[], shape: CommandShape, location: Location): string[] {
  const isTyped = read.some((word) => word.kind === "option" && word.option?.name === "--target");
  const takesTarget = shape.options.some(({ name }) => isTargetOption(name));
  return takesTarget && !isTyped && location !== undefined ? ["--target", location.text] : [];
}

/** Where a command misses its target, and the location as its target. */
function findMissingTarget(
  read: readonly ReadWord[],
  { repeats, slots }: CommandShape,
  location: Location,
): { readonly at: number; readonly target: string } | undefined {
  if (location === undefined || repeats) return undefined;
  const at = slots.findIndex(({ placeholder }) => FILLED.has(placeholder));
  const uri = location.kind === "hosted" ? databaseOf(location) : undefined;
  const target = slots[at]?.placeholder === URI ? uri : location.text;
  if (at < 0 || target === undefined || read.some(({ text }) => text === "--help" || text === "-h")) return undefined;
  const typed = read.filter(({ kind }) => kind === "argument").length;
  const required = slots.filter(({ optional }) => !optional).length;
  return typed === at || (typed > at && typed === required - 1) ? { at, target } : undefined;
}
