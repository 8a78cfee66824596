import { appError } from "@appdb/contract/errors";
import type { Expr } from "@appdb/contract/expressions";
import type { ColumnType } from "@appdb/contract/types";
import type { BoundQuery, BoundTable } from "../bound-queries/bind-query.ts";
import { similaritySql } from "../bound-queries/similarities.ts";
import { compileShown, compileSql, type SqlSources } from "../expressions/compile-sql.ts";
import { kindOf } from "../kinds/kinds.ts";
import type { ParameterList } from "../kinds/parameter-list.ts";
import { storageCollation, storageType } from "../kinds/storage-type.ts";
import { quoteIdent, quoteLiteral, quoteTable } from "../sql/quote.ts";

/** The source of a statement: a FROM list, and the SQL of each flat name in it. */
export interface Relation {
  readonly from: string;
  /** Conditions that it already includes (WHERE), as SQL. */
  readonly where: readonly string[];
  /** SQL of a flat name; undefined for an unknown name. */
  column(name: string): string | undefined;
  /** The identities of its rows, in insertion order; empty when there are none. */
  readonly identities: readonly string[];
  /** Its rows come from the query's tables, which have indexes. */
  readonly is_tables?: boolean;
}

/** Which expressions can be SQL: all with a form, or only bare values (for rows that SQL refused). */
export type SqlMode = "forms" | "bare";

/** Writes expressions over a relation as SQL. */
export class ExpressionWriter {
  readonly #relation: Relation;
  readonly #parameters: ParameterList;
  readonly #mode: SqlMode;

  constructor(relation: Relation, parameters: ParameterList, mode: SqlMode) {
    this.#relation = relation;
    this.#parameters = parameters;
    this.#mode = mode;
  }

  /** Whether `write` returns SQL. Adds no parameters to the statement. */
  has(expr: Expr): boolean {
    return this.#compile(expr, { columnSql: () => "x", parameterSql: () => "$0" }) !== undefined;
  }

  /** SQL of the value in its type's stored form; undefined when it has no SQL form. */
  write(expr: Expr): string | undefined {
    return this.#compile(expr, this.#sources());
  }

  /** SQL of a value that is only shown: a part of a Json value may keep its spaces. */
  writeShown(expr: Expr): string | undefined {
    return this.#mode === "bare" ? this.write(expr) : compileShown(expr, this.#sources());
  }

  #compile(expr: Expr, sources: SqlSources): string | undefined {
    return this.#mode === "bare" && !BARE.has(expr.node) ? undefined : compileSql(expr, sources);
  }

  #sources(): SqlSources {
    return {
      columnSql: ({ name }) => {
        const sql = this.#relation.column(name);
        if (sql === undefined) throw new TypeError(`The query reads ${name}, which its tables lack.`);
        return sql;
      },
      parameterSql: ({ name }) => this.#parameters.value(name),
    };
  }
}

const BARE: ReadonlySet<Expr["node"]> = new Set(["column", "literal", "parameter"]);

/** The tables of a query with their joins. @throws app_invalid for a join whose condition has no SQL form */
export function joinTables(bound: BoundQuery, parameters: ParameterList): Relation {
  const byAlias = new Map(bound.tables.map((table) => [table.alias, table]));
  const relation: Relation = {
    from: "",
    where: [],
    identities: bound.tables.map(({ alias, table }) => `${quoteIdent(alias)}.${quoteIdent(table.identity)}`),
    column: (name) => {
      const similarity = bound.similarities.find((similarity) => similarity.name === name);
      return similarity === undefined ? columnOf(byAlias, name) : similaritySql(similarity, parameters);
    },
    is_tables: true,
  };
  const writer = new ExpressionWriter(relation, parameters, "forms");
  const refs = [bound.query.from, ...bound.query.joins];
  const [first, ...others] = bound.tables.map(({ alias, table }, at) => {
    const [source, as, member] = [quoteTable(table), quoteIdent(alias), refs[at]?.member];
    if (member === undefined) return `${source} as ${as}`;
    return `(select * from ${source} as ${as} where ${writer.write(member)}) as ${as}`;
  });
  let outer = "";
  const joins = others.map((table, at) => {
    const alias = bound.tables[at + 1]?.alias;
    const { kind, on, is_within: isWithin = false } = bound.query.joins[at] ?? { kind: "cross", on: null };
    if (on === null) return `cross join ${table}`;
    const written = writer.write(on);
    if (written === undefined) throw noSqlJoin(bound);
    const condition =
      kind === "full" && !isHashed(on, alias) ? `(${written}) and ${alwaysEqual(relation, at + 1)}` : written;
    const isFollowed = bound.query.joins[at + 1]?.is_within === true;
    if (isWithin) return `${kind} join ${table} on ${condition}${isFollowed ? "" : outer}`;
    // The condition comes after the tables that are joined within this join.
    outer = ` on ${condition}`;
    return `${kind} join ${table}${isFollowed ? "" : outer}`;
  });
  return { ...relation, from: [first, ...joins].join("\n  ") };
}

