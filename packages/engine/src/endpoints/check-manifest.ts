import { appError } from "@appdb/contract/errors";
import type { Manifest, ManifestColumn, ManifestTable } from "@appdb/contract/manifest";
import type { CatalogTable } from "../catalog/catalog.ts";
import { emptyCatalog } from "../catalog/load-catalog.ts";
import { declaredIndexes, identityOf, isIndexable, type PlannedIndex } from "../catalog/operations.ts";
import { indexName } from "../catalog/sql-names.ts";
import { planCompute } from "../compute/plan-compute.ts";
import { compileManifestChecks, type JsonChecks } from "../kinds/json-checks.ts";
import { planSchema } from "../schema/plan-schema.ts";
import { checkRoutes } from "../services/check-routes.ts";
import { lowerViews } from "../views/lower-views.ts";

/** Any target works: names and rules are the same everywhere. */
const TARGET = "main";

/**
 * Finds, without a database, what any update or service would refuse of an application. Examples: duplicate tables,
 * expressions that nothing can compute, invalid JSON Schemas, impossible indexes, routes that cannot work. Python has
 * already reported its own findings.
 * @throws app_invalid, schema_mismatch
 */
export async function checkManifest(declared: Manifest): Promise<void> {
  planSchema({ manifest: declared, catalog: emptyCatalog(), target: TARGET });
  const manifest = lowerViews(declared);
  await checkTables(manifest, new Map(manifest.functions.map((fn) => [fn.id, fn])));
  for (const service of manifest.services) checkRoutes(manifest, service);
}

/** Checks the tables of a manifest. @throws app_invalid */
export async function checkTables(declared: Manifest, functions: Parameters<typeof planCompute>[1]): Promise<void> {
  const manifest = lowerViews(declared);
  const checks = await compileManifestChecks(manifest);
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
}

/** Python has checked the type. Only this side compiles the JSON Schema. */
function checkDefault(table: ManifestTable, column: ManifestColumn, checks: JsonChecks): void {
  const expr = column.default?.expr;
  if (expr?.node !== "literal") return;
  const misfit = checks.of(column.type)?.(JSON.parse(String(expr.value)));
  if (misfit === undefined) return;
  const { file, line } = column.source;
  throw appError("app_invalid", {
    detail: `${file}:${line}: The default of column ${table.name}.${column.name} does not match its schema: ${misfit.detail}`,
    hint: "Set default= to a value that the column's schema allows.",
    meta: { table: table.name, column: column.name },
  });
}

function checkIndexes(table: ManifestTable): void {
  const seen = new Map<string, string>();
  for (const index of declaredIndexes(table)) {
    const label = index.name ?? `on (${index.columns.join(", ")})`;
    const wrong = index.columns.find(
      (name) => !table.columns.some((column) => column.name === name && canIndex(index, column)),
    );
    if (wrong !== undefined) throw refused(table, `Index ${label} is over '${wrong}', which cannot be indexed`);
    const twin = seen.get(indexName(table.name, index));
    if (twin !== undefined) throw refused(table, `Index ${label} is the same as ${twin}`);
    seen.set(indexName(table.name, index), label);
  }
}

/** Python has checked the kinds of columns that embedding indexes are over. */
function canIndex(index: PlannedIndex, column: ManifestColumn): boolean {
  return index.kind === "embedding" || isIndexable(column);
}

function refused(table: ManifestTable, what: string): Error {
  return appError("app_invalid", {
    detail: `${table.source.file}:${table.source.line}: ${what} in table '${table.name}'.`,
    hint: "Remove the index, or name other columns.",
    meta: { table: table.name },
  });
}

/** The table as a catalog shows it after creation. */
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
