import type { Expr } from "@appdb/contract/expressions";
import type { TypeKind } from "@appdb/contract/types";
import { INT_TYPE, STRING_TYPE } from "../kinds/kinds.ts";

/** An argument of a call: its SQL, and its tree for forms that require certain constants. */
export interface Argument {
  readonly sql: string;
  readonly expr: Expr;
}

export interface FormCall {
  readonly args: readonly Argument[];
  readonly kwargs: Readonly<Record<string, Argument>>;
  /** Kind of the call's own value. */
  readonly kind: TypeKind;
}

/**
 * The SQL form of a function for certain kinds of arguments; undefined when these arguments have none.
 * A form never gives another value than the Python form. It may raise SQLSTATE class 22 where Python gives a value.
 * Whenever it gives a value, it evaluates all of its arguments, because a failing argument fails the cell in Python.
 * AND, OR and CASE over arguments are only allowed if every branch with a value uses all of them. A null argument gives
 * null unless the function is documented otherwise.
 */
export type SqlTemplate = (call: FormCall) => string | undefined;

/** Function name -> kinds of the positional arguments, joined by commas, `*` for any -> form. */
export type Forms = Readonly<Record<string, Readonly<Record<string, SqlTemplate>>>>;

/** The constant value of an argument; undefined if it is not a constant. */
export function constant(argument: Argument | undefined): string | number | boolean | null | undefined {
  return argument?.expr.node === "literal" ? argument.expr.value : undefined;
}

/** The constant Int of an argument within +-`limit`; undefined otherwise. */
export function smallInt(argument: Argument | undefined, limit = 10_000): number | undefined {
  if (argument?.expr.type.kind !== INT_TYPE.kind) return undefined;
  const value = constant(argument);
  if (typeof value !== "string") return undefined;
  const number = Number(value);
  return Number.isSafeInteger(number) && Math.abs(number) <= limit ? number : undefined;
}

/** The constant text of an argument; undefined otherwise. */
export function constantText(argument: Argument | undefined): string | undefined {
  const value = constant(argument);
  return typeof value === "string" && argument?.expr.type.kind === STRING_TYPE.kind ? value : undefined;
}
