import type { EngineValue, TypeKind } from "@appdb/contract/types";
import { floatText } from "../values/float-text.ts";

/** Writes a stored value as JSON: every digit of an Int, floats that stay floats for readers that tell them apart. */
export function valueToJson(kind: TypeKind, value: EngineValue): string {
  if (value === null) return "null";
  switch (kind) {
    case "string":
      return JSON.stringify(value);
    case "json":
    case "array":
      return value as string;
    case "timestamp":
    case "date":
    case "uuid":
      return `"${value}"`;
    case "float":
      return floatText(Number(value));
    case "int":
    case "bool":
      return String(value);
    case "binary":
      return `"${asBuffer(value).toString("base64")}"`;
  }
}

/** The bytes of a Binary, seen as a Buffer and not copied. */
export function asBuffer(value: EngineValue): Buffer {
  if (!(value instanceof Uint8Array)) throw new TypeError("A Binary came as something else than bytes.");
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
}
