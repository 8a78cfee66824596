import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "@appdb/testkit/test-project";

/** A fenced block of a page: the words of its mark, the language, and its non-empty lines. */
export interface PrintedStep {
  readonly mark: string;
  readonly language: string;
  readonly lines: readonly string[];
}

/** Reads the fenced blocks of a page below marks with this beginning: `<!-- tour ... -->`. */
export function readPrintedSteps(page: string, mark: string): PrintedStep[] {
  const text = readFileSync(join(ROOT, page), "utf8");
  return [...text.matchAll(/<!-- (.*?) -->\n```(\w+)\n([\s\S]*?)```/g)]
    .map(([, found = "", language = "", block = ""]) => ({
      mark: found,
      language,
      lines: block.split("\n").filter((line) => line.trim() !== ""),
    }))
    .filter((step) => step.mark === mark || step.mark.startsWith(`${mark}:`));
}

/** Expected exit status of a line: `# exit 2`; otherwise 0. */
export function printedExit(line: string): number {
  return Number(/# exit (\d+)/.exec(line)?.[1] ?? 0);
}

/** A line without its comment. */
export function withoutComment(line: string): string {
  return line.replace(/\s+#.*/, "");
}
