import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const DOCS = join(import.meta.dirname, "..", "..", "..", "..", "docs");

/** A page of docs: the application that it prints, and its commands with what they print. */
export interface PrintedExamples {
  readonly app: string;
  readonly examples: readonly PrintedExample[];
}

export interface PrintedExample {
  readonly script: string;
  /** What the script prints; `…` in it stands for anything within its line. */
  readonly printed: RegExp;
}

/** Reads a page below docs: what stands below `<!-- app -->`, and each pair of blocks below `<!-- run -->`. */
export function readPrintedExamples(name: string): PrintedExamples {
  const page = readFileSync(join(DOCS, name), "utf8");
  const app = /<!-- app -->\n```python\n(.*?)```/s.exec(page)?.[1] ?? "";
  const examples = [...page.matchAll(/<!-- run -->\n```sh\n(.*?)```\n```text\n(.*?)```/gs)];
  return { app, examples: examples.map(([, script = "", printed = ""]) => ({ script, printed: asPattern(printed) })) };
}

/** What a script of a page prints when the page's application is served at this port. */
export async function runPrinted({ script }: PrintedExample, port: number | string): Promise<string> {
  const { stdout } = await run("bash", ["-c", script.replaceAll("localhost:8000", `127.0.0.1:${port}`)]);
  return stdout.replaceAll("\r", "");
}

function asPattern(printed: string): RegExp {
  const parts = printed.split("…").map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join("[^\\n]*?")}$`);
}
