import type { Expr } from "@appdb/contract/expressions";
import type { Catalog, CatalogColumn, CatalogTable } from "../catalog/catalog.ts";
import { isSameExpr } from "../catalog/compare.ts";
import { guardOf } from "../catalog/guards.ts";
import type { SchemaOperation } from "../catalog/operations.ts";
import { referencedColumns } from "../expressions/needs-python.ts";
import type { LoweredManifest } from "../views/lower-views.ts";
import { columnsWithShadows } from "./shadow-operations.ts";
import { tableAfter } from "./table-after.ts";
import { isFormOf, type Owner } from "./view-columns.ts";

interface Known {
  readonly catalog: Pick<Catalog, "views">;
  readonly manifest: Pick<LoweredManifest, "views">;
  readonly owners: ReadonlyMap<string, Owner>;
}

/**
 * Refuses to drop columns that others read until the job of the same update has ended: conditions of views, and columns
 * with shadows. A failed or cancelled job leaves these as they were, so what they read must stay. Hidden columns go with
 * the shadows (`droppedLater`).
 */
export function refuseNeeded(
  operations: readonly SchemaOperation[],
  table: CatalogTable,
  known: Known,
): readonly SchemaOperation[] {
  const isDrop = operations.some((one) => one.kind === "drop_column" && one.column.is_hidden !== true);
  if (!isDrop || table.has_rows === false) return operations;
  const readers = [...readersOfShadowed(operations, table, known), ...readersOfViews(operations, table, known)];
  return operations.map((operation) => {
    if (operation.kind !== "drop_column" || operation.column.is_hidden === true || operation.read_by !== undefined) {
      return operation;
    }
    const names = readers.flatMap(({ name, reads }) => (reads.includes(operation.column.name) ? [name] : []));
    if (names.length === 0) return operation;
    return { ...operation, severity: "unsupported", read_by: [...new Set(names)], is_read_until_filled: true };
  });
}

interface Reader {
  /** For people. */
  readonly name: string;
  readonly reads: readonly string[];
}

/** The previous values of columns that a job computes again while everyone reads them. */
function readersOfShadowed(
  operations: readonly SchemaOperation[],
  table: CatalogTable,
  { owners }: Known,
): readonly Reader[] {
  const shadowed = columnsWithShadows(table, operations);
  return table.columns.flatMap(({ name, computed }): Reader[] => {
    if (computed === null || !shadowed.has(name)) return [];
    const owner = owners.get(name);
    if (owner === undefined) return [{ name: `column '${name}'`, reads: referencedColumns(computed.expr) }];
    const { member, value } = guardOf(computed.expr);
    const shown =
      owner.name === null ? `the view '${owner.view}'` : `column '${owner.name}' of the view '${owner.view}'`;
    return [
      { name: conditionOf(owner.view), reads: member === null ? [] : referencedColumns(member) },
      { name: shown, reads: referencedColumns(value) },
    ];
  });
}

/** The previous conditions of views that get others when the job has ended. */
function readersOfViews(
  operations: readonly SchemaOperation[],
  table: CatalogTable,
  { catalog, manifest }: Known,
): readonly Reader[] {
  const after = tableAfter(table, operations);
  const isBusy = columnsWithShadows(table, operations).size > 0;
  return catalog.views.flatMap((view): Reader[] => {
    const { member } = view.definition;
    const to = manifest.views.find((one) => isFormOf(one, view));
    if (view.table_id !== table.id || member === null || to === undefined) return [];
    const next = to.definition.member;
    if (next !== null && isSameExpr(member, next)) return [];
    const isLater = isBusy || (next !== null && readsFilling(next, after.columns));
    return isLater ? [{ name: conditionOf(to.name), reads: referencedColumns(member) }] : [];
  });
}

function readsFilling(expr: Expr, columns: readonly CatalogColumn[]): boolean {
  const read = new Set(referencedColumns(expr));
  return columns.some(({ name, state, computed }) => state === "filling" && computed !== null && read.has(name));
}

function conditionOf(view: string): string {
  return `the condition of the view '${view}'`;
}
