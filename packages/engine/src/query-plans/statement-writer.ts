import { createHash } from "node:crypto";
import type { Expr } from "@appdb/contract/expressions";
import type { ColumnType } from "@appdb/contract/types";
import { type BoundQuery, flatNames, typesIn } from "../bound-queries/bind-query.ts";
import { UUID_TYPE } from "../kinds/kinds.ts";
import type { ParameterList } from "../kinds/parameter-list.ts";
import { quoteIdent } from "../sql/quote.ts";
import { groupRows } from "./group-rows.ts";
import { type GroupNames, groupNames, isGrouped, keysOf, type Window, windowNames } from "./groups.ts";
import { chooseIndexes, type IndexedTexts, writeConditions } from "./index-terms.ts";
import { comparedVectors, type OrderTerms, orderTerms } from "./order-by.ts";
import { type OrderTerm, orderLines, pageConditions, positionTerms, reversed } from "./order-terms.ts";
import type { Clauses, NamedType, PlannedStatement, PlanOptions, QueryOutput } from "./query-plan.ts";
import { ExpressionWriter, type Relation } from "./relation.ts";
import { drawSql, OF_TRANSACTION, sampleRows } from "./sample-sql.ts";
import { rowNumbers, storedSql, windowed, windowSql } from "./window-sql.ts";

type Order = Clauses["order_by"];

export interface WrittenAnswer {
  readonly statement: PlannedStatement;
  /** Columns after the outputs, for Python. */
  readonly columns: readonly NamedType[];
  readonly outputs: readonly (Omit<QueryOutput, "nullable"> & { readonly index: number })[];
  readonly python: readonly { readonly name: string; readonly expr: Expr }[];
  /** Number of last columns that mark a row. */
  readonly marks: number;
  /** Set when `statement` uses a vector index: the same statement without it. */
  readonly exact?: PlannedStatement;
}

/** The selected values: some from the statement, others from Python. */
interface Chosen extends Omit<WrittenAnswer, "statement" | "marks" | "exact"> {
  readonly values: readonly string[];
}

/** Writes the statements of one query over one relation. */
export class StatementWriter {
  readonly #bound: BoundQuery;
  readonly #relation: Relation;
  readonly #parameters: ParameterList;
  readonly #options: PlanOptions;

  constructor(bound: BoundQuery, relation: Relation, parameters: ParameterList, options: PlanOptions) {
    this.#bound = bound;
    this.#relation = relation;
    this.#parameters = parameters;
    this.#options = options;
  }

  /** Ungrouped rows, for Python. */
  rows(input: {
    readonly where: readonly Expr[];
    readonly columns: readonly string[];
    readonly order: Order;
    readonly guards: boolean;
  }): PlannedStatement {
    const relation = this.#relation;
    const writer = this.#writer(relation);
    const values = input.columns.map((name) => identityOf(relation, name) ?? relation.column(name) ?? "null");
    const compared = comparedVectors(relation, input.order, this.#bound.similarities);
    const indexed = this.#indexedTexts(relation, input.where, input.order);
    return this.#prepare([
      `select ${values.length === 0 ? "1" : values.join(", ")}`,
      `from ${relation.from}`,
      ...this.#where([...writeConditions(input.where, indexed, writer), ...compared, ...this.#guards(input.guards)]),
      ...orderLines(this.#orderTerms(input.order, writer, relation, { indexed }).exact),
    ]);
  }

