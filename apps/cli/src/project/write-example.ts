import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { appError } from "@appdb/contract/errors";
import { commandLine } from "../output/command-line.ts";
import type { Output } from "../output/output.ts";

export interface ExampleResult {
  /** Null when the text went to stdout. */
  readonly file: string | null;
  readonly text: string;
}

/**
 * Writes an example to a given file, or prints it. `again` is the command with `-f`.
 * @throws file_exists for a different existing file, unless forced; usage when it cannot be written
 */
export function writeExample(
  text: string,
  input: { readonly cwd: string; readonly out: string | undefined; readonly force: boolean; readonly again: string },
): ExampleResult {
  const { cwd, out, force, again } = input;
  if (out === undefined) return { file: null, text };
  const file = resolve(cwd, out);
  if (existsSync(file) && !force && readFileSync(file, "utf8") !== text) {
    throw appError("file_exists", {
      detail: `${out} exists and is a different file. Nothing was written.`,
      hint: `Overwrite it: ${again}`,
      meta: { file },
    });
  }
  try {
    writeFileSync(file, text);
  } catch (cause) {
    throw appError("usage", {
      detail: `${out} cannot be written: ${cause instanceof Error ? cause.message : cause}.`,
      hint: "Choose a file in an existing folder that you own.",
      cause,
    });
  }
  return { file, text };
}

/** Prints the text, or the file as it was typed and the command that applies it. */
export function renderExample({ file, text }: ExampleResult, out: Output, typed: string | undefined): void {
  if (file === null) {
    out.line(text.trimEnd());
    return;
  }
  out.line(`wrote ${typed}`);
  out.line();
  out.line(`Next: ${commandLine(["schema", "update", typed, "main"])}`);
}
