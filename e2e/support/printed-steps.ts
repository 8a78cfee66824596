import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./place.ts";

/** A fenced block of a page: the words of its mark, the language, and its lines that are not empty. */
export interface PrintedStep {
  readonly mark: string;
  readonly language: string;
  readonly lines: readonly string[];
}

/** Reads the fenced blocks of a page that stand below a mark which begins so: `<!-- tour ... -->`. */
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

/** The status that a line says it ends with: `# exit 2`; 0 for all others. */
export function printedExit(line: string): number {
  return Number(/# exit (\d+)/.exec(line)?.[1] ?? 0);
}

/** A line without what it says about itself. */
export function withoutComment(line: string): string {
  return line.replace(/\s+#.*/, "");
}
