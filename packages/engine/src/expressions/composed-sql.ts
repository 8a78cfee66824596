import type { Expr } from "@appdb/contract/expressions";
import { kindOf } from "../kinds/kinds.ts";
import { quoteLiteral } from "../sql/quote.ts";

/**
 * SQL of a dict or list literal, equal to the text of Python's writer: no spaces, keys in order. Undefined where a part
 * would be written differently, such as a Float or a Json column. `compile` returns the SQL of a part.
 */
export function composedSql(expr: Expr, compile: (part: Expr) => string | undefined): string | undefined {
  const text = composedText(expr, compile);
  return text === undefined ? undefined : `(${text})::json`;
}

/** SQL of type text; null parts become the word null. */
function composedText(expr: Expr, compile: (part: Expr) => string | undefined): string | undefined {
  switch (expr.node) {
    case "dict":
      return braced("{", "}", expr.entries, ({ key, value }) => withKey(key, composedText(value, compile)));
    case "list":
      return braced("[", "]", expr.items, (item) => composedText(item, compile));
    case "literal":
      return literalText(expr.value);
    case "call": {
      const [arg] = expr.args;
      if (expr.fn !== "op.cast" || arg === undefined || !kindOf(arg.type).isJsonAlike) return undefined;
      const sql = compile(expr);
      return sql === undefined ? undefined : `coalesce((${sql})::text, 'null')`;
    }
    default:
      return undefined;
  }
}

function braced<T>(
  open: string,
  close: string,
  parts: readonly T[],
  textOf: (part: T) => string | undefined,
): string | undefined {
  const texts = parts.map(textOf);
  if (texts.includes(undefined)) return undefined;
  return [`'${open}'`, ...(texts.length === 0 ? [] : [texts.join(" || ',' || ")]), `'${close}'`].join(" || ");
}

function withKey(key: string, text: string | undefined): string | undefined {
  if (text === undefined || key.includes("\0") || /\p{Surrogate}/u.test(key)) return undefined;
  return `${quoteLiteral(`${JSON.stringify(key)}:`)} || ${text}`;
}

/** A constant in the form of Python's writer. A manifest from another source may have another form. */
function literalText(value: string | number | boolean | null): string | undefined {
  if (value === null) return "'null'";
  if (typeof value !== "string" || value.includes("\0")) return undefined;
  try {
    return JSON.stringify(JSON.parse(value)) === value ? quoteLiteral(value) : undefined;
  } catch {
    // Not JSON: Python reports this for each row.
    return undefined;
  }
}
