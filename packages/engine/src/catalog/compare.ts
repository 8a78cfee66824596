import type { Expr } from "@appdb/contract/expressions";
import type { ColumnType } from "@appdb/contract/types";
import { withoutOwn } from "../expressions/made-rows.ts";
import { mapParts } from "../expressions/tree.ts";
import { JSON_TYPE } from "../kinds/kinds.ts";
import { storableText } from "../sql/quote.ts";

/**
 * Compares definitions by meaning: key order, printed text and derived nullability are ignored. A second plan after an
 * update is therefore always empty.
 */
export function isSameExpr(a: Expr, b: Expr): boolean {
  return canonicalJson(normalizeExpr(a)) === canonicalJson(normalizeExpr(b));
}

export function isSameJson(a: unknown, b: unknown): boolean {
  return canonicalJson(a ?? null) === canonicalJson(b ?? null);
}

/** Compares texts as PostgreSQL stores them. An empty comment counts as none, as in COMMENT ON. */
export function isSameText(a: string | null, b: string | null): boolean {
  return storableText(a ?? "") === storableText(b ?? "");
}

/** Compares types by the values that they hold. Arrays compare by dtype and shape; Json schemas ignore the order of
 *  keys and of required names. The check of new media does not count: stored ones stay. */
export function isSameType(a: ColumnType, b: ColumnType): boolean {
  return canonicalJson(typeMeaning(a)) === canonicalJson(typeMeaning(b));
}

function typeMeaning(type: ColumnType): unknown {
  return { ...type, shape: type.shape ?? null, schema: schemaMeaning(type.schema ?? null), validation: null };
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

/** The tree without derived parts. A Json literal is text and stands for its value, whatever its key order. */
export function normalizeExpr(expr: Expr): unknown {
  const { nullable: _derived, ...node } = mapParts(expr, (part) => normalizeExpr(part) as Expr);
  // The checks on a column's written values do not affect its readers.
  if (node.node === "call") return withoutOwn(node as Extract<Expr, { node: "call" }>);
  if (node.node === "column") return { ...node, type: { kind: node.type.kind } };
  if (node.node === "dict") return { ...node, entries: Object.fromEntries(node.entries.map((e) => [e.key, e.value])) };
  if (node.node !== "literal" || node.type.kind !== JSON_TYPE.kind || typeof node.value !== "string") return node;
  return { ...node, value: parseExact(node.value) };
}

/** Parses JSON and keeps numbers as written. As doubles, different large numbers would become equal. */
function parseExact(text: string): unknown {
  const tagged = text.replace(/("(?:[^"\\]|\\.)*")|(-?\d[\d.eE+-]*)/g, (match, string: string | undefined) =>
    string === undefined ? `{"number":"${match}"}` : match,
  );
  return JSON.parse(tagged);
}

/** JSON text that does not depend on the order of keys. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    inner !== null && typeof inner === "object" && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}
