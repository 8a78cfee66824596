import type { Expr } from "@appdb/contract/expressions";
import type { Manifest, ManifestQuery, ManifestQueryRoute } from "@appdb/contract/manifest";
import { visit } from "../expressions/tree.ts";
import type { Json } from "../kinds/kind.ts";
import { valueSchema } from "./openapi-schemas.ts";

/** What a query route answers. */
export function rowsSchema(manifest: Manifest, route: ManifestQueryRoute, declared: ManifestQuery): Json {
  const { query, return_scalar: returnScalar } = declared;
  // An outer join leaves columns without a value that are never null in their table.
  const outer = query.joins.some(({ kind }) => kind !== "inner" && kind !== "cross");
  const values = query.select.map(({ name, expr }) => {
    return [name, valueSchema(expr.type, expr.nullable || outer || readsComputed(manifest, declared, expr))] as const;
  });
  const row: Json =
    returnScalar && values[0] !== undefined
      ? values[0][1]
      : {
          type: "object",
          properties: Object.fromEntries(values),
          required: values.map(([name]) => name),
          additionalProperties: false,
        };
  if (route.one_row) return row;
  const rows = { type: "array", items: row };
  return returnScalar
    ? rows
    : { type: "object", properties: { rows }, required: ["rows"], additionalProperties: false };
}

/** Whether a value may be null because a cell that it reads failed: a computed one, whatever its column's type says. */
function readsComputed(manifest: Manifest, { query }: ManifestQuery, expr: Expr): boolean {
  const computed = new Set<string>();
  for (const { table, as } of [query.from, ...query.joins]) {
    const { columns = [] } = manifest.tables.find(({ name }) => name === table) ?? {};
    for (const column of columns) {
      if (column.computed !== null && !column.primary_key) computed.add(`${as}.${column.name}`);
    }
  }
  let found = false;
  visit(expr, (node) => {
    found ||= node.node === "column" && computed.has(`${node.of ?? query.from.as}.${node.name}`);
  });
  // a count counts: it is never null
  return found && !(expr.node === "aggregate" && expr.fn === "count");
}
