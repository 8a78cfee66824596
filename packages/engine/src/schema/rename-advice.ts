import { nearestName } from "@appdb/contract/nearest";
import type { PlanOp } from "@appdb/contract/plan";
import type { CatalogTable } from "../catalog/catalog.ts";
import { isSameType } from "../catalog/compare.ts";
import type { SchemaOperation } from "../catalog/operations.ts";

type Added = Extract<SchemaOperation, { kind: "add_column" }>;
type Dropped = Extract<SchemaOperation, { kind: "drop_column" }>;

/**
 * Adds advice to a new column whose `renamed_from=` matches nothing stored. Also explains how a dropped column would
 * keep its values, if the only new one could be the same under another name.
 */
export function adviseOnRenames(
  ops: readonly PlanOp[],
  operations: readonly SchemaOperation[],
  stored: CatalogTable,
): PlanOp[] {
  const added = operations.filter(
    (operation): operation is Added => operation.kind === "add_column" && isOwn(operation.to),
  );
  const dropped = operations.filter(
    (operation): operation is Dropped =>
      operation.kind === "drop_column" && isOwn(operation.column) && !operation.becomes_unstored,
  );
  return ops.map((op) => {
    if (op.target !== "column") return op;
    let more = "";
    if (op.op === "add") more = danglingName(op, added, stored);
    // An output of an iterator cannot say that it was another one.
    if (op.op === "drop" && stored.rows_of == null) more = renameOf(op, added, dropped);
    return more === "" ? op : { ...op, description: `${op.description}; ${more}` };
  });
}

function isOwn({
  computed,
  is_hidden: isHidden,
}: {
  readonly computed: unknown;
  readonly is_hidden?: boolean | undefined;
}): boolean {
  return computed === null && isHidden !== true;
}

function danglingName(op: PlanOp, added: readonly Added[], stored: CatalogTable): string {
  const previous = added.find(({ to }) => to.name === op.name)?.to.renamed_from;
  if (previous == null) return "";
  const suggestion = nearestName(
    previous,
    stored.columns.map(({ name }) => name),
  );
  return `no column '${previous}' is stored, as renamed_from= says${suggestion === undefined ? "" : `; did you mean '${suggestion}'?`}`;
}

function renameOf(op: PlanOp, added: readonly Added[], dropped: readonly Dropped[]): string {
  const [missing, ...others] = dropped;
  const [only, ...further] = added;
  if (missing?.column.name !== op.name || only === undefined || others.length + further.length > 0) return "";
  if (!isSameType(only.to.type, missing.column.type)) return "";
  return `if '${only.to.name}' is the same column, write renamed_from="${op.name}" there, and its values stay`;
}
