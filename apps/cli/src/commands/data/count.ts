import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { openTable, TABLE, WHERE_FLAG } from "./data-target.ts";

interface Flags extends JsonFlag {
  readonly where?: string;
}

export const count = defineCommand<Flags, [path: string], { readonly path: string; readonly count: number }>({
  brief: "Count the rows of a table",
  examples: [
    ["cli count main/docs", "the number of rows"],
    [`cli count main/docs --where "score > 0.5"`, "the rows of a condition"],
    ["cli count cloud://acme:main/docs --json", "of a hosted table, for a program"],
  ],
  parameters: { positional: { kind: "tuple", parameters: [TABLE] }, flags: { where: WHERE_FLAG } },
  run: async (ctx, { where }, named) => {
    const { data, path, text } = await openTable(ctx, named);
    return { path: text, count: await data.count(path, where) };
  },
  render: ({ count: rows }, out) => out.line(String(rows)),
});
