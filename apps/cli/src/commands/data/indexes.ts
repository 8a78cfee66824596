import type { DataIndex } from "@appdb/contract/routes/data-api";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { alignColumns } from "../../output/columns.ts";
import { text } from "../parameters.ts";
import { listingOf } from "./data-target.ts";
import { indexCells } from "./describe.ts";

interface Listed extends DataIndex {
  readonly table: string;
}

export const indexes = defineCommand<JsonFlag, [path: string], readonly Listed[]>({
  brief: "List the indexes of a table, or of all tables",
  examples: [
    ["cli indexes main/docs", "of a table"],
    ["cli indexes cloud://acme:main --json", "of a hosted database, for a program"],
  ],
  parameters: {
    positional: {
      kind: "tuple",
      parameters: [
        { brief: "A database, a folder or a table: main, main/docs", placeholder: "TARGET[/TABLE]", parse: text },
      ],
    },
  },
  run: async (ctx, _flags, typed) =>
    (await listingOf(ctx, typed)).tables.flatMap((table) =>
      table.indexes.map((index): Listed => ({ table: table.path, ...index })),
    ),
  render: (listed, out) => {
    if (listed.length === 0) out.note("There are no indexes.");
    for (const line of alignColumns(listed.map((index) => [index.table, index.name ?? "", ...indexCells(index)]))) {
      out.line(line);
    }
  },
});
