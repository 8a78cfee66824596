import { kindOf } from "../kinds/kinds.ts";
import { quoteLiteral } from "../sql/quote.ts";
import { type Argument, constantText, type SqlTemplate } from "./form.ts";

type Piece = { readonly text: string } | { readonly field: string };

/**
 * str.format for a constant template with plain fields: `{}`, `{0}`, `{name}`. Takes any number of arguments whose
 * kinds print alike on both sides. A null prints as None.
 */
export const formatForm: SqlTemplate = ({ args: [template, ...args], kwargs }) => {
  const text = constantText(template);
  const pieces = text === undefined ? undefined : parseTemplate(text);
  if (pieces === undefined) return undefined;
  const byName = new Map<string, Argument>([
    ...args.map((arg, i) => [String(i), arg] as const),
    ...Object.entries(kwargs),
  ]);
  const used = new Set<string>();
  const parts: string[] = ["''"];
  for (const piece of pieces) {
    if ("text" in piece) parts.push(quoteLiteral(piece.text));
    else {
      const argument = byName.get(piece.field);
      const sql = argument === undefined ? undefined : printed(argument);
      if (sql === undefined) return undefined;
      used.add(piece.field);
      parts.push(sql);
    }
  }
  // Python evaluates every argument, printed or not, and a failing one fails the cell.
  return used.size === byName.size ? `(${parts.join(" || ")})` : undefined;
};

/** Text and fields of a template; undefined when it has other fields than plain ones. */
function parseTemplate(template: string): Piece[] | undefined {
  const pieces: Piece[] = [];
  let automatic = 0;
  let isNumbered = false;
  for (const [token] of template.matchAll(/\{\{|\}\}|\{[^{}]*\}|[{}]|[^{}]+/g)) {
    if (token === "{{" || token === "}}") pieces.push({ text: token.slice(1) });
    else if (token === "{" || token === "}") return undefined;
    else if (!token.startsWith("{")) pieces.push({ text: token });
    else {
      const name = token.slice(1, -1);
      if (!/^(|0|[1-9][0-9]{0,2}|[A-Za-z_][A-Za-z0-9_]*)$/.test(name)) return undefined;
      if (/^[0-9]/.test(name)) isNumbered = true;
      pieces.push({ field: name === "" ? String(automatic++) : name });
    }
  }
  return isNumbered && automatic > 0 ? undefined : pieces;
}

function printed({ sql, expr }: Argument): string | undefined {
  const text = kindOf(expr.type).printed?.(sql);
  return text === undefined ? undefined : `coalesce(${text}, 'None')`;
}
