import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { appError } from "@appdb/contract/errors";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { commandLine, text } from "../parameters.ts";

interface Flags extends JsonFlag {
  readonly out?: string;
  readonly force: boolean;
}

interface ExampleResult {
  /** Null when the text went to stdout. */
  readonly file: string | null;
  readonly text: string;
}

/** The very file that the quickstart serves. */
export const example = defineCommand<Flags, [], ExampleResult>({
  brief: "Print an example application, or write it to a file",
  examples: [
    ["cli service example --out app.py", "write app.py, unless another one is there"],
    ["cli service example", "print it"],
  ],
  parameters: {
    flags: {
      out: { kind: "parsed", parse: text, optional: true, brief: "File to write", placeholder: "file" },
      force: { kind: "boolean", brief: "Overwrite the file", default: false },
    },
    aliases: { f: "force" },
  },
  run: async (ctx, flags) => {
    const { exampleText } = await import("../../project/example-text.ts");
    const content = exampleText();
    if (flags.out === undefined) return { file: null, text: content };
    const path = resolve(ctx.cwd, flags.out);
    if (existsSync(path) && !flags.force && readFileSync(path, "utf8") !== content) {
      throw appError("file_exists", {
        detail: `${flags.out} exists and is another file; nothing was written.`,
        hint: `Overwrite it: ${commandLine(["service", "example", "--out", flags.out, "-f"])}`,
        meta: { file: path },
      });
    }
    writeExample(path, flags.out, content);
    return { file: path, text: content };
  },
  render: (result, out, flags) => {
    if (result.file === null) {
      out.line(result.text.trimEnd());
      return;
    }
    out.line(`wrote ${flags.out}`);
    out.line();
    out.line(`Next: ${commandLine(["schema", "update", flags.out, "main"])}`);
  },
});

function writeExample(path: string, typed: string, content: string): void {
  try {
    writeFileSync(path, content);
  } catch (cause) {
    throw appError("usage", {
      detail: `${typed} cannot be written: ${cause instanceof Error ? cause.message : cause}.`,
      hint: "Name a file in a folder that is there and that you own.",
      cause,
    });
  }
}
