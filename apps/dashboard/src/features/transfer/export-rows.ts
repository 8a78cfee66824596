import { appError } from "@appdb/contract/errors";
import { MAX_ROWS } from "@appdb/contract/routes/api";
import type { Database } from "@appdb/contract/routes/control-databases";
import type { DataTable } from "@appdb/contract/routes/data-api";
import type { Api } from "../../api/api.tsx";
import { readRowPage } from "../tables/read-rows.ts";
import type { RowFilter } from "../tables/use-tables.ts";
import { type ExportFormat, printHead, printRow } from "./print-rows.ts";

/** Rows that a page keeps in memory for a file. */
export const MAX_EXPORTED = 500_000;

interface ExportInput {
  readonly database: Database;
  readonly table: DataTable;
  readonly filter: RowFilter;
  readonly format: ExportFormat;
  readonly signal: AbortSignal;
  /** Gets the number of rows that were read. */
  readonly onRead: (rows: number) => void;
}

/**
 * Reads all rows of a filter, page by page, as the texts of a file.
 * @throws result_too_large; errors of the server, above all interrupted
 */
export async function exportRows({ control }: Api, input: ExportInput): Promise<readonly string[]> {
  const { database, filter, format, signal, table, onRead } = input;
  const params = { org: database.organization, db: database.name, table: table.path };
  const texts = [printHead(table, format)];
  let rows = 0;
  for (let cursor: string | undefined, isFirst = true; isFirst || cursor !== undefined; isFirst = false) {
    const query = { limit: MAX_ROWS, cursor, where: filter.where, order_by: filter.order_by };
    const page = readRowPage(await control.text("rowList", { params, query }, { signal }));
    rows += page.rows.length;
    if (rows > MAX_EXPORTED) throw tooMany(database, table);
    texts.push(page.rows.map((row) => printRow(table, row, format)).join(""));
    onRead(rows);
    cursor = page.next ?? undefined;
  }
  return texts;
}

function tooMany({ uri }: Database, { path }: DataTable): Error {
  return appError("result_too_large", {
    detail: `More than ${MAX_EXPORTED} rows match, the maximum of a file from this page.`,
    hint: `Narrow the condition, or read the rows by pages: cli rows ${uri}/${path} --json`,
    meta: { limit: MAX_EXPORTED },
  });
}