/**
 * Whether PostgreSQL finds the rows with a true condition by their hash: a full join needs one such equality of the
 * joined table, `alias`, and another one.
 */
function isHashed(on: Expr, alias: string | undefined): boolean {
  if (on.node !== "call" || on.fn !== "op.eq") return false;
  const [one, other] = on.args;
  if (one?.node !== "column" || other?.node !== "column" || one.type.kind !== other.type.kind) return false;
  const sides = [one, other].filter(({ name }) => name.startsWith(`${alias}.`));
  const { isOrdered, equals } = kindOf(one.type);
  return sides.length === 1 && isOrdered && equals === null;
}

/** An equality of a table and the first one that is true for all rows, and that PostgreSQL can hash. */
function alwaysEqual({ identities: [first, ...others] }: Relation, at: number): string {
  return `0 * num_nulls(${first}) = 0 * num_nulls(${others[at - 1]})`;
}

/** Rows given as arrays, with parameters in the order of `columns`. */
export function inputRows(
  columns: readonly { readonly name: string; readonly type: ColumnType }[],
  parameters: ParameterList,
): Relation {
  const names = columns.map((_column, at) => quoteIdent(`c${at}`));
  const arrays = columns.map(({ type }) => parameters.array(type));
  const columnRefs = new Map(columns.map(({ name, type }, at) => [name, { at, type }]));
  return {
    from: `unnest(${arrays.join(", ")}) with ordinality as given(${[...names, '"#row"'].join(", ")})`,
    where: [],
    identities: ['given."#row"'],
    column(name) {
      const place = columnRefs.get(name);
      if (place === undefined) return undefined;
      const sql = `given.${names[place.at]}`;
      if (kindOf(place.type).transport !== null)
        return `(${sql}::${storageType(place.type)}${storageCollation(place.type)})`;
      const collation = storageCollation(place.type);
      return collation === "" ? sql : `(${sql}${collation})`;
    },
  };
}

function columnOf(byAlias: ReadonlyMap<string, BoundTable>, flat: string): string | undefined {
  const dot = flat.indexOf(".");
  const table = byAlias.get(flat.slice(0, dot));
  if (dot < 0 || table === undefined) return undefined;
  const [name = "", part] = splitError(flat.slice(dot + 1));
  const alias = quoteIdent(table.alias);
  if (part === undefined) return `${alias}.${quoteIdent(name)}`;
  const cell = `(${alias}._errors -> ${quoteLiteral(name)})`;
  // A pending cell has a plain word instead of an error object.
  return `(coalesce(${cell} ->> ${quoteLiteral(part)}, CASE jsonb_typeof(${cell}) WHEN 'string' THEN ${cell} #>> '{}' END) collate pg_catalog.pg_unicode_fast)`;
}

function splitError(name: string): [string, string?] {
  const mark = name.indexOf("!");
  return mark < 0 ? [name] : [name.slice(0, mark), name.slice(mark + 1)];
}

function noSqlJoin(bound: BoundQuery): Error {
  return appError("app_invalid", {
    detail: `The query ${bound.id} joins on a condition that has no SQL form.`,
    hint: "Compare columns in on=. Move Python computations into where() or a computed column.",
    meta: { query: bound.id },
  });
}
