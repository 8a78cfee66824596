import type { Expr } from "@appdb/contract/expressions";
import type { ColumnType } from "@appdb/contract/types";
import { mapParts } from "../expressions/tree.ts";
import { JSON_TYPE } from "../kinds/kinds.ts";
import { storableText } from "../sql/quote.ts";

/**
 * Definitions are compared by what they mean: key order, printed text and derived nullability make no difference, so
 * that a second plan after an update is always empty.
 */
export function isSameExpr(a: Expr, b: Expr): boolean {
  return canonicalJson(meaning(a)) === canonicalJson(meaning(b));
}

export function isSameJson(a: unknown, b: unknown): boolean {
  return canonicalJson(a ?? null) === canonicalJson(b ?? null);
}

/** Texts as PostgreSQL would give them back; an empty comment is none, as COMMENT ON has it. */
export function isSameText(a: string | null, b: string | null): boolean {
  return storableText(a ?? "") === storableText(b ?? "");
}

/** Types are compared by what they admit: arrays by dtype and shape, Json schemas whatever the order of their keys and of
 *  the names that they require. */
export function isSameType(a: ColumnType, b: ColumnType): boolean {
  return canonicalJson(typeMeaning(a)) === canonicalJson(typeMeaning(b));
}

function typeMeaning(type: ColumnType): unknown {
  return { ...type, shape: type.shape ?? null, schema: schemaMeaning(type.schema ?? null) };
}

const SETS = new Set(["required", "type"]);
const VALUES = new Set(["const", "default", "enum", "examples"]);

function schemaMeaning(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(schemaMeaning);
  if (typeof schema !== "object" || schema === null) return schema;
  return Object.fromEntries(
    Object.entries(schema).map(([key, value]) => {
      if (SETS.has(key) && Array.isArray(value)) return [key, [...value].sort()];
      return [key, VALUES.has(key) ? value : schemaMeaning(value)];
    }),
  );
}

/** The tree without what follows from it. A Json literal is text: it means its value, whatever the order of its keys. */
export function meaning(expr: Expr): unknown {
  const { nullable: _derived, ...node } = mapParts(expr, (part) => meaning(part) as Expr);
  // What a column's values are checked against when they are written is nothing that its readers depend on.
  if (node.node === "column") return { ...node, type: { kind: node.type.kind } };
  if (node.node === "dict") return { ...node, entries: Object.fromEntries(node.entries.map((e) => [e.key, e.value])) };
  if (node.node !== "literal" || node.type.kind !== JSON_TYPE.kind || typeof node.value !== "string") return node;
  return { ...node, value: parseExact(node.value) };
}

/** Parses JSON with its numbers as written: as doubles, large ones that differ would become equal. */
function parseExact(text: string): unknown {
  const tagged = text.replace(/("(?:[^"\\]|\\.)*")|(-?\d[\d.eE+-]*)/g, (match, string: string | undefined) =>
    string === undefined ? `{"number":"${match}"}` : match,
  );
  return JSON.parse(tagged);
}

/** JSON text that does not hang on the order of keys. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    inner !== null && typeof inner === "object" && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}
