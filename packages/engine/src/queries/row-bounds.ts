import { appError } from "@appdb/contract/errors";
import type { Query } from "@appdb/contract/query";
import type { QueryArguments } from "../query-plans/python-rows.ts";

/** A request's limit, offset or tail; undefined for none, and for a null parameter. */
export function boundOf(expr: Query["limit"], args: QueryArguments): number | undefined {
  const value = boundValue(expr, args);
  return value === null || value === undefined ? undefined : Number(value);
}

function boundValue(expr: Query["limit"], args: QueryArguments) {
  if (expr?.node === "literal") return expr.value;
  return expr?.node === "parameter" ? args.get(expr.name) : null;
}

/** @throws invalid_request for a bound below zero */
export function checkBounds({ limit, offset, tail }: Query, args: QueryArguments): void {
  for (const [clause, expr] of Object.entries({ limit, offset, tail })) {
    const value = boundOf(expr, args);
    if (value === undefined || value >= 0) continue;
    const name = expr?.node === "parameter" ? expr.name : clause;
    const a = clause === "offset" ? "An offset" : `A ${clause}`;
    throw appError("invalid_request", {
      detail: `${name}: ${a} must not be negative; the request has ${value}.`,
      hint: "Send 0 or more.",
      errors: [{ pointer: `/${name}`, detail: `${a} must not be negative.` }],
    });
  }
}
