import type { Expr } from "@appdb/contract/expressions";
import { changedQueries } from "../../bound-queries/column-queries.ts";
import type { CatalogColumn, CatalogTable } from "../../catalog/catalog.ts";
import { isSameExpr } from "../../catalog/compare.ts";
import { guardOf } from "../../catalog/guards.ts";
import { isRetyped, overColumns, type Shadow, shadowsOf } from "../../catalog/shadow-columns.ts";
import { compileSql, ROW_COLUMNS } from "../../expressions/compile-sql.ts";
import { referencedColumns } from "../../expressions/needs-python.ts";
import { BOOL_TYPE } from "../../kinds/kinds.ts";
import { quoteIdent } from "../../sql/quote.ts";

/** A column whose value stays in the rows that were and are in its view. */
interface Stay extends Shadow {
  /** The previous condition of the view, and the new one, both over columns that may have shadows. */
  readonly was: Expr;
  readonly is: Expr;
}

/** A shadow that gets the value of its column without a computation, in the rows that `condition` selects. */
export interface KeptValue {
  readonly name: string;
  readonly from: string;
  /** SQL over `"#target"` and `"#new"`. */
  readonly condition: string;
}

/** What a job need not compute. */
export interface KeptValues {
  readonly kept: readonly KeptValue[];
  /** The job's columns, which are left out where their values are kept. */
  readonly columns: readonly CatalogColumn[];
  /** SQL over the row's own columns: the rows that enter or leave a view. Null when other rows change, too. */
  readonly moved: string | null;
}

/** Finds the values that a job keeps when only the conditions of views have changed. */
export function keptValues(table: CatalogTable, columns: readonly CatalogColumn[]): KeptValues {
  const shadows = shadowsOf(table).filter(({ shadow }) => columns.includes(shadow));
  const stays = stayingIn(columns, shadows);
  const kept = notReadByOthers(columns, stays).flatMap((stay): KeptValue[] => {
    const condition = keptSql(stay, columns, shadows);
    return condition === undefined ? [] : [{ name: stay.shadow.name, from: stay.column.name, condition }];
  });
  const leftOut = new Map(stays.map((stay) => [stay.shadow.name, stay]));
  return {
    kept,
    columns: columns.map((column) => {
      const stay = leftOut.get(column.name);
      return stay === undefined || kept.every(({ name }) => name !== column.name) ? column : leaveOut(stay);
    }),
    moved: stays.length === columns.length ? movedRows(stays, shadows) : null,
  };
}

/** The columns of which only the condition has changed, and nothing that their values read. */
function stayingIn(columns: readonly CatalogColumn[], shadows: readonly Shadow[]): readonly Stay[] {
  const changed = new Set(
    columns.map(({ name }) => shadows.find(({ shadow }) => shadow.name === name)?.column.name ?? name),
  );
  let stays = shadows.flatMap(({ column, shadow }): (Stay & { readonly value: Expr })[] => {
    if (column.computed === null || shadow.computed === null || isRetyped({ column, shadow })) return [];
    const [before, now] = [guardOf(column.computed.expr), guardOf(overColumns(shadow.computed.expr, shadows))];
    if (before.member === null || now.member === null || !isSameExpr(before.value, now.value)) return [];
    if (changedQueries(column.computed, shadow.computed).length > 0) return [];
    return [{ column, shadow, was: before.member, is: now.member, value: now.value }];
  });
  for (let count = -1; count !== stays.length; ) {
    count = stays.length;
    const same = new Set(stays.map(({ column }) => column.name));
    stays = stays.filter(({ value }) => referencedColumns(value).every((read) => same.has(read) || !changed.has(read)));
  }
  return stays;
}

/** Without those that another column needs as an input in every row. */
function notReadByOthers(columns: readonly CatalogColumn[], stays: readonly Stay[]): readonly Stay[] {
  let left = stays;
  for (let count = -1; count !== left.length; ) {
    count = left.length;
    const own = new Set(left.map(({ shadow }) => shadow.name));
    const others = columns.filter(({ name, computed }) => computed !== null && !own.has(name));
    const read = new Set(others.flatMap(({ computed }) => (computed === null ? [] : referencedColumns(computed.expr))));
    left = left.filter(({ shadow }) => !read.has(shadow.name));
  }
  return left;
}

/** Only rows that stay in the view keep their value. A cell without one is computed again: it may have failed. */
function keptSql(
  { column, is, was }: Stay,
  columns: readonly CatalogColumn[],
  shadows: readonly Shadow[],
): string | undefined {
  const next = new Map([
    ...columns.map(({ name }) => [name, name] as const),
    ...shadows.map((one) => [one.column.name, one.shadow.name] as const),
  ]);
  const stored = ({ name }: { readonly name: string }): string => `"#target".${quoteIdent(name)}`;
  const before = compileSql(was, { columnSql: stored });
  const now = compileSql(is, {
    columnSql: ({ name }) => (next.has(name) ? `"#new".${quoteIdent(next.get(name) ?? name)}` : stored({ name })),
  });
  if (before === undefined || now === undefined) return undefined;
  return `(${before}) is true and (${now}) is true and ${stored(column)} is not null`;
}

/** The same column, whose functions are not called where its value is kept. SQL computes it there for nothing. */
function leaveOut({ column, shadow, was }: Stay): CatalogColumn {
  const { computed } = shadow;
  const { member, value } = guardOf(computed?.expr ?? was);
  if (computed === null || member === null || compileSql(computed.expr, ROW_COLUMNS) !== undefined) return shadow;
  const { name, type } = column;
  const isComputed = [
    call("op.not", was),
    call("op.is_null", was),
    call("op.is_null", { node: "column", name, type, nullable: true }),
  ];
  const entered = isComputed.reduce((all, one) => call("op.or", all, one));
  return {
    ...shadow,
    computed: { ...computed, expr: { ...call("op.when", call("op.and", member, entered), value), type: value.type } },
  };
}

function call(fn: string, ...args: Expr[]): Extract<Expr, { node: "call" }> {
  return { node: "call", fn, args, kwargs: {}, type: BOOL_TYPE, nullable: true };
}

/** The rows for which a condition has another result. Conditions over shadows follow from those of other columns. */
function movedRows(stays: readonly Stay[], shadows: readonly Shadow[]): string | null {
  const names = new Set(shadows.map(({ column }) => column.name));
  const conditions = new Set<string | undefined>();
  for (const { was, is } of stays) {
    if ([was, is].some((member) => referencedColumns(member).some((read) => names.has(read)))) continue;
    const [before, now] = [compileSql(was, ROW_COLUMNS), compileSql(is, ROW_COLUMNS)];
    if (before === undefined || now === undefined) return null;
    conditions.add(`((${before}) is true) is distinct from ((${now}) is true)`);
  }
  return conditions.size === 0 ? null : `(${[...conditions].join(" or ")})`;
}
