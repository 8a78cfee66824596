import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { openTable, TABLE } from "./data-target.ts";

export const count = defineCommand<JsonFlag, [path: string], { readonly path: string; readonly count: number }>({
  brief: "Count the rows of a table",
  examples: [
    ["cli count main/docs", "the number of rows"],
    ["cli count cloud://acme:main/docs --json", "of a hosted table, for a program"],
  ],
  parameters: { positional: { kind: "tuple", parameters: [TABLE] } },
  run: async (ctx, _flags, named) => {
    const { data, path, text } = await openTable(ctx, named);
    return { path: text, count: await data.count(path) };
  },
  render: ({ count: rows }, out) => out.line(String(rows)),
});
