import { createHash } from "node:crypto";
import type { Expr } from "@appdb/contract/expressions";
import type { ColumnType, EngineValue } from "@appdb/contract/types";
import { BATCHING, Coalescer, type Outcome } from "../batching/coalescer.ts";
import type { BoundQuery } from "../bound-queries/bind-query.ts";
import { keyExpression } from "../catalog/ddl.ts";
import { ParameterList } from "../kinds/parameter-list.ts";
import { fromTransport, transportType } from "../kinds/storage-type.ts";
import { arrayText } from "../kinds/values.ts";
import type { SqlPool } from "../ports.ts";
import type { QueryArguments } from "../query-plans/python-rows.ts";
import { ExpressionWriter, joinTables } from "../query-plans/relation.ts";
import { quoteIdent, quoteTable } from "../sql/quote.ts";
import type { QueryAnswer } from "./final-answer.ts";
import type { QueryRunner } from "./query-runner.ts";
import { compileRows } from "./render-rows.ts";

/** A query for the row of one key, for many requests at once. */
interface PointStatement {
  readonly bound: BoundQuery;
  readonly text: string;
  readonly name: string;
  readonly versions: readonly number[];
  readonly render: ReturnType<typeof compileRows>;
}

/**
 * Reads rows by key for concurrent requests: one statement joins their keys to the table. In case of any problem (a
 * refused value, a changed table) the query's own runner handles each request.
 */
export class PointReads {
  readonly #sql: SqlPool;
  readonly #runner: QueryRunner;
  readonly #parameter: string;
  readonly #type: ColumnType;
  readonly #coalescer: Coalescer<EngineValue, QueryAnswer>;
  #statement: PointStatement;

  private constructor(sql: SqlPool, runner: QueryRunner, key: PointKey, statement: PointStatement) {
    this.#sql = sql;
    this.#runner = runner;
    this.#parameter = key.parameter;
    this.#type = key.type;
    this.#statement = statement;
    this.#coalescer = new Coalescer({
      ...BATCHING,
      weigh: (value) => (typeof value === "string" ? value.length + 64 : 64),
      run: (keys) => this.#readBatch(keys),
    });
  }

  /** For a query of the form `where(Model.key == parameter)` with a single-column key; undefined for any other. */
  static of(sql: SqlPool, runner: QueryRunner): PointReads | undefined {
    const { bound } = runner.plan;
    const key = findPointKey(bound);
    if (key === undefined || runner.uses_python) return undefined;
    return new PointReads(sql, runner, key, writePoint(bound, key));
  }

  /** @throws as QueryRunner.run */
  run(args: QueryArguments): Promise<QueryAnswer> {
    const key = args.get(this.#parameter) ?? null;
    return key === null ? Promise.resolve({ count: 0, text: "" }) : this.#coalescer.submit(key);
  }

  drain(): Promise<void> {
    return this.#coalescer.drain();
  }

  async #readBatch(keys: readonly EngineValue[]): Promise<readonly Outcome<QueryAnswer>[]> {
    const statement = this.#current();
    const array = arrayText(
      this.#type.kind,
      keys.map((key) => [key]),
      0,
    );
    let rows: readonly (readonly (string | null)[])[];
    try {
      const result = await this.#sql.query({ ...statement, values: [array, ...statement.versions] });
      rows = result.rows;
    } catch {
      // The runner meets the same error for each request and makes the message.
      return keys.map((key) => ({ later: () => this.#alone(key) }));
    }
    // No rows may also mean that the table version has changed.
    if (rows.length === 0 && !(await this.#runner.isCurrent())) {
      return keys.map((key) => ({ later: () => this.#alone(key) }));
    }
    const outcomes: Outcome<QueryAnswer>[] = keys.map(() => NOTHING);
    for (const row of rows) {
      const at = Number(row[row.length - 1]) - 1;
      outcomes[at] = { answer: { count: 1, text: statement.render(row) } };
    }
    return outcomes;
  }

  #alone(key: EngineValue): Promise<QueryAnswer> {
    return this.#runner.run(new Map([[this.#parameter, key]]));
  }

  #current(): PointStatement {
    const { bound } = this.#runner.plan;
    const key = findPointKey(bound);
    if (this.#statement.bound !== bound && key !== undefined) this.#statement = writePoint(bound, key);
    return this.#statement;
  }
}

const NOTHING: Outcome<QueryAnswer> = { answer: { count: 0, text: "" } };

interface PointKey {
  readonly column: Expr;
  readonly parameter: string;
  readonly type: ColumnType;
}

/** The key of a query that only selects by key: at most one row, identified by one parameter. */
function findPointKey(bound: BoundQuery): PointKey | undefined {
  const { query, tables } = bound;
  const [table] = tables;
  const { where } = query;
  if (table === undefined || tables.length > 1 || where?.node !== "call" || where.fn !== "op.eq") return undefined;
  const isPlain =
    query.group_by.length === 0 &&
    !query.distinct &&
    query.offset === null &&
    query.tail === null &&
    query.sample === null &&
    (query.limit === null || (query.limit.node === "literal" && Number(query.limit.value) > 0));
  const column = where.args.find((arg) => arg.node === "column");
  const parameter = where.args.find((arg) => arg.node === "parameter");
  if (!isPlain || column?.node !== "column" || parameter?.node !== "parameter") return undefined;
  if (column.type.kind !== parameter.type.kind || bound.parameters.length !== 1) return undefined;
  if (bound.asked.length > 0) return undefined;
  const [key] = table.table.primary_key;
  if (table.table.primary_key.length !== 1 || column.name !== `${table.alias}.${key}`) return undefined;
  const reads = JSON.stringify(query.select);
  const isOfOthers = ["parameter", "aggregate", "window"].some((node) => reads.includes(`"node":"${node}"`));
  if (isOfOthers) return undefined;
  return { column, parameter: parameter.name, type: column.type };
}

function writePoint(bound: BoundQuery, key: PointKey): PointStatement {
  const parameters = new ParameterList(bound.parameters);
  const relation = joinTables(bound, parameters);
  const writer = new ExpressionWriter(relation, parameters, "forms");
  const outputs = bound.query.select.map(({ name, expr }, at) => {
    const sql = writer.writeShown(expr);
    if (sql === undefined) throw new TypeError("A point read has a value without SQL form.");
    return { sql, output: { name, type: expr.type, nullable: true, from: { sql: at } } };
  });
  const [table] = bound.tables;
  const column = writer.write(key.column);
  if (table === undefined || column === undefined) throw new TypeError("A point read has no table or no key.");
  const keyValue = fromTransport('asked."key"', key.type);
  const index = keyExpression(column, key.type);
  const equal =
    index === column
      ? `${column} = ${keyValue}`
      : `${index} = ${keyExpression(keyValue, key.type)} and ${column} = ${keyValue}`;
  const text = [
    `select ${[...outputs.map(({ sql }) => sql), 'asked."row"'].join(", ")}`,
    `from unnest($1::${transportType(key.type)}[]) with ordinality as asked("key", "row")`,
    `join ${quoteTable(table.table)} as ${quoteIdent(table.alias)} on ${equal}`,
    `where (select v.version from appdb.tables v where v.id = ${table.table.id}) = $2::bigint`,
  ].join("\n");
  return {
    bound,
    text,
    name: createHash("sha256").update(text).digest("hex").slice(0, 32),
    versions: [table.table.version],
    render: compileRows({ outputs: outputs.map(({ output }) => output) }, bound.return_scalar),
  };
}
