import type { Expr } from "@appdb/contract/expressions";
import type { ColumnType, EngineValue } from "@appdb/contract/types";
import { parseInt64 } from "./value-sql.ts";

/** A constant as the manifest writes it, in the engine's form. */
export function literalValue({
  type,
  value,
}: Pick<Extract<Expr, { node: "literal" }>, "value"> & { readonly type: ColumnType }): EngineValue {
  if (value === null) return null;
  if (type.kind === "int") return parseInt64(String(value));
  if (type.kind === "binary") return Buffer.from(String(value), "base64");
  return value;
}
