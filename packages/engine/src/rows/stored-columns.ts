import type { ColumnType, EngineValue } from "@appdb/contract/types";
import type { Generators, RowLayout, Slot } from "../compute/row-layout.ts";
import type { CopySheet } from "../kinds/inserts/copy-sheet.ts";
import type { JsonCheck, JsonChecks } from "../kinds/json-checks.ts";
import type { Kind } from "../kinds/kind.ts";
import { kindOf } from "../kinds/kinds.ts";
import { ValueError } from "../values/value-error.ts";
import type { ColumnBatch, SentColumn } from "./column-batch.ts";

/** Writes the field of a row, in COPY's binary format. */
export type WriteField = (sheet: CopySheet, at: number) => void;

/** Values of a batch that can be stored without making rows of them: a writer by slot. */
export type StoredColumns = ReadonlyMap<number, WriteField>;

/** Checks all values of a batch; undefined: a row of the batch may be invalid, and a row reader says why. */
export type ColumnReader = (batch: ColumnBatch) => StoredColumns | undefined;

interface Input {
  readonly slot: number;
  readonly type: ColumnType;
  readonly kind: Kind;
  readonly nullable: boolean;
  readonly check: JsonCheck | undefined;
  /** Writes the value of a column that the batch lacks; undefined: it is required. */
  readonly absent: WriteField | undefined;
}

/**
 * Compiles the reader of batches for a route whose rows need no further value: it checks whole columns. Undefined where
 * a column has no binary form.
 */
export function compileColumnReader(
  layout: RowLayout,
  inputs: readonly string[],
  checks: JsonChecks,
  make: Generators,
): ColumnReader | undefined {
  const fields = new Map<string, Input>();
  for (const slot of layout.slots) {
    const { name, nullable, origin, type } = slot;
    const kind = kindOf(type);
    const { binary } = kind;
    if (binary === null) return undefined;
    if (!inputs.includes(name) || origin !== "input") continue;
    fields.set(name, { slot: slot.at, type, kind, nullable, check: checks.of(type), absent: absentWriter(slot, make) });
  }
  return (batch) => {
    const writers = new Map<number, WriteField>();
    for (const column of batch.columns) {
      const field = fields.get(column.name);
      if (field === undefined || writers.has(field.slot)) return undefined;
      const write = writerOf(field, column);
      if (write === undefined) return undefined;
      writers.set(field.slot, write);
    }
    for (const { absent, slot } of fields.values()) {
      if (writers.has(slot)) continue;
      if (absent === undefined) return undefined;
      writers.set(slot, absent);
    }
    return writers;
  };
}

/** Writes the value of an input that rows leave out; undefined: it is required. */
function absentWriter(slot: Slot, make: Generators): WriteField | undefined {
  const { default: defaultValue, nullable, type } = slot;
  const { binary } = kindOf(type);
  if (defaultValue === undefined) return nullable ? (sheet) => sheet.null() : undefined;
  const write = (sheet: CopySheet, value: EngineValue) =>
    value === null ? sheet.null() : binary?.write(sheet, value, type);
  if ("value" in defaultValue) return (sheet) => write(sheet, defaultValue.value);
  return (sheet) => write(sheet, make[defaultValue.generator]());
}

function writerOf(field: Input, { cells, form }: SentColumn): WriteField | undefined {
  const { nulls } = cells;
  if (nulls !== undefined && !field.nullable && nulls.includes(1)) return undefined;
  const { binary } = field.kind;
  if (binary === null) return undefined;
  if (form === binary.column && field.check === undefined) {
    if (!form.isStorable(cells)) return undefined;
    if (nulls === undefined) return (sheet, at) => form.write(sheet, cells, at);
    return (sheet, at) => (nulls[at] === 1 ? sheet.null() : form.write(sheet, cells, at));
  }
  const values = parseCells(field, { cells, form });
  if (values === undefined) return undefined;
  return (sheet, at) => {
    const value = values[at] ?? null;
    if (value === null) sheet.null();
    else binary.write(sheet, value, field.type);
  };
}

/** The values of a column in the engine's form; undefined when one is invalid. */
function parseCells(
  { check, kind, nullable, type }: Input,
  { cells, form }: Pick<SentColumn, "cells" | "form">,
): readonly EngineValue[] | undefined {
  const values: EngineValue[] = [];
  for (let at = 0; at < cells.rows; at++) {
    if (cells.nulls?.[at] === 1) {
      values.push(null);
      continue;
    }
    const cell = parseCell(form, cells, at);
    if (cell === undefined) return undefined;
    if (cell.value === null) {
      if (!nullable) return undefined;
      values.push(null);
      continue;
    }
    const parsed = kind.parse(cell.value, cell.raw, type);
    if (parsed instanceof ValueError || check?.(cell.value) !== undefined) return undefined;
    values.push(parsed);
  }
  return values;
}

function parseCell(form: SentColumn["form"], cells: SentColumn["cells"], at: number) {
  try {
    return form.cell(cells, at);
  } catch {
    // The reader of rows refuses the same value, and says why.
    return undefined;
  }
}
