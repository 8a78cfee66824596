import * as z from "zod";
import { type ColumnType, columnTypeSchema } from "./types.ts";

/**
 * An expression tree as the Python library writes it. Every node carries the type and nullability of its value.
 *
 * - `column`: the stored value of a column of the same row.
 * - `literal`: `value` is JSON text for json, decimal text for int, ISO text for timestamp and date, text for uuid,
 *   a JSON string, number or boolean for string, float and bool; null for null.
 * - `call`: a function of ours, an operator among them (`op.add`, `string.upper`); OPERATORS below lists the operators.
 * - `udf`: a function of the application, by its id in the manifest.
 * - `path`: steps into a Json value; a missing key or index gives null.
 */
export type Expr =
  | { node: "column"; name: string; type: ColumnType; nullable: boolean }
  | { node: "literal"; value: string | number | boolean | null; type: ColumnType; nullable: boolean }
  | { node: "call"; fn: string; args: Expr[]; kwargs: Record<string, Expr>; type: ColumnType; nullable: boolean }
  | { node: "udf"; function: string; args: Expr[]; kwargs: Record<string, Expr>; type: ColumnType; nullable: boolean }
  | { node: "path"; base: Expr; steps: PathStep[]; type: ColumnType; nullable: boolean };

export type PathStep = { key: string } | { index: number };

/** Names of the operators in `call` nodes. Arguments are positional. `op.cast` takes its target from the node's type. */
const OPERATORS: ReadonlySet<string> = new Set(
  ["add sub mul truediv floordiv mod pow neg", "eq ne lt le gt ge", "and or not is_null is_not_null cast"].flatMap(
    (family) => family.split(" ").map((name) => `op.${name}`),
  ),
);

const pathStepSchema: z.ZodType<PathStep> = z.union([
  z.strictObject({ key: z.string() }),
  z.strictObject({ index: z.int() }),
]);

const typed = { type: columnTypeSchema, nullable: z.boolean() };
const lazyExpr = z.lazy((): z.ZodType<Expr> => exprSchema);

export const exprSchema: z.ZodType<Expr> = z.discriminatedUnion("node", [
  z.strictObject({ node: z.literal("column"), name: z.string(), ...typed }),
  z.strictObject({
    node: z.literal("literal"),
    value: z.union([z.string(), z.number(), z.boolean(), z.null()]),
    ...typed,
  }),
  z.strictObject({
    node: z.literal("call"),
    fn: z
      .string()
      .refine((name) => !name.startsWith("op.") || OPERATORS.has(name), "is no operator that is known here"),
    args: z.array(lazyExpr),
    kwargs: z.record(z.string(), lazyExpr),
    ...typed,
  }),
  z.strictObject({
    node: z.literal("udf"),
    function: z.string(),
    args: z.array(lazyExpr),
    kwargs: z.record(z.string(), lazyExpr),
    ...typed,
  }),
  z.strictObject({ node: z.literal("path"), base: lazyExpr, steps: z.array(pathStepSchema).min(1), ...typed }),
]);
