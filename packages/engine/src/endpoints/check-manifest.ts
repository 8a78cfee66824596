import { appError } from "@appdb/contract/errors";
import type { Manifest, ManifestColumn, ManifestTable } from "@appdb/contract/manifest";
import type { CatalogTable } from "../catalog/catalog.ts";
import { emptyCatalog } from "../catalog/load-catalog.ts";
import { declaredIndexes, identityOf, isIndexable } from "../catalog/operations.ts";
import { indexName } from "../catalog/sql-names.ts";
import { planCompute } from "../compute/plan-compute.ts";
import { compileManifestChecks, type JsonChecks } from "../kinds/json-checks.ts";
import { planSchema } from "../schema/plan-schema.ts";
import { checkRoutes } from "./check-routes.ts";

/** Any target: names and rules are the same everywhere. */
const TARGET = "main";

/**
 * Finds without a database what an update or a service would refuse of an application, whatever the target holds: tables
 * declared twice, expressions that nothing can compute, JSON Schemas that are none, indexes that cannot be, routes that
 * could never work. Python has told what it found before.
 * @throws app_invalid, schema_mismatch
 */
export async function checkManifest(manifest: Manifest): Promise<void> {
  planSchema({ manifest, catalog: emptyCatalog(), target: TARGET });
  const checks = await compileManifestChecks(manifest);
  const functions = new Map(manifest.functions.map((fn) => [fn.id, fn]));
  for (const table of manifest.tables) {
    checkIndexes(table);
    for (const column of table.columns) checkDefault(table, column, checks);
    const computed = table.columns.filter((column) => column.computed !== null && !column.primary_key);
    planCompute(
      asStored(table),
      functions,
      computed.map((column) => column.name),
    );
  }
  for (const service of manifest.services) checkRoutes(manifest, service);
}

/** Python has seen to the type; a JSON Schema is compiled here alone. */
function checkDefault(table: ManifestTable, column: ManifestColumn, checks: JsonChecks): void {
  const expr = column.default?.expr;
  if (expr?.node !== "literal") return;
  const misfit = checks.of(column.type)?.(JSON.parse(String(expr.value)));
  if (misfit === undefined) return;
  const { file, line } = column.source;
  throw appError("app_invalid", {
    detail: `${file}:${line}: The default of column ${table.name}.${column.name} does not fit its schema: ${misfit.detail}`,
    hint: "Give default= a value that the column's schema allows.",
    meta: { table: table.name, column: column.name },
  });
}

function checkIndexes(table: ManifestTable): void {
  const seen = new Map<string, string>();
  for (const index of declaredIndexes(table)) {
    const label = index.name ?? `on (${index.columns.join(", ")})`;
    const wrong = index.columns.find((name) => !table.columns.some((one) => one.name === name && isIndexable(one)));
    if (wrong !== undefined) throw refused(table, `Index ${label} is over '${wrong}', which cannot be indexed`);
    const twin = seen.get(indexName(table.name, index));
    if (twin !== undefined) throw refused(table, `Index ${label} is the same as ${twin}`);
    seen.set(indexName(table.name, index), label);
  }
}

function refused(table: ManifestTable, what: string): Error {
  return appError("app_invalid", {
    detail: `${table.source.file}:${table.source.line}: ${what} in table '${table.name}'.`,
    hint: "Take the index out, or name other columns.",
    meta: { table: table.name },
  });
}

/** The table as a catalog would know it after it was created. */
function asStored(table: ManifestTable): CatalogTable {
  return {
    ...table,
    id: 0,
    folder: "public",
    version: 1,
    identity: identityOf(table),
    has_rows: false,
    columns: table.columns.map((column, id) => ({ ...column, id, state: "ready" })),
    indexes: [],
  };
}
