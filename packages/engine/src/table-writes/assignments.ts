import { appError } from "@appdb/contract/errors";
import type { Expr } from "@appdb/contract/expressions";
import { displayType, type EngineValue } from "@appdb/contract/types";
import { type Row, type RowLayout, type Slot, slotsNamed } from "../compute/row-layout.ts";
import { columnNotFound, expressionSql } from "../conditions/condition-sql.ts";
import type { JsonCheck, JsonChecks } from "../kinds/json-checks.ts";
import { FLOAT_TYPE, INT_TYPE } from "../kinds/kinds.ts";
import { fromSqlText, literalValue, valueToJson } from "../kinds/values.ts";
import { compileMatchReader } from "../rows/validate-row.ts";
import type { ReadableTable } from "../views/view-tables.ts";

/** The new values of columns, for all rows of a condition. */
export interface Assignments {
  /** The changed columns. */
  readonly sent: readonly string[];
  /** The constants, in the slots of a row. */
  readonly constants: Row;
  /** SQL of the other values, in the order that `fill` takes them. */
  readonly sql: readonly string[];
  /** Writes selected values into a row. @throws invalid_request for a value that violates the column's schema */
  fill(row: Row, texts: readonly (string | null)[]): void;
}

export interface AssignmentsInput {
  readonly layout: RowLayout;
  /** The table as it is now. */
  readonly table: ReadableTable;
  /** The columns that a request may change. */
  readonly inputs: readonly string[];
  readonly checks: JsonChecks;
}

interface Computed {
  readonly slot: Slot;
  readonly sql: string;
  readonly check: JsonCheck | undefined;
}

/** Checks and compiles the assignments of an update. Constants are checked as in a row of a request.
 *  @throws column_not_found, invalid_request */
export function planAssignments(input: AssignmentsInput, set: Readonly<Record<string, Expr>>): Assignments {
  const { checks, layout } = input;
  const sent = Object.keys(set);
  for (const name of sent) checkAssigned(input, name);
  const constants = Object.entries(set).filter(([, expr]) => expr.node === "literal");
  const body = `{${constants.map(([name, expr]) => `${JSON.stringify(name)}:${literalText(expr)}`).join(",")}}`;
  const read = compileMatchReader(
    layout,
    constants.map(([name]) => name),
    checks,
  );
  const computed = Object.entries(set).flatMap(([name, expr]) =>
    expr.node === "literal" ? [] : [computedValue(input, name, expr)],
  );
  return {
    sent,
    constants: read(body),
    sql: computed.map(({ sql }) => sql),
    fill: (row, texts) => {
      for (const [at, { check, slot }] of computed.entries())
        row[slot.at] = checkedValue(slot, texts[at] ?? null, check);
    },
  };
}

function checkAssigned({ inputs, layout, table }: AssignmentsInput, name: string): void {
  if (inputs.includes(name)) return;
  const column = layout.table.columns.find((one) => one.name === name && one.is_hidden !== true);
  if (column === undefined) throw columnNotFound(table, name);
  const reason =
    column.computed === null
      ? "the primary key has it, or is computed from it"
      : `its value is computed: ${column.computed.text}`;
  throw appError("invalid_request", {
    detail: `${table.name}.${name} cannot be changed: ${reason}.`,
    hint: `These columns can be changed: ${inputs.join(", ") || "none"}.`,
    meta: { table: table.name, column: name },
  });
}

/** The value of a literal as a JSON text, as a request has it. */
function literalText(expr: Expr): string {
  return expr.node === "literal" ? valueToJson(expr.type.kind, literalValue(expr)) : "null";
}

function computedValue({ checks, layout, table }: AssignmentsInput, name: string, expr: Expr): Computed {
  const [slot] = slotsNamed(layout, [name]);
  if (slot === undefined) throw new TypeError(`${table.name} has no slot for ${name}.`);
  const { type } = slot;
  const isWidened = expr.type.kind === INT_TYPE.kind && type.kind === FLOAT_TYPE.kind;
  if (!isWidened && expr.type.kind !== type.kind) {
    throw appError("invalid_request", {
      detail: `${table.name}.${name} has the type ${displayType(type, slot.nullable)}; its new value has the type ${displayType(expr.type, expr.nullable)}.`,
      hint: "Convert the value to the type of the column: value.astype(...)",
      meta: { table: table.name, column: name },
    });
  }
  const converted: Expr = isWidened
    ? { node: "call", fn: "op.cast", args: [expr], kwargs: {}, type, nullable: expr.nullable }
    : expr;
  return { slot, sql: expressionSql(table, converted, `value of ${name}`), check: checks.of(type) };
}

function checkedValue({ name, nullable, type }: Slot, text: string | null, check: JsonCheck | undefined): EngineValue {
  if (text === null) {
    if (nullable) return null;
    throw appError("invalid_request", {
      detail: `${name}: The new value is null for a row, and the column must not be null. Nothing was changed.`,
      hint: "Exclude such rows in the condition.",
      meta: { column: name },
    });
  }
  const refused = check?.(JSON.parse(text));
  if (refused === undefined) return fromSqlText(type, text);
  throw appError("invalid_request", {
    detail: `${name}: ${refused.detail} Nothing was changed.`,
    hint: "Give another value, or exclude such rows in the condition.",
    meta: { column: name },
  });
}
