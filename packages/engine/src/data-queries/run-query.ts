import { AppError, appError } from "@appdb/contract/errors";
import type { Expr } from "@appdb/contract/expressions";
import type { Query } from "@appdb/contract/query";
import type { EngineValue } from "@appdb/contract/types";
import { type BoundQuery, bindQuery, expressionsOf } from "../bound-queries/bind-query.ts";
import { resolveSimilarity } from "../bound-queries/similarities.ts";
import type { Catalog, CatalogFunction } from "../catalog/catalog.ts";
import { visit } from "../expressions/tree.ts";
import type { DescribeFile } from "../kinds/results/describe-file.ts";
import { ResultTooLarge, type SqlConnection, type SqlPool, type UdfRunner } from "../ports.ts";
import { QueryRunner } from "../queries/query-runner.ts";
import { boundOf } from "../queries/row-bounds.ts";
import { askVectors } from "../query-plans/ask-vectors.ts";
import { planQuery } from "../query-plans/plan-query.ts";
import type { QueryArguments } from "../query-plans/python-rows.ts";
import type { PlannedStatement, QueryPlan } from "../query-plans/query-plan.ts";
import { explainQueryRefusal } from "../query-plans/query-refusals.ts";
import { type QueryLimits, type RowsInFlight, timedOut } from "../sql/query-limits.ts";
import { isShapeRefusal, isValueRefusal } from "../write/sql-refusals.ts";
import { bindRequest, REQUEST_QUERY, type RequestQuery } from "./bind-request.ts";
import { rowTooLarge } from "./explain-sql.ts";
import { ResultMessages } from "./result-messages.ts";
import type { RowsFormat } from "./rows-format.ts";
import { MESSAGE_BYTES, streamRows } from "./stream-rows.ts";
import { WorkClock } from "./work-clock.ts";

/** The functions that a query may call, and their workers. */
export interface QueryCode {
  readonly functions: ReadonlyMap<string, CatalogFunction>;
  readonly udf: () => UdfRunner;
}

export interface DataQueryDeps {
  /** Of its own: a slow client keeps a connection until its result ends. */
  readonly sql: SqlPool;
  readonly limits: QueryLimits;
  readonly in_flight: RowsInFlight;
  loadCatalog(): Promise<Catalog>;
  /** Provides the code of a query that calls these functions, none for functions of the library alone. Its indexes
   *  make vectors by `embeds`, which their tables name. @throws function_missing, invalid_request */
  code(query: BoundQuery, functions: readonly string[], embeds: readonly string[]): Promise<QueryCode>;
  /** Called once for a result with media. */
  openFiles(): Promise<DescribeFile>;
}

export interface DataQueryInput {
  readonly query: Query;
  readonly timeout_ms: number | undefined;
  readonly format: RowsFormat;
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal;
  /** Sends a message; resolves when the client takes more. The first one has the columns. */
  send(message: Uint8Array): Promise<void>;
}

/** Results of one database that clients read at a time. Each keeps a connection until its end. */
export const MAX_READS = 8;
/** How often a query restarts because a table changed. */
const MAX_ATTEMPTS = 8;
/** PostgreSQL would count the time of a slow client; `WorkClock` bounds the statement instead. */
const ONLY_READS = "set transaction read only; set local statement_timeout = 0";
const NO_ARGUMENTS: QueryArguments = new Map();

/**
 * Runs a query of a request, and sends its rows as they arrive. One SQL statement is read in constant memory: nothing more
 * is read from PostgreSQL while the client does not take what was sent. A result that needs Python has the limits of named queries.
 * @throws errors of `bindRequest`; function_missing, schema_changed, query_timeout, result_too_large, function_failed and
 * related codes, database_unavailable, overloaded
 */
export async function runDataQuery(deps: DataQueryDeps, input: DataQueryInput): Promise<void> {
  const { statement_timeout_ms: pieceMs } = deps.limits;
  const clock = new WorkClock({ total_ms: input.timeout_ms, piece_ms: pieceMs }, input.signal);
  const result = new ResultMessages(deps, input);
  let changed: { readonly version: number; readonly error: unknown } | undefined;
  try {
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      const catalog = await deps.loadCatalog();
      // the same catalog would be refused again
      if (changed?.version === catalog.version) throw changed.error;
      const bound = bindRequest(catalog, input.query);
      try {
        if (await readOnce(deps, bound, clock, result)) return await result.finish();
      } catch (error) {
        if (result.is_started || !(error instanceof AppError) || error.code !== "schema_changed") throw error;
        changed = { version: catalog.version, error };
      }
    }
    throw appError("schema_changed", {
      detail: `The tables of the query ${REQUEST_QUERY} keep changing.`,
      hint: "Send the request again when the update is done.",
    });
  } catch (error) {
    if (clock.ended === "total_ms") throw outOfTime(input.timeout_ms ?? 0, error);
    throw clock.ended === "piece_ms" ? timedOut(REQUEST_QUERY, deps.limits, error) : error;
  }
}

