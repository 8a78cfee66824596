import type { DataTable } from "@appdb/contract/routes/data-api";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { alignColumns } from "../../output/columns.ts";
import { count, countRows } from "../../output/count.ts";
import { showControls } from "../../output/show-controls.ts";
import { formatBytes } from "../../output/sizes.ts";
import { openTable, TABLE } from "./data-target.ts";

/** Characters of a type in a list; `--json` has all of it. */
const LONGEST_TYPE = 60;

export const describe = defineCommand<JsonFlag, [path: string], DataTable>({
  brief: "Show the columns and indexes of a table",
  examples: [
    ["cli describe main/docs", "columns, types, values, indexes"],
    ["cli describe cloud://acme:main/docs --json", "of a hosted table, for a program"],
  ],
  parameters: { positional: { kind: "tuple", parameters: [TABLE] } },
  run: async (ctx, _flags, named) => {
    const { data, path, text } = await openTable(ctx, named);
    return { ...(await data.table(path)), path: text };
  },
  render: (table, out) => {
    const made = table.view_of === null ? "table" : `view of ${table.view_of}`;
    const by = table.rows_by === null ? "" : `: ${showControls(table.rows_by)}`;
    out.line(`${table.path}  ${made}${by}`);
    if (table.comment !== null) out.line(`    ${showControls(table.comment)}`);
    out.line(`    ${[countRows(table), sizeOf(table), errorsOf(table)].filter(Boolean).join(", ")}`);
    out.line();
    const columns = table.columns.map(({ comment, is_key: isKey, name, type, value }) => [
      name,
      type,
      isKey ? "key" : "",
      value === null ? "" : `= ${showControls(value)}`,
      comment === null ? "" : `# ${showControls(comment)}`,
    ]);
    // a long type would move what follows it off the screen
    const shorten = (cell: string, at: number) =>
      at === 1 && cell.length > LONGEST_TYPE ? `${cell.slice(0, LONGEST_TYPE - 3)}...` : cell;
    for (const line of alignColumns(columns.map((cells) => cells.map(shorten)))) out.line(`    ${line}`);
    if (table.indexes.length > 0) out.line();
    const indexes = table.indexes.map((index) => [`index ${index.name ?? ""}`.trim(), ...indexCells(index)]);
    for (const line of alignColumns(indexes)) out.line(`    ${line}`);
  },
});

function sizeOf({ bytes, view_of: base }: DataTable): string {
  return base !== null && bytes === 0 ? "" : formatBytes(bytes);
}

function errorsOf({ errors }: DataTable): string {
  return errors === 0 ? "" : `${count(errors, "failed cell")}`;
}

/** What an index is over: `title (btree)`, `text (embedding, cosine)`. */
export function indexCells({ columns, kind, metric }: DataTable["indexes"][number]): string[] {
  return [columns.join(", "), metric === null ? kind : `${kind}, ${metric}`];
}
