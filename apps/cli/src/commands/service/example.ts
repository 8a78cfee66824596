import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { commandLine } from "../../output/command-line.ts";
import { type ExampleResult, renderExample, writeExample } from "../../project/write-example.ts";
import { text } from "../parameters.ts";

interface Flags extends JsonFlag {
  readonly out?: string;
  readonly force: boolean;
}

/** The file that the quickstart serves. */
export const example = defineCommand<Flags, [], ExampleResult>({
  brief: "Print an example application, or write it to a file",
  examples: [
    ["cli service example --out app.py", "write app.py, unless it exists"],
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
    const { exampleText } = await import("../../project/examples.ts");
    const again = commandLine(["service", "example", "--out", flags.out ?? "", "-f"]);
    return writeExample(exampleText("quickstart"), { cwd: ctx.cwd, out: flags.out, force: flags.force, again });
  },
  render: (result, out, flags) => renderExample(result, out, flags.out),
});
