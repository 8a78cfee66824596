import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const CHECKOUT = join(import.meta.dirname, "..", "..", "..", "..");
const DOCS = join(CHECKOUT, "docs");
/** Has Python with the packages that examples import. */
const TOOLS = join(CHECKOUT, ".tools", "bin");

/** A documentation page: its application, and its commands with their output. */
export interface PrintedExamples {
  /** Its blocks below `<!-- app -->`, concatenated. */
  readonly app: string;
  readonly examples: readonly PrintedExample[];
  readonly refused: readonly PrintedRefusal[];
  /** Python blocks that no test runs. */
  readonly unchecked: readonly string[];
}

/** An invalid block below `<!-- refused -->` with the command's error. */
interface PrintedRefusal {
  readonly app: string;
  readonly printed: RegExp;
}

export interface PrintedExample {
  readonly script: string;
  /** Output of the script; `…` matches anything within its line. */
  readonly printed: RegExp;
}

/**
 * Reads a page of docs: the blocks below `<!-- app -->`, and each pair of blocks below `<!-- run -->` and `<!-- refused
 * -->`.
 */
export function readPrintedExamples(name: string): PrintedExamples {
  const page = readFileSync(join(DOCS, name), "utf8");
  const app = [...page.matchAll(/<!-- app -->\n```python\n(.*?)```/gs)].map(([, block]) => block).join("\n\n");
  const examples = [...page.matchAll(/<!-- run -->\n```sh\n(.*?)```\n```text\n(.*?)```/gs)];
  const refused = [...page.matchAll(/<!-- refused -->\n```python\n(.*?)```\n```text\n(.*?)```/gs)];
  const unchecked = [...page.matchAll(/(?<!<!-- (?:app|refused) -->\n)```python\n(.*?)```/gs)];
  return {
    app,
    examples: examples.map(([, script = "", printed = ""]) => ({ script, printed: asPattern(printed) })),
    refused: refused.map(([, block = "", printed = ""]) => ({
      app: `${app}\n\n${block}`,
      printed: asPattern(printed),
    })),
    unchecked: unchecked.map(([, block = ""]) => block),
  };
}

/** Output of a page's script in a folder, when the page's application is served on this port. */
export async function runPrinted(
  { script }: PrintedExample,
  port: number | string,
  folder = process.cwd(),
): Promise<string> {
  // biome-ignore lint/style/noProcessEnv: a test passes on its environment
  const env = { ...process.env, PATH: `${TOOLS}${delimiter}${process.env.PATH}` };
  const typed = script.replaceAll("localhost:8000", `127.0.0.1:${port}`);
  const { stdout } = await run("bash", ["-c", typed], { cwd: folder, env });
  return stdout.replaceAll("\r", "");
}

function asPattern(printed: string): RegExp {
  const parts = printed.split("…").map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join("[^\\n]*?")}$`);
}
