import { raiseWhere } from "../sql/raise-where.ts";
import { type Argument, constant, type Forms, type SqlTemplate } from "./form.ts";

/** Digits of an integer that every float represents exactly. */
const EXACT_DIGITS = 15;

/**
 * Comparison of a Json value with a constant text, number, true or false. A null inside the Json value is null. Numbers
 * compare by value (1 equals 1.0), and true is not 1, as in Python.
 */
export function jsonEquals(a: Argument | undefined, b: Argument | undefined): string | undefined {
  return equalsConstant(a, b) ?? equalsConstant(b, a);
}

function equalsConstant(value: Argument | undefined, other: Argument | undefined): string | undefined {
  const text = constant(other);
  if (value === undefined || typeof text !== "string" || value.expr.node === "literal") return undefined;
  const expected = parsed(text);
  const inner = `(${value.sql} #>> '{}')`;
  switch (typeof expected) {
    case "string":
      return where(value.sql, "string", `${inner} = (${other?.sql} #>> '{}')`);
    case "boolean":
      return where(value.sql, "boolean", `${inner} = '${expected}'`);
    case "number": {
      if (!Number.isFinite(expected) || (Number.isInteger(expected) && Math.abs(expected) >= 10 ** EXACT_DIGITS)) {
        return undefined;
      }
      const equal = `${inner}::float8 = '${expected}'::float8`;
      const isLong = `(${inner} ~ '^-?[0-9]{${EXACT_DIGITS + 1},}$')`;
      return where(value.sql, "number", raiseWhere(isLong, `length(${inner})`, "bool", equal));
    }
    default:
      return undefined;
  }
}

/** True or false for a value of the type, null for null, false for any other. */
function where(sql: string, type: string, equal: string): string {
  return `CASE json_typeof(${sql}) WHEN 'null' THEN NULL::bool WHEN '${type}' THEN ${equal} WHEN json_typeof(${sql}) THEN false END`;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Not JSON: Python reports this for each row.
    return undefined;
  }
}

const equal: SqlTemplate = ({ args: [a, b] }) => jsonEquals(a, b);
const unequal: SqlTemplate = ({ args: [a, b] }) => {
  const sql = jsonEquals(a, b);
  return sql === undefined ? undefined : `(NOT ${sql})`;
};

/** Equality of Json values where PostgreSQL and Python agree. */
export const JSON_COMPARISONS: Forms = { "op.eq": { "json,json": equal }, "op.ne": { "json,json": unequal } };
