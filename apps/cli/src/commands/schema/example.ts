import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { commandLine } from "../../output/command-line.ts";
import { type ExampleResult, renderExample, writeExample } from "../../project/write-example.ts";
import { text } from "../parameters.ts";

interface Flags extends JsonFlag {
  readonly out?: string;
  readonly brief: boolean;
  readonly force: boolean;
}

/** Files that can be applied unchanged. */
export const example = defineCommand<Flags, [], ExampleResult>({
  brief: "Print an example file with tables, or write it to a file",
  examples: [
    ["cli schema example --out app.py", "columns of most types, keys, functions, indexes and a query"],
    ["cli schema example --brief", "two small tables"],
  ],
  parameters: {
    flags: {
      out: { kind: "parsed", parse: text, optional: true, brief: "File to write", placeholder: "file" },
      brief: { kind: "boolean", brief: "Two small tables", default: false },
      force: { kind: "boolean", brief: "Overwrite the file", default: false },
    },
    aliases: { f: "force" },
  },
  run: async (ctx, flags) => {
    const { exampleText } = await import("../../project/examples.ts");
    const more = [...(flags.brief ? ["--brief"] : []), "-f"];
    const again = commandLine(["schema", "example", "--out", flags.out ?? "", ...more]);
    const content = exampleText(flags.brief ? "brief" : "tables");
    return writeExample(content, { cwd: ctx.cwd, out: flags.out, force: flags.force, again });
  },
  render: (result, out, flags) => renderExample(result, out, flags.out),
});
