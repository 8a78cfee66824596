import type { Expr } from "@appdb/contract/expressions";
import { quoteLiteral } from "../sql/quote.ts";
import { type Argument, constant, constantText, type Forms, type SqlTemplate } from "./form.ts";

/** In a Python dict, a repeated key counts once. */
const len: SqlTemplate = ({ args: [doc] }) => {
  const kind = `json_typeof(${doc?.sql})`;
  return (
    `CASE ${kind} WHEN 'array' THEN json_array_length(${doc?.sql})::int8` +
    ` WHEN 'object' THEN (SELECT count(DISTINCT key) FROM json_object_keys(${doc?.sql}) AS key)` +
    ` WHEN 'string' THEN length(${doc?.sql} #>> '{}')::int8` +
    ` WHEN 'null' THEN NULL ELSE (1 / (length(${kind}) * 0))::int8 END`
  );
};

const isEmpty: SqlTemplate = ({ args: [doc] }) =>
  `CASE coalesce(json_typeof(${doc?.sql}), 'null') WHEN 'array' THEN json_array_length(${doc?.sql}) = 0` +
  ` WHEN 'object' THEN NOT EXISTS (SELECT FROM json_object_keys(${doc?.sql}))` +
  ` WHEN 'string' THEN (${doc?.sql} #>> '{}') = '' WHEN 'null' THEN true ELSE false END`;

/** Whether a list contains a constant text, or an object has that key. */
const contains: SqlTemplate = ({ args: [doc, value] }) => {
  const text = textWithin(value);
  if (text === undefined || text.includes("\0")) return undefined;
  const quoted = quoteLiteral(text);
  const isText = `json_typeof(element) = 'string' AND (element #>> '{}') = ${quoted}`;
  return (
    `CASE json_typeof(${doc?.sql})` +
    ` WHEN 'array' THEN EXISTS (SELECT FROM json_array_elements(${doc?.sql}) AS element WHERE ${isText})` +
    ` WHEN 'object' THEN (${doc?.sql} -> ${quoted}::text) IS NOT NULL` +
    // False for any other value, null for null.
    ` WHEN 'null' THEN NULL ELSE length(json_typeof(${doc?.sql})) < 0 END`
  );
};

/** The value under a key; the default, a constant, only if the key is missing. */
const get: SqlTemplate = ({ args: [doc, key], kwargs: { default: otherwise } }) => {
  // The planner folds constants and then evaluates no other argument.
  if (doc === undefined || doc.expr.node === "literal" || doc.expr.node === "parameter") return undefined;
  const value = `(${doc.sql} -> ${key?.sql})`;
  if (otherwise === undefined || constant(otherwise) === null) return value;
  return isConstant(otherwise.expr) && constant(key) !== undefined ? `coalesce(${value}, ${otherwise.sql})` : undefined;
};

/** Functions of Json values that agree with Python on every value. compileSql leaves a bare `json.get` to Python. */
export const JSON_FORMS: Forms = {
  "json.len": { json: len },
  "json.is_empty": { json: isEmpty },
  "json.contains": { "json,json": contains },
  "json.get": { "json,string": get },
};

/** The text in a constant Json string; undefined for other values. */
function textWithin(argument: Argument | undefined): string | undefined {
  const expr = argument?.expr;
  if (expr?.node !== "call" || expr.fn !== "op.cast") return undefined;
  const [inner] = expr.args;
  return inner === undefined ? undefined : constantText({ sql: "", expr: inner });
}

function isConstant(expr: Expr): boolean {
  return expr.node === "literal" || (expr.node === "call" && expr.fn === "op.cast" && expr.args.every(isConstant));
}
