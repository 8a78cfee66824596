import type { Expr } from "@appdb/contract/expressions";
import type { TypeKind } from "@appdb/contract/types";
import { INT_TYPE, STRING_TYPE } from "../kinds/kinds.ts";

/** An argument of a call: its SQL, and its tree for forms that hold only for certain constants. */
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
 * The SQL form of a function for certain kinds of arguments; undefined when these very arguments have none.
 *
 * A form never gives another value than the Python form. It may raise SQLSTATE class 22 where Python gives a value.
 * It evaluates all of its arguments in every case in which it gives a value, because an argument that fails in Python
 * fails the cell: that forbids AND, OR and CASE over arguments unless every branch that gives a value has them all.
 * A null in any argument gives null unless the function says otherwise.
 */
export type SqlTemplate = (call: FormCall) => string | undefined;

/** Function name -> kinds of the positional arguments, joined by commas, `*` for any -> form. */
export type Forms = Readonly<Record<string, Readonly<Record<string, SqlTemplate>>>>;

/** The constant value of an argument; undefined when it is none. */
export function constant(argument: Argument | undefined): string | number | boolean | null | undefined {
  return argument?.expr.node === "literal" ? argument.expr.value : undefined;
}

/** The constant Int of an argument within +-`limit`; undefined when it is none. */
export function smallInt(argument: Argument | undefined, limit = 10_000): number | undefined {
  if (argument?.expr.type.kind !== INT_TYPE.kind) return undefined;
  const value = constant(argument);
  if (typeof value !== "string") return undefined;
  const number = Number(value);
  return Number.isSafeInteger(number) && Math.abs(number) <= limit ? number : undefined;
}

/** The constant text of an argument; undefined when it is none. */
export function constantText(argument: Argument | undefined): string | undefined {
  const value = constant(argument);
  return typeof value === "string" && argument?.expr.type.kind === STRING_TYPE.kind ? value : undefined;
}
