import type { CatalogColumn, CatalogTable } from "../catalog/catalog.ts";
import { isSameExpr } from "../catalog/compare.ts";
import { guardOf } from "../catalog/guards.ts";
import type { SchemaOperation } from "../catalog/operations.ts";
import { renameInExpr } from "../catalog/rename-catalog.ts";
import { shadowNames } from "../catalog/shadow-columns.ts";
import { conditionColumn, viewColumnName } from "../catalog/sql-names.ts";
import { madeRowsIn } from "../expressions/made-rows.ts";
import { referencedColumns } from "../expressions/needs-python.ts";
import { changedValues, tableAfter } from "./table-after.ts";

/** The columns that an update computes again while everyone reads their previous values. */

type Alter = Extract<SchemaOperation, { kind: "alter_column" }>;

/**
 * The columns of a table that get shadows: those of its views whose values change, if the condition or the iterator of
 * one of the views does; all whose values change, if one gets another type. Other changes recompute columns in place.
 */
export function columnsWithShadows(table: CatalogTable, operations: readonly SchemaOperation[]): ReadonlySet<string> {
  const changed = changedValues(tableAfter(table, operations), operations);
  const ready = table.columns.filter(({ name, state }) => state === "ready" && changed.has(name));
  if (!ready.every((column) => isComputable(column, table))) return new Set();
  if (isRetyping(table, operations, changed)) return new Set(ready.map(({ name }) => name));
  if (!operations.some((operation) => operation.kind === "alter_column" && changesRows(operation))) return new Set();
  const remade = new Set(
    operations.flatMap((operation) =>
      operation.kind === "alter_column" && operation.is_remade ? [operation.to.name] : [],
    ),
  );
  return new Set(
    ready.flatMap(({ name, is_hidden: isHidden }) => (isHidden === true && !remade.has(name) ? [name] : [])),
  );
}

/** Whether the catalog has all that a column reads. Previous values of one that is broken cannot be kept. */
export function isComputable({ computed }: CatalogColumn, { columns }: CatalogTable): boolean {
  const names = new Set(columns.map(({ name }) => name));
  return computed === null || referencedColumns(computed.expr).every((name) => names.has(name));
}

/**
 * Whether a column gets another type, and it and all that read it can have shadows. Rows of an iterator view are written
 * with all values, without shadows; a column that another job fills has no values to keep, and previous expressions
 * cannot read stored columns that are converted.
 */
function isRetyping(
  { columns, rows_of: made }: CatalogTable,
  operations: readonly SchemaOperation[],
  changed: ReadonlySet<string>,
): boolean {
  if (made != null || columns.some(({ name, state }) => changed.has(name) && state !== "ready")) return false;
  const altered = operations.filter((operation) => operation.kind === "alter_column");
  return altered.some((operation) => operation.is_remade) && altered.every(({ using }) => using === null);
}

/** Whether a view gets other rows: another condition, or another iterator. */
function changesRows({ column, to, changes, is_remade: isRemade }: Alter): boolean {
  const [before, now] = [column.computed?.expr, to.computed?.expr];
  if (to.is_hidden !== true || isRemade || !changes.includes("value") || before === undefined || now === undefined) {
    return false;
  }
  const { view = "" } = to;
  if (madeRowsIn(now) !== undefined || [viewColumnName(view, null), conditionColumn(view)].includes(to.name))
    return true;
  const [was, is] = [guardOf(before).member, guardOf(now).member];
  return was === null || is === null ? was !== is : !isSameExpr(was, is);
}

/** Columns that the update drops, and that previous values of columns with shadows read. They go with these values. */
export function droppedLater(
  table: CatalogTable,
  operations: readonly SchemaOperation[],
  shadowed: ReadonlySet<string>,
): readonly CatalogColumn[] {
  const read = new Set(
    operations.flatMap((operation) => {
      if (operation.kind !== "alter_column" || !shadowed.has(operation.to.name)) return [];
      return operation.column.computed === null ? [] : referencedColumns(operation.column.computed.expr);
    }),
  );
  return table.columns.filter(({ id, name, is_hidden: isHidden }) => {
    const isDropped = operations.some((operation) => operation.kind === "drop_column" && operation.column.id === id);
    return isHidden === true && isDropped && read.has(name);
  });
}

/** The operations without the new values of columns that have shadows. Added columns read the shadows until then. */
export function besideShadows(
  table: CatalogTable,
  operations: readonly SchemaOperation[],
  shadowed: ReadonlySet<string>,
  gone: readonly CatalogColumn[],
): readonly SchemaOperation[] {
  if (shadowed.size === 0) return operations;
  const names = shadowNames(table, shadowed);
  const remade = new Set(
    operations.flatMap((one) =>
      one.kind === "alter_column" && one.is_remade && shadowed.has(one.to.name) ? [one.to.name] : [],
    ),
  );
  // An index over a column that gets another type goes with its previous values.
  const isLater = (operation: SchemaOperation): boolean =>
    (operation.kind === "drop_column" && gone.some(({ id }) => id === operation.column.id)) ||
    (operation.kind === "drop_index" &&
      operation.index.embedding == null &&
      operation.index.columns.some((name) => remade.has(name)));
  return operations
    .filter((operation) => !isLater(operation))
    .map((operation) => {
      if (operation.kind !== "alter_column" && operation.kind !== "add_column") return operation;
      const { computed } = operation.to;
      if (operation.kind === "alter_column" && shadowed.has(operation.to.name)) {
        const { computed: previous, nullable, type } = operation.column;
        return { ...operation, is_remade: false, to: { ...operation.to, type, nullable, computed: previous } };
      }
      if (computed === null || (operation.kind === "alter_column" && !operation.is_remade)) return operation;
      return {
        ...operation,
        to: { ...operation.to, computed: { ...computed, expr: renameInExpr(computed.expr, names) } },
      };
    });
}
