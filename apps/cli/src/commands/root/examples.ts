import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { alignColumns } from "../../output/columns.ts";
import { shellLine } from "../../output/command-line.ts";
import type { Example, WrittenExample } from "../../project/examples.ts";
import { text } from "../parameters.ts";

interface Flags extends JsonFlag {
  readonly out?: string;
}

type ExamplesResult = { readonly examples: readonly Example[] } | WrittenExample;

/** Complete applications, each with a client that checks its answers. */
export const examples = defineCommand<Flags, [name?: string], ExamplesResult>({
  brief: "List example applications, or write one into a folder",
  examples: [
    ["cli examples", "list them"],
    ["cli examples shop", "write it into the folder shop"],
    ["cli examples shop --out my-shop", "into another folder"],
  ],
  parameters: {
    positional: {
      kind: "tuple",
      parameters: [
        { brief: "The example; all are listed by default", placeholder: "NAME", parse: text, optional: true },
      ],
    },
    flags: {
      out: {
        kind: "parsed",
        parse: text,
        optional: true,
        brief: "Folder to write; defaults to the example's name",
        placeholder: "folder",
      },
    },
  },
  run: async (ctx, { out }, name) => {
    const { listExamples, writeExampleFolder } = await import("../../project/examples.ts");
    if (name === undefined) return { examples: listExamples() };
    return writeExampleFolder(name, { cwd: ctx.cwd, out: out ?? name });
  },
  render: (result, out) => {
    if ("examples" in result) {
      const rows = result.examples.map(({ name, domain, shows }) => [name, domain, shows]);
      for (const line of alignColumns(rows)) out.line(line);
      out.line();
      out.line("Write one: cli examples NAME");
      return;
    }
    out.line(`wrote ${result.folder}  (${result.domain}, ${result.files.length} files)`);
    out.line();
    out.line("Next:");
    out.line(`  ${shellLine(["cd", result.folder])}`);
    for (const step of result.steps) out.line(`  ${step}`);
  },
});
