import type { ArrayDtype, ColumnType } from "@appdb/contract/types";
import type { Json, JsonObject } from "./kind.ts";

/** The properties of array elements, by dtype. */
export interface Dtype {
  /** The stored type of an element. PostgreSQL has no one-byte integer. */
  readonly storage: string;
  readonly schema: JsonObject;
  readonly example: Json;
  /** Bytes of an element in the worker protocol; 0 for texts. */
  readonly width: number;
}

export const DTYPES: Readonly<Record<ArrayDtype, Dtype>> = {
  bool: { storage: "bool", schema: { type: "boolean" }, example: true, width: 1 },
  uint8: { storage: "int2", schema: { type: "integer", minimum: 0, maximum: 255 }, example: 1, width: 1 },
  int8: { storage: "int2", schema: { type: "integer", minimum: -128, maximum: 127 }, example: 1, width: 1 },
  int16: { storage: "int2", schema: { type: "integer", minimum: -32_768, maximum: 32_767 }, example: 1, width: 2 },
  int32: { storage: "int4", schema: { type: "integer", format: "int32" }, example: 1, width: 4 },
  int64: { storage: "int8", schema: { type: "integer", format: "int64" }, example: 1, width: 8 },
  float32: { storage: "float4", schema: { type: "number", format: "float" }, example: 0.5, width: 4 },
  float64: { storage: "float8", schema: { type: "number", format: "double" }, example: 0.5, width: 8 },
  string: { storage: "text", schema: { type: "string" }, example: "text", width: 0 },
};

/** An array type's dtype, which the contract's schema requires. */
export function dtypeOf(type: ColumnType): ArrayDtype {
  if (type.dtype === undefined) throw new TypeError("An array type has no dtype.");
  return type.dtype;
}
