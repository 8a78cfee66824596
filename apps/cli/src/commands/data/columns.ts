import type { DataColumn } from "@appdb/contract/routes/data-api";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { alignColumns } from "../../output/columns.ts";
import { showControls } from "../../output/show-controls.ts";
import { text } from "../parameters.ts";
import { listingOf } from "./data-target.ts";

interface Flags extends JsonFlag {
  readonly computed: boolean;
}

interface Listed extends DataColumn {
  readonly table: string;
}

export const columns = defineCommand<Flags, [path: string], readonly Listed[]>({
  brief: "List the columns of a table, or of all tables",
  examples: [
    ["cli columns main/docs", "of a table"],
    ["cli columns main --computed", "what a database computes"],
    ["cli columns cloud://acme:main --json", "of a hosted database, for a program"],
  ],
  parameters: {
    positional: {
      kind: "tuple",
      parameters: [
        { brief: "A database, a folder or a table: main, main/docs", placeholder: "TARGET[/TABLE]", parse: text },
      ],
    },
    flags: { computed: { kind: "boolean", brief: "Only computed columns", default: false, withNegated: false } },
  },
  run: async (ctx, { computed }, typed) =>
    (await listingOf(ctx, typed)).tables.flatMap((table) =>
      table.columns
        .filter((column) => column.is_computed || !computed)
        .map((column): Listed => ({ table: table.path, ...column })),
    ),
  render: (listed, out) => {
    if (listed.length === 0) out.note("There are no such columns.");
    const lines = listed.map(({ is_key: isKey, name, table, type, value }) => [
      table,
      name,
      type,
      isKey ? "key" : "",
      value === null ? "" : `= ${showControls(value)}`,
    ]);
    for (const line of alignColumns(lines)) out.line(line);
  },
});
