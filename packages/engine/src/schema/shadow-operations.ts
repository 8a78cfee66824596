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

/** The columns of views that an update computes again while everyone reads their previous values. */

type Alter = Extract<SchemaOperation, { kind: "alter_column" }>;

/**
 * The columns of a table that get shadows: those of its views whose values change, if the condition or the iterator of
 * one of the views does. Other changes recompute columns in place, as those of any table.
 */
export function columnsWithShadows(table: CatalogTable, operations: readonly SchemaOperation[]): ReadonlySet<string> {
  if (!operations.some((operation) => operation.kind === "alter_column" && changesRows(operation))) return new Set();
  const remade = new Set(
    operations.flatMap((operation) =>
      operation.kind === "alter_column" && operation.is_remade ? [operation.to.name] : [],
    ),
  );
  const changed = changedValues(tableAfter(table, operations), operations);
  return new Set(
    table.columns.flatMap(({ name, is_hidden: isHidden, state }) =>
      isHidden === true && state === "ready" && changed.has(name) && !remade.has(name) ? [name] : [],
    ),
  );
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
  const isLater = (operation: SchemaOperation): boolean =>
    operation.kind === "drop_column" && gone.some(({ id }) => id === operation.column.id);
  return operations
    .filter((operation) => !isLater(operation))
    .map((operation) => {
      if (operation.kind !== "alter_column" && operation.kind !== "add_column") return operation;
      const { computed } = operation.to;
      if (operation.kind === "alter_column" && shadowed.has(operation.to.name)) {
        return { ...operation, to: { ...operation.to, computed: operation.column.computed } };
      }
      if (computed === null || (operation.kind === "alter_column" && !operation.is_remade)) return operation;
      return {
        ...operation,
        to: { ...operation.to, computed: { ...computed, expr: renameInExpr(computed.expr, names) } },
      };
    });
}
