import type { Expr } from "@appdb/contract/expressions";
import type { EngineValue } from "@appdb/contract/types";
import { mapParts } from "../expressions/tree.ts";
import { asBuffer } from "../kinds/binary.ts";
import type { UdfFold, UdfRunner } from "../ports.ts";
import type { QueryArguments } from "../query-plans/python-rows.ts";
import type { PlannedFold } from "../query-plans/query-plan.ts";

/** Starts an application aggregate with the parameters of a request. @throws as `UdfRunner.fold` */
export function startFold(
  udf: UdfRunner,
  { function: fn, type, inputs, args, functions, constants }: PlannedFold,
  given: QueryArguments,
  { isSorted, isWindow }: { readonly isSorted: boolean; readonly isWindow: boolean },
): Promise<UdfFold> {
  const fixed = Object.entries(constants).map(([name, expr]) => [name, withValues(expr, given)]);
  return udf.fold({
    function: fn,
    result: type,
    inputs: inputs.map(({ name, type: kind, nullable }) => ({ name, type: kind, nullable })),
    args: args.map(({ name, expr }) => ({ name, expr: withValues(expr, given) })),
    functions,
    constants: Object.fromEntries(fixed),
    is_sorted: isSorted,
    is_window: isWindow,
  });
}

/** Query parameters as literals: a worker knows only rows and constants. */
function withValues(expr: Expr, args: QueryArguments): Expr {
  if (expr.node !== "parameter") return mapParts(expr, (part) => withValues(part, args));
  const { type, nullable } = expr;
  return { node: "literal", value: literalOf(args.get(expr.name) ?? null), type, nullable };
}

/** Digits stay exact, and bytes become base64, as in a file's literals. */
function literalOf(value: EngineValue): string | number | boolean | null {
  if (typeof value === "bigint") return value.toString();
  return value instanceof Uint8Array ? asBuffer(value).toString("base64") : value;
}
