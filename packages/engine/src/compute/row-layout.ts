import { type Expr, type Generator, generatorOf } from "@appdb/contract/expressions";
import type { ColumnType, EngineValue } from "@appdb/contract/types";
import type { CatalogColumn, CatalogTable } from "../catalog/catalog.ts";
import { UUID_TYPE } from "../kinds/kinds.ts";
import { isMedia } from "../kinds/media.ts";
import { literalValue } from "../kinds/values.ts";
import { computedClosure } from "./plan-compute.ts";

/** A row before it is written: one value per slot of the layout. */
export type Row = EngineValue[];

export interface Slot {
  readonly name: string;
  readonly type: ColumnType;
  readonly nullable: boolean;
  /** Its index in a row. */
  readonly at: number;
  /** The source of its value: the request, the engine (ids, times), or computation. `unstored`: computed for a
   *  response only. */
  readonly origin: "input" | Generator | "computed" | "unstored";
  /** The value of an input that a request omits. */
  readonly default?: SlotDefault | undefined;
}

export type SlotDefault = { readonly value: EngineValue } | { readonly generator: Generator };

/** Makes the values of generators, in the engine's form. */
export type Generators = Readonly<Record<Generator, () => string>>;

/** The order of a table's values in a Row. Fixed for the life of a service, even if the table changes. */
export interface RowLayout {
  readonly table: CatalogTable;
  /** The table with its unstored columns, for computing. */
  readonly whole: CatalogTable;
  readonly slots: readonly Slot[];
  readonly index: ReadonlyMap<string, number>;
  /** Slot of the value that identifies the row. */
  readonly identity: number;
  /** Names of the columns that Python or SQL computes, without bare generators (uuid7(), uuid4(), now()). */
  readonly computed: readonly string[];
  /** Names of the computed columns without values in the table. */
  readonly unstored: readonly string[];
  /** After the slots: the row's cell errors as JSON text, null for none. */
  readonly errors: number;
}

/** Lays out all columns of a table, its row identity if the user declared no column for it, and unstored columns. */
export function layOutRow(table: CatalogTable, unstored: readonly CatalogColumn[] = []): RowLayout {
  const slots: Slot[] = table.columns.map((column, at) => ({
    name: column.name,
    type: column.type,
    nullable: column.nullable,
    at,
    origin: originOf(column),
    default: column.computed === null && column.default != null ? defaultOf(column.default.expr) : undefined,
  }));
  if (!slots.some((slot) => slot.name === table.identity)) {
    slots.push({ name: table.identity, type: UUID_TYPE, nullable: false, at: slots.length, origin: "uuid7" });
  }
  for (const { name, type } of unstored) {
    slots.push({ name, type, nullable: true, at: slots.length, origin: "unstored" });
  }
  const index = new Map(slots.map(({ name, at }) => [name, at]));
  return {
    table,
    whole: unstored.length === 0 ? table : { ...table, columns: [...table.columns, ...unstored] },
    slots,
    index,
    identity: index.get(table.identity) ?? 0,
    computed: slots.filter((slot) => slot.origin === "computed").map((slot) => slot.name),
    unstored: unstored.map(({ name }) => name),
    errors: slots.length,
  };
}

/** The slots of some columns, in their order. @throws TypeError for a missing column */
export function slotsNamed({ slots, index, table }: RowLayout, names: readonly string[]): readonly Slot[] {
  return names.map((name) => {
    const slot = slots[index.get(name) ?? -1];
    if (slot === undefined) throw new TypeError(`${table.name} has no column ${name}.`);
    return slot;
  });
}

/** The computed columns that `outputs` depend on, without generated values. */
export function neededComputed({ whole, computed, unstored }: RowLayout, outputs: readonly string[]): string[] {
  const closure = computedClosure(whole, outputs);
  return [...computed, ...unstored].filter((name) => closure.has(name));
}

/** The slots that the table has columns for. */
export function storedSlots({ slots }: Pick<RowLayout, "slots">): readonly Slot[] {
  return slots.filter(({ origin }) => origin !== "unstored");
}

/** A row's cell errors as they are stored: without those of unstored columns. */
export function storedErrors({ errors, unstored }: RowLayout, row: Row): string | null {
  const text = row[errors];
  if (typeof text !== "string") return null;
  if (unstored.length === 0) return text;
  const stored = Object.entries(JSON.parse(text) as object).filter(([name]) => !unstored.includes(name));
  return stored.length === 0 ? null : JSON.stringify(Object.fromEntries(stored));
}

/** The media columns among `slots` whose given files are decoded before a row is stored. */
export function checkedMedia({ slots }: Pick<RowLayout, "slots">): string[] {
  return slots
    .filter(({ origin, type }) => origin === "input" && isMedia(type.kind) && type.validation === undefined)
    .map(({ name }) => name);
}

/** Fills the slots that the engine generates: ids and times. */
export function fillGenerated({ slots }: RowLayout, make: Generators, row: Row): void {
  for (let at = 0; at < slots.length; at++) {
    const origin = slots[at]?.origin;
    if (origin === undefined || origin === "input" || origin === "computed" || origin === "unstored") continue;
    row[at] = make[origin]();
  }
}

function originOf(column: CatalogColumn): Slot["origin"] {
  const expr = column.computed?.expr;
  if (expr === undefined) return "input";
  return (expr.type.kind === column.type.kind ? generatorOf(expr) : undefined) ?? "computed";
}

function defaultOf(expr: Expr): SlotDefault | undefined {
  const generator = generatorOf(expr);
  if (generator !== undefined) return { generator };
  return expr.node === "literal" ? { value: literalValue(expr) } : undefined;
}
