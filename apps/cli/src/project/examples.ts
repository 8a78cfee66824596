import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { appError } from "@appdb/contract/errors";
import { nearestName } from "@appdb/contract/nearest";

/** Set by the bundler: folder of the examples next to the bundled programs. */
declare const EXAMPLES_FOLDER: string | undefined;

const FOLDER = fileURLToPath(
  new URL(typeof EXAMPLES_FOLDER === "string" ? EXAMPLES_FOLDER : "../../../../examples/", import.meta.url),
);
/** Files that `service example` and `schema example` print. */
const PRINTED = {
  quickstart: "quickstart/app.py",
  tables: "tables/app.py",
  brief: "tables/brief.py",
} as const;
/** Commands for an example whose README.md has none. */
const STEPS = ["cli schema update app.py main", "cli service update app.py main -f      # prints the address"];

export interface Example {
  readonly name: string;
  readonly domain: string;
  /** Subject of the example. */
  readonly shows: string;
}

export interface WrittenExample extends Example {
  /** As typed. */
  readonly folder: string;
  /** Paths relative to the folder. */
  readonly files: readonly string[];
  /** Commands to run in the folder. */
  readonly steps: readonly string[];
}

/** Text of an example that a command prints. */
export function exampleText(name: keyof typeof PRINTED): string {
  return readFileSync(join(FOLDER, PRINTED[name]), "utf8");
}

/** The included examples in the order of their README.md. */
export function listExamples(): Example[] {
  const rows = readFileSync(join(FOLDER, "README.md"), "utf8").matchAll(/^\| \[(\w+)\]\(\1\) \| (.*?) \| (.*?) \|$/gm);
  return [...rows].map(([, name = "", domain = "", shows = ""]) => ({
    name,
    domain,
    shows: shows.replaceAll("`", ""),
  }));
}

/**
 * Writes an example into a new or empty folder.
 * @throws usage for an unknown example and an unwritable folder; file_exists for a folder that is not empty
 */
export function writeExampleFolder(
  name: string,
  input: { readonly cwd: string; readonly out: string },
): WrittenExample {
  const example = findExample(name);
  const source = join(FOLDER, example.name);
  const target = resolve(input.cwd, input.out);
  refuseTaken(target, example, input.out);
  const files = filesOf(source);
  try {
    // parent folders are not created: a missing one is probably a typing mistake
    if (!existsSync(target)) mkdirSync(target);
    for (const file of files) {
      mkdirSync(dirname(join(target, file)), { recursive: true });
      copyFileSync(join(source, file), join(target, file));
    }
  } catch (cause) {
    throw appError("usage", {
      detail: `${input.out} cannot be written: ${cause instanceof Error ? cause.message : cause}.`,
      hint: "Choose a folder inside an existing folder that you own: --out FOLDER",
      cause,
    });
  }
  return { ...example, folder: input.out, files, steps: stepsOf(source) };
}

function findExample(name: string): Example {
  const all = listExamples();
  const found = all.find((example) => example.name === name);
  if (found !== undefined) return found;
  const names = all.map((example) => example.name);
  const suggestion = nearestName(name, names);
  throw appError("usage", {
    detail: `No example named '${name}'.`,
    hint: suggestion === undefined ? `Examples: ${names.join(", ")}.` : `Did you mean: cli examples ${suggestion}`,
    meta: { name, known: names },
  });
}

function refuseTaken(target: string, { name }: Example, out: string): void {
  if (!existsSync(target)) return;
  const isEmpty = isFolder(target) && readdirSync(target).length === 0;
  if (isEmpty) return;
  throw appError("file_exists", {
    detail: `${out} exists and is not an empty folder. Nothing was written.`,
    hint: `Use another folder: cli examples ${name} --out FOLDER`,
    meta: { folder: target },
  });
}

function isFolder(path: string): boolean {
  try {
    readdirSync(path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOTDIR") return false;
    throw error;
  }
}

/** Without files that Python generates. */
function filesOf(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter(({ name }) => name !== "__pycache__")
    .flatMap((entry) =>
      entry.isDirectory() ? filesOf(join(folder, entry.name)).map((file) => join(entry.name, file)) : [entry.name],
    )
    .toSorted();
}

/** The shell lines of an example's README.md. */
function stepsOf(folder: string): readonly string[] {
  const file = join(folder, "README.md");
  const block = existsSync(file) ? /```sh\n([\s\S]*?)```/.exec(readFileSync(file, "utf8"))?.[1] : undefined;
  return block === undefined ? STEPS : block.trimEnd().split("\n");
}
