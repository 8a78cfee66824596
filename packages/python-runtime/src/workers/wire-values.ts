import type { Expr } from "@appdb/contract/expressions";
import type { ColumnType, EngineValue } from "@appdb/contract/types";
import type { WireValue } from "@appdb/contract/worker-protocol";
import { mapParts } from "@appdb/engine/expressions/tree";
import { kindOf } from "@appdb/engine/kinds/kinds";

/** Converts a value of the engine for a worker. */
export function toWire(type: ColumnType, value: EngineValue): WireValue {
  const { wire } = kindOf(type);
  return wire === null ? value : wire.to(value, type);
}

/** Converts a worker's value for the engine. @throws Error when it does not match the type */
export function fromWire(type: ColumnType, value: WireValue): EngineValue {
  const { wire } = kindOf(type);
  if (wire !== null) return wire.from(value, type);
  if (Array.isArray(value)) throw new Error(`an array came where ${type.kind} was declared`);
  return value;
}

/** Converts many values of the engine for a worker. */
export function columnToWire(type: ColumnType, values: readonly EngineValue[]): WireValue[] {
  const { wire } = kindOf(type);
  return wire === null ? (values as EngineValue[]) : values.map((value) => wire.to(value, type));
}

/** Converts many values of a worker for the engine. */
export function columnFromWire(type: ColumnType, values: readonly WireValue[]): EngineValue[] {
  const { wire } = kindOf(type);
  return wire === null ? (values as EngineValue[]) : values.map((value) => wire.from(value, type));
}

/** Writes every constant -0.0 of an expression as the negation of 0.0, because msgpackr writes -0 as the integer 0. */
export function spellNegativeZero(expr: Expr): Expr {
  if (expr.node !== "literal" || !Object.is(expr.value, -0)) return mapParts(expr, spellNegativeZero);
  return { node: "call", fn: "op.neg", args: [{ ...expr, value: 0 }], kwargs: {}, type: expr.type, nullable: false };
}
