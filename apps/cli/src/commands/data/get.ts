import { type ExactObject, printExact } from "@appdb/contract/clients/exact-json";
import type { DataTable } from "@appdb/contract/routes/data-api";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { cellText } from "../../output/cell-text.ts";
import { alignColumns } from "../../output/columns.ts";
import { COLUMNS_FLAG, chosenColumns, openTable, readRow, TABLE_AND_KEY, withColumns } from "./data-target.ts";

interface Flags extends JsonFlag {
  readonly columns?: string;
}

interface Found {
  readonly columns: DataTable["columns"];
  readonly row: ExactObject;
}

export const get = defineCommand<Flags, [path: string, ...key: string[]], Found | undefined>({
  brief: "Show a row by its key",
  examples: [
    ["cli get main/docs 42", "the row with the key 42"],
    ["cli get main/prices de 2026-01-01", "a key of two columns, in their order"],
    ["cli get cloud://acme:main/docs 42 --columns title --json", "a column of a hosted row, for a program"],
  ],
  parameters: {
    positional: {
      kind: "array",
      parameter: TABLE_AND_KEY,
      minimum: 2,
    },
    flags: { columns: COLUMNS_FLAG },
  },
  run: async (ctx, { columns: typed, json }, named, ...key) => {
    const { data, path, text: whole } = await openTable(ctx, named);
    const [table, found] = await Promise.all([data.table(path), data.row(path, key)]);
    const columns = chosenColumns(table, typed, whole);
    const row = withColumns(readRow(found), columns);
    if (!json) return { columns, row };
    ctx.out.jsonText(printExact(row, 2));
    return undefined;
  },
  render: ({ columns, row }, out) => {
    const lines = columns.map((column) => {
      const isNull = (row.get(column.name) ?? null) === null;
      const shown = cellText(row, column, Number.POSITIVE_INFINITY);
      return [column.name, isNull && shown === "" ? "null" : shown];
    });
    for (const line of alignColumns(lines)) out.line(line);
  },
});
