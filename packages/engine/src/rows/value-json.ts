import type { EngineValue, TypeKind } from "@appdb/contract/types";

/** Writes a stored value as JSON: every digit of an Int, floats that stay floats for readers that tell them apart. */
export function valueToJson(kind: TypeKind, value: EngineValue): string {
  if (value === null) return "null";
  switch (kind) {
    case "string":
      return JSON.stringify(value);
    case "json":
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
  }
}

function floatText(value: number): string {
  if (Object.is(value, -0)) return "-0.0";
  const text = String(value);
  return Number.isInteger(value) && !text.includes("e") ? `${text}.0` : text;
}
