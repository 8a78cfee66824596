import type { ColumnType, EngineValue } from "@appdb/contract/types";
import type { WireValue } from "@appdb/contract/worker-protocol";
import { kindOf } from "@appdb/engine/kinds/kinds";

/** A value of the engine as it crosses to a worker. */
export function toWire(type: ColumnType, value: EngineValue): WireValue {
  const { wire } = kindOf(type);
  return wire === null ? value : wire.to(value, type);
}

/** A worker's value as the engine knows it. @throws Error when it is not a value of the type */
export function fromWire(type: ColumnType, value: WireValue): EngineValue {
  const { wire } = kindOf(type);
  if (wire !== null) return wire.from(value, type);
  if (Array.isArray(value)) throw new Error(`an array came where ${type.kind} was declared`);
  return value;
}

/** Many values of the engine as they cross to a worker. */
export function columnToWire(type: ColumnType, values: readonly EngineValue[]): WireValue[] {
  const { wire } = kindOf(type);
  return wire === null ? (values as EngineValue[]) : values.map((value) => wire.to(value, type));
}

/** Many values of a worker as the engine knows them. */
export function columnFromWire(type: ColumnType, values: readonly WireValue[]): EngineValue[] {
  const { wire } = kindOf(type);
  return wire === null ? (values as EngineValue[]) : values.map((value) => wire.from(value, type));
}
