import type { Expr } from "@appdb/contract/expressions";
import type { ManifestQuery } from "@appdb/contract/manifest";
import { expressionsOf, mapExpressions } from "../bound-queries/bind-query.ts";
import { mapParts, visit } from "../expressions/tree.ts";
import { BOOL_TYPE, UUID_TYPE } from "../kinds/kinds.ts";
import { BASE_ROW } from "./lower-iterators.ts";
import type { DeclaredView } from "./lower-views.ts";

/** What a query over a view needs to know of it. */
export interface LoweredView extends Pick<DeclaredView, "table" | "bases"> {
  readonly definition: Pick<DeclaredView["definition"], "columns" | "indexes" | "member">;
}

/** Queries over views, as queries over their tables. */

/** The conjunction of two conditions. */
export function both(first: Expr | null, second: Expr): Expr {
  if (first === null) return second;
  const nullable = first.nullable || second.nullable;
  return { node: "call", fn: "op.and", args: [first, second], kwargs: {}, type: BOOL_TYPE, nullable };
}

/**
 * The query over the views' tables. Conditions of views are part of its own conditions, which indexes serve. A right or
 * full join keeps rows for which these are false: there, a view is a selection of the rows of its table.
 */
export function lowerQuery(named: ManifestQuery, views: ReadonlyMap<string, LoweredView>): ManifestQuery {
  const { query } = named;
  const refs = [query.from, ...query.joins];
  const byAlias = new Map(
    refs.flatMap((ref) => {
      const view = views.get(ref.table);
      return view === undefined ? [] : [[ref.as, view] as const];
    }),
  );
  if (byAlias.size === 0) return named;
  const toTable = (expr: Expr): Expr => inTable(expr, query.from.as, byAlias);
  const mapped = mapExpressions(query, toTable);
  const condition = (alias: string): Expr | null => {
    const member = byAlias.get(alias)?.definition.member ?? null;
    return member === null ? null : ofAlias(member, alias);
  };
  const tableOf = (table: string): string => views.get(table)?.table ?? table;
  const upOf = upsIn(query, byAlias);
  const selects = query.joins.some(({ kind }) => kind === "right" || kind === "full");
  const ofSelection = ({ table, as }: ManifestQuery["query"]["from"]): ManifestQuery["query"]["from"] => {
    const member = selects ? condition(as) : null;
    return member === null ? { table: tableOf(table), as } : { table: tableOf(table), as, member };
  };
  const own = selects ? null : condition(query.from.as);
  let where = mapped.where === null || own === null ? (own ?? mapped.where) : both(own, mapped.where);
  const joins = mapped.joins.flatMap((join) => {
    const member = selects ? null : condition(join.as);
    // The rows of a view have their base. Where the view's row is missing, its base's columns are null, too.
    const kind = join.kind === "left" || join.kind === "full" ? "left" : "inner";
    const bases = baseJoins(join.as, byAlias.get(join.as), upOf.get(join.as) ?? 0, kind).map((base) => {
      return join.on === null ? base : { ...base, is_within: true };
    });
    const ref = ofSelection(join);
    if (member === null) return [{ ...join, ...ref }, ...bases];
    if (join.kind === "cross" || join.on === null) {
      where = both(where, member);
      return [{ ...join, ...ref }, ...bases];
    }
    return [{ ...join, ...ref, on: both(member, join.on) }, ...bases];
  });
  const first = baseJoins(query.from.as, byAlias.get(query.from.as), upOf.get(query.from.as) ?? 0, "inner");
  return {
    ...named,
    query: { ...mapped, from: ofSelection(query.from), joins: [...first, ...joins], where },
  };
}

/** How many tables up the query reads columns of each of its iterator views. */
function upsIn(query: ManifestQuery["query"], views: ReadonlyMap<string, LoweredView>): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  for (const expr of expressionsOf(query)) {
    visit(expr, (node) => {
      if (node.node !== "column" && node.node !== "cell_error" && node.node !== "similarity") return;
      const alias = node.of ?? query.from.as;
      const name = node.node === "column" ? node.name : node.column;
      const up = views.get(alias)?.definition.columns.find((column) => column.name === name)?.up ?? 0;
      found.set(alias, Math.max(up, found.get(alias) ?? 0));
    });
  }
  return found;
}

/** The joins from the rows of an iterator view to the rows that they are made of. */
function baseJoins(
  alias: string,
  view: LoweredView | undefined,
  ups: number,
  kind: "inner" | "left",
): ManifestQuery["query"]["joins"] {
  return (view?.bases ?? []).slice(0, ups).map(({ table, identity }, at) => {
    const column = (name: string, of: string): Expr => {
      return { node: "column", name, of, type: UUID_TYPE, nullable: false };
    };
    const args = [column(BASE_ROW, upAlias(alias, at)), column(identity, upAlias(alias, at + 1))];
    const on: Expr = { node: "call", fn: "op.eq", args, kwargs: {}, type: BOOL_TYPE, nullable: false };
    return { kind, table, as: upAlias(alias, at + 1), on };
  });
}

/** The alias of a table that the rows of another are made of. No alias of people has this sign. */
function upAlias(alias: string, up: number): string {
  return up === 0 ? alias : `${alias}^${up}`;
}

/** An expression of a query with the names of the views' tables. */
function inTable(expr: Expr, first: string, views: ReadonlyMap<string, LoweredView>): Expr {
  const read = mapParts(expr, (part) => inTable(part, first, views));
  if (read.node !== "column" && read.node !== "cell_error" && read.node !== "similarity") return read;
  const view = views.get(read.of ?? first);
  if (view === undefined) return read;
  const name = read.node === "column" ? read.name : read.column;
  const { column = name, up = 0 } = view.definition.columns.find((one) => one.name === name) ?? {};
  const of = upAlias(read.of ?? first, up);
  if (read.node === "column") return { ...read, name: column, of };
  if (read.node === "cell_error") return { ...read, column, of };
  const index = read.index === null ? null : (view.definition.indexes[read.index] ?? read.index);
  return { ...read, column, of, index };
}

function ofAlias(expr: Expr, alias: string): Expr {
  if (expr.node === "column") return { ...expr, of: alias };
  return mapParts(expr, (part) => ofAlias(part, alias));
}