  /** Groups: keys, then aggregates. */
  groups(input: {
    readonly where: readonly Expr[];
    readonly grouped: GroupNames;
    readonly guards: boolean;
    /** Another statement of the transaction reads the same rows, so the sample must be the same. */
    readonly is_repeated: boolean;
  }): PlannedStatement {
    const read = input.grouped.values.map(({ expr }) => expr);
    const rows = this.#sampled(input.where, read, { is_repeated: input.is_repeated });
    const relation = groupRows(rows, input.grouped, this.#writer(rows));
    const values = input.grouped.values.map(({ name }) => relation.column(name));
    return this.#prepare([
      `select ${values.join(", ")}`,
      `from ${relation.from}`,
      ...this.#where(this.#guards(input.guards)),
      ...orderLines(relation.identities.map((sql) => ({ sql, asc: true, type: UUID_TYPE }))),
    ]);
  }

  /** The rows of groups, one by one: the group's index in `groups`, then values. With an order they come group by group. */
  members(input: {
    readonly where: readonly Expr[];
    readonly keys: readonly Expr[];
    readonly values: readonly Expr[];
    readonly order: readonly Expr[];
  }): PlannedStatement {
    const { keys, values, order } = input;
    const relation = this.#sampled(input.where, [...keys, ...values, ...order], { is_repeated: true });
    const writer = this.#writer(relation);
    const place = keys.length === 0 ? "0" : `dense_rank() over (order by ${storedSql(keys, writer).join(", ")}) - 1`;
    const term = (sql: string): OrderTerm => ({ sql, asc: true, type: UUID_TYPE });
    const sorted = order.length === 0 ? [] : [...(keys.length === 0 ? [] : ["1"]), ...storedSql(order, writer)];
    return this.#prepare([
      `select ${[place, ...storedSql(values, writer)].join(", ")}`,
      `from ${relation.from}`,
      ...this.#where(relation.where),
      ...orderLines([...sorted, ...relation.identities].map(term)),
    ]);
  }

  /** Ungrouped rows with windows. The last columns have, for each of `numbered`, the numbers of a row's group and of the row
   *  among all. */
  windows(input: {
    readonly where: readonly Expr[];
    readonly columns: readonly string[];
    readonly windows: readonly Window[];
    readonly values: readonly Expr[];
    readonly numbered: readonly Window[];
    readonly order: Order;
    readonly guards: boolean;
  }): PlannedStatement {
    const { columns, windows, values, numbered } = input;
    const compared = comparedVectors(this.#relation, input.order, this.#bound.similarities);
    const read = [...windows, ...values, ...numbered.flatMap(keysOf)];
    const also = columns.filter((name) => identityOf(this.#relation, name) === undefined);
    const relation = this.#sampled(input.where, read, { also });
    const writer = this.#writer(relation);
    const selected = [
      ...columns.map((name) => identityOf(relation, name) ?? relation.column(name) ?? "null"),
      ...windows.map((window) => windowSql(window, relation, writer)),
      ...storedSql(values, writer),
      ...numbered.flatMap((window) => rowNumbers(window, relation, writer)),
    ];
    return this.#prepare([
      `select ${selected.join(", ") || "1"}`,
      `from ${relation.from}`,
      ...this.#where([...relation.where, ...compared, ...this.#guards(input.guards)]),
      ...orderLines(relation.identities.map((sql) => ({ sql, asc: true, type: UUID_TYPE }))),
    ]);
  }

  /** The rows of the response, before Python values. */
  answer(input: { readonly clauses: Clauses; readonly guards: boolean }): WrittenAnswer {
    const { clauses } = input;
    const { query } = this.#bound;
    const read = [...clauses.select, ...clauses.order_by].map(({ expr }) => expr);
    const windows = windowNames(clauses);
    const isOverTables = !isGrouped(clauses) && windows.values.length === 0;
    const indexed = this.#indexedTexts(this.#relation, clauses.where, isOverTables ? clauses.order_by : []);
    let relation = this.#sampled(clauses.where, [...read, ...clauses.group_by], { indexed });
    let { select, order_by: orderBy } = clauses;
    let identityTypes: readonly ColumnType[] = relation.identities.map(() => UUID_TYPE);
    if (isGrouped(clauses)) {
      const grouped = groupNames(clauses);
      identityTypes = clauses.group_by.map(({ type }) => type);
      relation = groupRows(relation, grouped, this.#writer(relation));
      select = select.map(({ name, expr }) => ({ name, expr: grouped.replace(expr) }));
      orderBy = orderBy.map(({ expr, asc }) => ({ expr: grouped.replace(expr), asc }));
    }
    if (windows.values.length > 0) {
      select = select.map(({ name, expr }) => ({ name, expr: windows.replace(expr) }));
      const replaced = orderBy.map(({ expr, asc }) => ({ expr: windows.replace(expr), asc }));
      const compared = comparedVectors(relation, orderBy, this.#bound.similarities);
      const read = flatNames([...select, ...replaced].map(({ expr }) => expr));
      relation = windowed(
        { ...relation, where: [...relation.where, ...compared] },
        windows,
        read,
        this.#writer(relation),
      );
      orderBy = replaced;
    }
    const writer = this.#writer(relation);
    const chosen = this.#choose(select, writer, relation);
    const compared = comparedVectors(relation, orderBy, this.#bound.similarities);
    const where = [...relation.where, ...compared, ...this.#guards(input.guards)];
    if (query.distinct) return this.#distinct(chosen, orderBy, writer, relation, where);
    const order = this.#orderTerms(orderBy, writer, relation, { indexed, identities: identityTypes });
    const { exact, by_index: byIndex } = order;
    if (query.tail !== null) return this.#tail(chosen, exact, relation, where);
    const marks = this.#marks(exact, relation);
    const [behind, limits] = [this.#behind(exact), this.#limits()];
    const write = (terms: readonly OrderTerm[]): PlannedStatement =>
      this.#prepare([
        `select ${[...chosen.values, ...marks].join(", ") || "1"}`,
        `from ${relation.from}`,
        ...this.#where([...where, ...behind]),
        ...orderLines(terms),
        ...limits,
      ]);
    const answer = { ...chosen, marks: marks.length };
    // A page continues after the last row, which an approximate vector index cannot guarantee.
    const isPage = this.#options.marked?.by === "place";
    if (byIndex === null || query.limit === null || isPage) return { ...answer, statement: write(exact) };
    return { ...answer, statement: write(byIndex), exact: write(exact) };
  }

  /** SQL of the marks on a row, if requested. */
  #marks(order: readonly OrderTerm[], relation: Relation): readonly string[] {
    const { marked } = this.#options;
    if (marked === undefined) return [];
    return marked.by === "place" ? positionTerms(order).map(({ sql }) => sql) : relation.identities;
  }

  /** Conditions for the rows after the last row of the previous page. */
  #behind(order: readonly OrderTerm[]): readonly string[] {
    const { marked } = this.#options;
    if (marked?.by !== "place" || marked.after === null) return [];
    return pageConditions(order, marked.after, (at, type) => this.#parameters.pageKey(at, type));
  }

  /** The values of the response with SQL, and the columns that Python needs for the others. */
  #choose(select: Clauses["select"], writer: ExpressionWriter, relation: Relation): Chosen {
    const values: string[] = [];
    const outputs: WrittenAnswer["outputs"][number][] = [];
    const python: { name: string; expr: Expr }[] = [];
    select.forEach(({ name, expr }, index) => {
      const sql = writer.writeShown(expr);
      if (sql === undefined) {
        outputs.push({ name, type: expr.type, index, from: { step: python.length } });
        python.push({ name: `#s${python.length}`, expr });
        return;
      }
      outputs.push({ name, type: expr.type, index, from: { sql: values.length } });
      values.push(sql);
    });
    const columns: NamedType[] = [];
    const types = new Map(python.flatMap(({ expr }) => typesIn(expr)));
    for (const name of flatNames(python.map(({ expr }) => expr))) {
      const type = types.get(name);
      const sql = relation.column(name);
      if (type === undefined || sql === undefined) throw new TypeError(`The query lacks ${name}.`);
      columns.push({ name, type });
      values.push(sql);
    }
    return { values, outputs, columns, python };
  }

  /** All selected values have SQL here, and the order uses selected values. */
  #distinct(
    chosen: Chosen,
    orderBy: Order,
    writer: ExpressionWriter,
    relation: Relation,
    where: readonly string[],
  ): WrittenAnswer {
    const columnRefs = chosen.values.map((_sql, at) => `d.${quoteIdent(`c${at}`)}`);
    const terms = orderBy.map(({ expr, asc }) => {
      const at = chosen.values.indexOf(writer.write(expr) ?? "");
      return { sql: columnRefs[at] ?? "null", asc, type: expr.type };
    });
    const lines = [
      `select ${columnRefs.join(", ")}`,
      `from (select distinct ${chosen.values.map((sql, at) => `${sql} as ${quoteIdent(`c${at}`)}`).join(", ")}`,
      `  from ${relation.from}`,
      ...this.#where(where),
      ") as d",
    ];
    const order = [
      ...terms,
      ...columnRefs.map((sql, at) => ({ sql, asc: true, type: chosen.outputs[at]?.type ?? UUID_TYPE })),
    ];
    const { tail } = this.#bound.query;
    if (tail === null) {
      const statement = this.#prepare([...lines, ...orderLines(order), ...this.#limits()]);
      return { ...chosen, statement, marks: 0 };
    }
    const last = [...lines, ...orderLines(reversed(order)), ...this.#limitTo(tail)];
    const back = order.map((term) => ({ ...term, sql: term.sql.replace(/^d\./, "t.") }));
    const shown = columnRefs.map((sql) => sql.replace(/^d\./, "t."));
    const statement = this.#prepare([`select ${shown.join(", ")} from (`, ...last, ") as t", ...orderLines(back)]);
    return { ...chosen, statement, marks: 0 };
  }

  /** The last rows of the order, reversed again. */
  #tail(chosen: Chosen, order: readonly OrderTerm[], relation: Relation, where: readonly string[]): WrittenAnswer {
    const names = chosen.values.map((_sql, at) => quoteIdent(`c${at}`));
    const keys = order.map((_term, at) => quoteIdent(`k${at}`));
    const inner = [
      ...chosen.values.map((sql, at) => `${sql} as ${names[at]}`),
      ...order.map(({ sql }, at) => `${sql} as ${keys[at]}`),
    ];
    const { tail } = this.#bound.query;
    const statement = this.#prepare([
      `select ${names.join(", ") || "1"} from (`,
      `select ${inner.join(", ")}`,
      `from ${relation.from}`,
      ...this.#where(where),
      ...orderLines(reversed(order)),
      ...(tail === null ? [] : this.#limitTo(tail)),
      ") as t",
      ...orderLines(order.map((term, at) => ({ ...term, sql: keys[at] ?? "" }))),
    ]);
    return { ...chosen, statement, marks: 0 };
  }

  /** The relation with its conditions, reduced to the sample. */
  #sampled(
    where: readonly Expr[],
    read: readonly Expr[],
    options: {
      readonly is_repeated?: boolean;
      readonly indexed?: IndexedTexts;
      /** Flat names that are read too. */
      readonly also?: readonly string[];
    },
  ): Relation {
    const relation = this.#relation;
    const indexed = options.indexed ?? this.#indexedTexts(relation, where, []);
    const conditions = [...relation.where, ...writeConditions(where, indexed, this.#writer(relation))];
    const { sample } = this.#bound.query;
    if (sample === null) return { ...relation, where: conditions };
    const draw = drawSql(relation, sample.seed ?? (options.is_repeated === true ? OF_TRANSACTION : null));
    if (sample.fraction !== null) {
      return { ...relation, where: [...conditions, `${draw} < ${sample.fraction}`] };
    }
    const names = [...new Set([...flatNames(read), ...(options.also ?? [])])];
    return sampleRows({ ...relation, where: conditions }, names, draw, sample.n);
  }

  /** The indexed forms of the texts that a statement over `relation` compares or sorts by. */
  #indexedTexts(relation: Relation, where: readonly Expr[], order: Order): IndexedTexts {
    return relation.is_tables === true ? chooseIndexes(this.#bound, where, order[0]?.expr) : new Map();
  }

  #orderTerms(
    order: Order,
    writer: ExpressionWriter,
    relation: Relation,
    known: { readonly indexed: IndexedTexts; readonly identities?: readonly ColumnType[] },
  ): OrderTerms {
    const { similarities } = this.#bound;
    return orderTerms({ order, writer, relation, similarities, parameters: this.#parameters, ...known });
  }

  #where(conditions: readonly string[]): string[] {
    return conditions.length === 0 ? [] : [`where ${conditions.join("\n  and ")}`];
  }

  /** The statement returns nothing when a table version differs from the planned one. */
  #guards(withGuards: boolean): string[] {
    if (!withGuards) return [];
    return this.#bound.tables.map(
      ({ table }) =>
        `(select v.version from appdb.tables v where v.id = ${table.id}) = ${this.#parameters.version(table.id)}`,
    );
  }

  #limits(): string[] {
    const { limit, offset } = this.#bound.query;
    const { marked } = this.#options;
    if (marked?.by === "place") {
      const isFirst = marked.after === null;
      const rows = `limit ${this.#parameters.pageRows()}`;
      return offset === null || !isFirst ? [rows] : [rows, `offset ${this.#count(offset)}`];
    }
    const lines = limit === null ? this.#bounded() : this.#limitTo(limit);
    if (offset === null) return lines;
    return [...lines, `offset ${this.#count(offset)}`];
  }

  /** A streamed result has any number of rows. */
  #bounded(): string[] {
    const { max_rows: max } = this.#options;
    return Number.isFinite(max) ? [`limit ${max + 1}`] : [];
  }

  #limitTo(limit: Expr): string[] {
    const max = this.#options.max_rows + 1;
    if (limit.node === "literal") return [`limit ${Math.min(Number(limit.value), max)}`];
    return [`limit least(${this.#count(limit)}, ${max})`];
  }

  #count(expr: Expr): string {
    const sql = this.#writer(this.#relation).write(expr);
    if (sql === undefined) throw new TypeError("A limit is neither a number nor a parameter.");
    return sql;
  }

  #writer(relation: Relation): ExpressionWriter {
    return new ExpressionWriter(relation, this.#parameters, this.#options.mode);
  }

  #prepare(lines: readonly string[]): PlannedStatement {
    const text = lines.join("\n");
    return {
      text,
      name: createHash("sha256").update(text).digest("hex").slice(0, 32),
      placeholders: this.#parameters.placeholders,
    };
  }
}

function identityOf(relation: Relation, name: string): string | undefined {
  return name.startsWith("#id") ? relation.identities[Number(name.slice(3))] : undefined;
}
