import type { Manifest } from "@appdb/contract/manifest";
import type { Catalog, CatalogColumn, CatalogTable } from "../catalog/catalog.ts";
import { upsertFunctions } from "../catalog/catalog-store.ts";
import { loadCatalog } from "../catalog/load-catalog.ts";
import type { SqlConnection } from "../ports.ts";
import { codeDigests, codeOf } from "./code-digests.ts";

/**
 * Stores the current code of the application's functions. Later computed values are then attributed to it. Tables
 * without rows have no values of previous code. Neither tables, columns nor the catalog's version change. Runs no
 * statement when nothing is new.
 */
export async function noticeCode(sql: SqlConnection, manifest: Manifest, catalog: Catalog): Promise<void> {
  if (isCodeKnown(manifest, catalog)) return;
  await upsertFunctions(sql, manifest.functions, codeDigests(manifest));
  await rememberCode(sql, (_column, table) => table.has_rows === false);
}

/** True when the catalog has the current code of all functions. */
export function isCodeKnown(manifest: Manifest, catalog: Catalog): boolean {
  const digests = codeDigests(manifest);
  return manifest.functions.every((fn) => catalog.functions.get(fn.id)?.digest === digests.get(fn.id));
}

/** Stores, with computed columns, the source of their values: the code of a job, or else the currently known code. */
export async function rememberCode(
  sql: SqlConnection,
  isSelected: (column: CatalogColumn, table: CatalogTable) => boolean,
  ofJob: Readonly<Record<string, string>> | null = null,
): Promise<void> {
  const { tables, functions } = await loadCatalog(sql);
  const selected = tables.flatMap((table) => table.columns.filter((column) => isSelected(column, table)));
  const digestOf = (id: string) => ofJob?.[id] ?? functions.get(id)?.digest;
  const codes = selected.map((column) => codeOf(column, digestOf));
  await sql.query({
    text: `update appdb.columns c set code = m.code from unnest($1::bigint[], $2::json[]) as m(id, code)
      where c.id = m.id and c.code::text is distinct from m.code::text`,
    values: [selected.map((column) => column.id), codes.map((code) => (code === null ? null : JSON.stringify(code)))],
  });
}
