import type { Manifest } from "@appdb/contract/manifest";
import type { Catalog, CatalogColumn, CatalogTable } from "../catalog/catalog.ts";
import { upsertFunctions } from "../catalog/catalog-store.ts";
import { loadCatalog } from "../catalog/load-catalog.ts";
import type { SqlConnection } from "../ports.ts";
import { codeDigests, codeOf } from "./code-digests.ts";

/**
 * Makes known what the code of the application's functions is by now, so that whatever is computed from here on is known to
 * come from it. Tables without rows hold no values of former code. No table or column changes, nor does the catalog's
 * version. Costs no statement when nothing is new.
 */
export async function noticeCode(sql: SqlConnection, manifest: Manifest, catalog: Catalog): Promise<void> {
  if (isCodeKnown(manifest, catalog)) return;
  await upsertFunctions(sql, manifest.functions, codeDigests(manifest));
  await rememberCode(sql, (_column, table) => table.has_rows === false);
}

/** True when the catalog knows the code of all functions as it is by now. */
export function isCodeKnown(manifest: Manifest, catalog: Catalog): boolean {
  const digests = codeDigests(manifest);
  return manifest.functions.every((fn) => catalog.functions.get(fn.id)?.digest === digests.get(fn.id));
}

/** Writes beside computed columns which code their values come from: the one that is known now. */
export async function rememberCode(
  sql: SqlConnection,
  isMeant: (column: CatalogColumn, table: CatalogTable) => boolean,
): Promise<void> {
  const { tables, functions } = await loadCatalog(sql);
  const meant = tables.flatMap((table) => table.columns.filter((column) => isMeant(column, table)));
  const codes = meant.map((column) => codeOf(column, functions));
  await sql.query({
    text: `update appdb.columns c set code = m.code from unnest($1::bigint[], $2::json[]) as m(id, code)
      where c.id = m.id and c.code::text is distinct from m.code::text`,
    values: [meant.map((column) => column.id), codes.map((code) => (code === null ? null : JSON.stringify(code)))],
  });
}
