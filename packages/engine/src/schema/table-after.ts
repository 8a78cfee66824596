import type { CatalogColumn, CatalogTable } from "../catalog/catalog.ts";
import type { SchemaOperation } from "../catalog/operations.ts";
import { referencedColumns } from "../expressions/needs-python.ts";

/** The id of a column that an update adds. */
const NEW_ID = -1;

const RECOMPUTED = ["value", "stale", "code"] as const;

/** A table after these operations. Added columns have the id -1. */
export function tableAfter(table: CatalogTable, operations: readonly SchemaOperation[]): CatalogTable {
  const dropped = new Set<string>();
  const altered = new Map<string, Pick<CatalogColumn, "type" | "nullable" | "computed">>();
  const added: CatalogColumn[] = [];
  for (const operation of operations) {
    if (operation.kind === "drop_column") dropped.add(operation.column.name);
    if (operation.kind === "alter_column") altered.set(operation.to.name, operation.to);
    if (operation.kind === "add_column") added.push({ ...operation.to, id: NEW_ID, state: "filling" });
  }
  const columns = table.columns.filter((column) => !dropped.has(column.name));
  return {
    ...table,
    columns: [
      ...columns.map((column) => {
        const to = altered.get(column.name);
        return to === undefined ? column : { ...column, type: to.type, nullable: to.nullable, computed: to.computed };
      }),
      ...added,
    ],
  };
}

/** The names of the computed columns whose values an update changes. Their expression or type changed, or a column
 *  that they read did, or is stored as another type. Added columns count only if they read one. */
export function changedValues(after: CatalogTable, operations: readonly SchemaOperation[]): ReadonlySet<string> {
  const changed = new Set<string>();
  for (const operation of operations) {
    if (operation.kind !== "alter_column") continue;
    const { changes, using, is_remade: isRemade, to } = operation;
    const isComputed = RECOMPUTED.some((change) => changes.includes(change));
    if (isComputed || isRemade || using !== null) changed.add(to.name);
  }
  for (let before = -1; before !== changed.size; ) {
    before = changed.size;
    for (const { name, computed } of after.columns) {
      if (computed !== null && referencedColumns(computed.expr).some((read) => changed.has(read))) changed.add(name);
    }
  }
  for (const { name, computed } of after.columns) if (computed === null) changed.delete(name);
  return changed;
}

/** All columns that one pass over the rows computes: changed and added ones. */
export function columnsToCompute(after: CatalogTable, operations: readonly SchemaOperation[]): readonly string[] {
  const changed = changedValues(after, operations);
  return after.columns
    .filter((column) => column.computed !== null && (changed.has(column.name) || column.id === NEW_ID))
    .map((column) => column.name);
}