/** One attempt; false when a table has changed before its first row was read. */
async function readOnce(
  deps: DataQueryDeps,
  { findTable, named }: RequestQuery,
  clock: WorkClock,
  result: ResultMessages,
): Promise<boolean> {
  const bound = bindQuery(named, findTable);
  const called = functionsOf(expressionsOf(bound.query));
  const embeds = functionsOf(bound.asked.map((asked) => resolveSimilarity(asked, bound.tables).vector));
  const early = called.length === 0 ? undefined : await deps.code(bound, called, embeds);
  const functions = early?.functions ?? new Map<string, CatalogFunction>();
  const plan = planQuery(bound, { functions, mode: "forms", max_rows: Number.POSITIVE_INFINITY });
  const code = early ?? (plan.reasons.length === 0 ? undefined : await deps.code(bound, called, embeds));
  const { in_flight, limits, sql } = deps;
  const udf = (): UdfRunner => {
    if (code === undefined) throw new TypeError("A query without functions asked for a worker.");
    return code.udf();
  };
  const explain = (error: unknown) => {
    // a stream has no limit but that of a row
    if (error instanceof ResultTooLarge) return rowTooLarge(error);
    return explainQueryRefusal(REQUEST_QUERY, limits, error, clock.signal);
  };
  const byRunner = async (runnerUdf: () => UdfRunner) => {
    const runner = new QueryRunner(
      { sql, udf: runnerUdf, functions, limits, in_flight, service: null, findTable },
      named,
    );
    await readWhole(runner, clock, result);
    return true;
  };
  if (!isStreamed(plan, limits)) return await byRunner(udf);
  try {
    return await readStream({ sql, plan, udf, clock, result });
  } catch (error) {
    if (result.is_started) throw explain(error);
    if (isShapeRefusal(error)) return false;
    if (!isValueRefusal(error)) throw explain(error);
  }
  // Python may accept a value that SQL refused.
  const { udf: workers } = code ?? (await deps.code(bound, called, embeds));
  return await byRunner(workers);
}

/** Whether one statement gives the rows. Nearest rows are searched by their index if they are few. */
function isStreamed({ bound, final, materials }: QueryPlan, limits: QueryLimits): boolean {
  if (materials.length > 0 || final.graph !== null) return false;
  return final.exact === null || (boundOf(bound.query.limit, NO_ARGUMENTS) ?? 0) > limits.result_rows;
}

interface StreamRead {
  readonly sql: SqlPool;
  readonly plan: QueryPlan;
  readonly udf: () => UdfRunner;
  readonly clock: WorkClock;
  readonly result: ResultMessages;
}

/** Reads the rows in a transaction that can only read. False when a table version has changed. */
async function readStream({ sql, plan, udf, clock, result }: StreamRead): Promise<boolean> {
  const { bound, final, vectors } = plan;
  const { signal } = clock;
  const versions = new Map(bound.tables.map(({ table }) => [table.id, table.version]));
  const asking = { query: REQUEST_QUERY, args: NO_ARGUMENTS, udf, signal, isCurrent: () => isCurrent(sql, versions) };
  const args = await clock.measurePython(() => askVectors(vectors, asking));
  if (args === undefined) return false;
  const { placeholders, text } = final.exact ?? final.statement;
  const writer = await result.begin(final.outputs);
  return await sql.transaction(async (connection) => {
    const values = placeholders.map((placeholder) => boundValue(placeholder, versions, args));
    await streamRows(
      connection,
      { ...result.sent(text, final.outputs), values },
      { clock, result, writer, watch: sql },
    );
    return result.count > 0 || (await isCurrent(connection, versions));
  }, ONLY_READS);
}

function boundValue(
  placeholder: PlannedStatement["placeholders"][number],
  versions: ReadonlyMap<number, number>,
  args: QueryArguments,
): unknown {
  if ("version_of" in placeholder) return versions.get(placeholder.version_of);
  if ("vector" in placeholder) return args.get(placeholder.vector) ?? null;
  throw new TypeError("A statement over tables has no other placeholders.");
}

/** Reads a result that Python makes, within the limits of a named query. */
async function readWhole(runner: QueryRunner, clock: WorkClock, result: ResultMessages): Promise<void> {
  const rows: (readonly EngineValue[])[] = [];
  const options = { signal: clock.signal, take_values: (values: readonly EngineValue[]) => rows.push(values) };
  await clock.measurePython(() => runner.run(NO_ARGUMENTS, options));
  const writer = await result.begin(runner.plan.final.outputs);
  for (const row of rows) {
    writer.takeValues(row);
    result.count += 1;
    if (writer.bytes >= MESSAGE_BYTES) await result.flush();
  }
}

/** Whether the tables have the versions of the plan. */
async function isCurrent(connection: SqlConnection, versions: ReadonlyMap<number, number>): Promise<boolean> {
  const { rows } = await connection.query({
    text: "select id, version from appdb.tables where id = any ($1::bigint[])",
    values: [`{${[...versions.keys()].join(",")}}`],
  });
  const now = new Map(rows.map(([id, version]) => [Number(id), Number(version)]));
  return [...versions].every(([id, version]) => now.get(id) === version);
}

/** Ids of the application's functions that expressions call. */
function functionsOf(expressions: readonly Expr[]): readonly string[] {
  const ids = new Set<string>();
  for (const expr of expressions) {
    visit(expr, (node) => {
      if (node.node === "udf") ids.add(node.function);
      if ((node.node === "aggregate" || node.node === "window") && node.is_udf) ids.add(node.fn);
    });
  }
  return [...ids];
}

function outOfTime(ms: number, cause: unknown): Error {
  return appError("query_timeout", {
    detail: `The query ${REQUEST_QUERY} worked longer than its timeout_ms of ${ms} ms.`,
    hint: "Request less, or send a greater timeout_ms.",
    meta: { limit: "timeout_ms", value: ms },
    cause,
  });
}
