import type { Expr } from "@appdb/contract/expressions";
import type { TypeKind } from "@appdb/contract/types";

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
export type Form = (call: FormCall) => string | undefined;

/** Function name -> kinds of the positional arguments, joined by commas, `*` for any -> form. */
export type Forms = Readonly<Record<string, Readonly<Record<string, Form>>>>;

/** The constant value of an argument; undefined when it is none. */
export function constant(argument: Argument | undefined): string | number | boolean | null | undefined {
  return argument?.expr.node === "literal" ? argument.expr.value : undefined;
}

/** The constant Int of an argument within +-`limit`; undefined when it is none. */
export function smallInt(argument: Argument | undefined, limit = 10_000): number | undefined {
  if (argument?.expr.type.kind !== "int") return undefined;
  const value = constant(argument);
  if (typeof value !== "string") return undefined;
  const number = Number(value);
  return Number.isSafeInteger(number) && Math.abs(number) <= limit ? number : undefined;
}

/** The constant text of an argument; undefined when it is none. */
export function constantText(argument: Argument | undefined): string | undefined {
  const value = constant(argument);
  return typeof value === "string" && argument?.expr.type.kind === "string" ? value : undefined;
}

/**
 * SQL that raises class 22 where `isRefused` holds, and else is `sql`. `seed` is an int of all the arguments that
 * `isRefused` reads, not null where that holds: a raising constant would be evaluated when the statement is planned
 * (`planning.db.test.ts`).
 */
export function raiseWhere(isRefused: string, seed: string, type: string, sql: string): string {
  return `CASE WHEN ${isRefused} THEN (1 / ((${seed}) * 0))::text::${type} ELSE ${sql} END`;
}
