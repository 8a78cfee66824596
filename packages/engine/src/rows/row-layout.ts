import type { ColumnType, EngineValue } from "@appdb/contract/types";
import { computedClosure } from "../compute/plan-compute.ts";
import type { CatalogColumn, CatalogTable } from "../schema/catalog.ts";

/** A row on its way into a table: one value per slot of the layout. */
export type Row = EngineValue[];

export interface Slot {
  readonly name: string;
  readonly type: ColumnType;
  readonly nullable: boolean;
  /** Who fills it: the request, the engine (ids), or the computing of the row. */
  readonly origin: "input" | "uuid7" | "uuid4" | "computed";
}

/** The order of a table's values in a Row; fixed for the life of a service, whatever the table becomes meanwhile. */
export interface RowLayout {
  readonly table: CatalogTable;
  readonly slots: readonly Slot[];
  readonly index: ReadonlyMap<string, number>;
  /** Slot of the value that identifies the row. */
  readonly identity: number;
  /** Names of the columns that Python or SQL computes; bare uuid7() and uuid4() columns are not among them. */
  readonly computed: readonly string[];
  /** Behind the slots: the row's cell errors as JSON text, null for none. */
  readonly errors: number;
}

/** Lays out all columns of a table, and its row identity when that is no column of the user's. */
export function layOutRow(table: CatalogTable): RowLayout {
  const slots: Slot[] = table.columns.map((column) => ({
    name: column.name,
    type: column.type,
    nullable: column.nullable,
    origin: originOf(column),
  }));
  if (!slots.some((slot) => slot.name === table.identity)) {
    slots.push({ name: table.identity, type: { kind: "uuid" }, nullable: false, origin: "uuid7" });
  }
  const index = new Map(slots.map((slot, at) => [slot.name, at]));
  return {
    table,
    slots,
    index,
    identity: index.get(table.identity) ?? 0,
    computed: slots.filter((slot) => slot.origin === "computed").map((slot) => slot.name),
    errors: slots.length,
  };
}

/** The computed columns of the layout that `outputs` hang on; ids made by the engine are not among them. */
export function neededComputed(layout: RowLayout, outputs: readonly string[]): string[] {
  const closure = computedClosure(layout.table, outputs);
  return layout.computed.filter((name) => closure.has(name));
}

/** Fills the slots of ids that the engine makes. */
export function makeIds(
  { slots }: RowLayout,
  make: { readonly uuid7: () => string; readonly uuid4: () => string },
  row: Row,
): void {
  for (let at = 0; at < slots.length; at++) {
    const origin = slots[at]?.origin;
    if (origin === "uuid7") row[at] = make.uuid7();
    else if (origin === "uuid4") row[at] = make.uuid4();
  }
}

function originOf(column: CatalogColumn): Slot["origin"] {
  const expr = column.computed?.expr;
  if (expr === undefined) return "input";
  if (expr.node !== "call" || expr.args.length > 0 || Object.keys(expr.kwargs).length > 0) return "computed";
  if (expr.fn === "uuid.uuid7" && column.type.kind === "uuid") return "uuid7";
  if (expr.fn === "uuid.uuid4" && column.type.kind === "uuid") return "uuid4";
  return "computed";
}
