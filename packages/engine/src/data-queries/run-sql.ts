import type { Catalog } from "../catalog/catalog.ts";
import { requireFolder } from "../catalog/require-folder.ts";
import { STRING_TYPE } from "../kinds/kinds.ts";
import { hasJson, sqlColumns } from "../kinds/results/sql-columns.ts";
import type { SqlConnection, SqlPool, SqlTransaction, Statement } from "../ports.ts";
import type { QueryLimits } from "../sql/query-limits.ts";
import { readInt32 } from "../sql/read-int32.ts";
import { checkStatement, explainSqlRefusal, outOfTime } from "./explain-sql.ts";
import { nameTables } from "./name-tables.ts";
import { ResultMessages } from "./result-messages.ts";
import type { RowsFormat, RowsWriter } from "./rows-format.ts";
import { streamRows } from "./stream-rows.ts";
import { WorkClock } from "./work-clock.ts";

export interface SqlRunDeps {
  /** Connections of a role that can only read, each for one statement. */
  readonly sql: SqlPool;
  /** Connections of the owner. */
  readonly owner: SqlConnection;
  readonly limits: QueryLimits;
  /** The role's maximum of temporary files. */
  readonly temp_mb: number;
  /** Loads the catalog, whose tables the role may then read. */
  loadCatalog(): Promise<Catalog>;
}

export interface SqlRunInput {
  readonly sql: string;
  readonly folder: string;
  readonly limit: number | undefined;
  readonly timeout_ms: number | undefined;
  /** Sends the plan instead of the rows. */
  readonly explain: boolean;
  readonly format: RowsFormat;
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal;
  /** Sends a message; resolves when the client takes more. The first one has the columns. */
  send(message: Uint8Array): Promise<void>;
}

/** Statements of people that run at a time in a database. */
export const MAX_STATEMENTS = 2;
/** A statement whose cancel did not arrive ends after this time. Clients that read slowly have so much time. */
const BEGIN = "set transaction read only; set local statement_timeout = '1h'";

/**
 * Runs a statement of a person, and sends its rows as they arrive, in constant memory. The time in which the client
 * reads does not count towards the statement's.
 * @throws sql_refused, table_not_found, folder_not_found, query_timeout, result_too_large, database_unavailable, interrupted
 */
export async function runSql(deps: SqlRunDeps, input: SqlRunInput): Promise<void> {
  const { limits, temp_mb: tempMb } = deps;
  const sql = withoutEnd(input.sql);
  checkStatement(sql);
  const ms = Math.min(input.timeout_ms ?? limits.statement_timeout_ms, limits.statement_timeout_ms);
  const clock = new WorkClock({ total_ms: ms, piece_ms: ms }, input.signal);
  const result = new ResultMessages({ openFiles }, input);
  const catalog = await deps.loadCatalog();
  await requireFolder(deps.owner, catalog, input.folder);
  const before = `${input.explain ? "explain " : ""}${nameTables(catalog, input.folder, sql)}select * from (`;
  const text = `${before}${sql}\n) as "statement"`;
  try {
    await deps.sql.transaction(
      (connection) =>
        input.explain
          ? readPlan(connection, { text, clock, result })
          : readRows(connection, { text, clock, result, limit: input.limit, watch: deps.owner }),
      BEGIN,
    );
  } catch (error) {
    if (clock.ended !== undefined) throw outOfTime(ms, error);
    throw explainSqlRefusal(error, { sql, before, temp_mb: tempMb, signal: clock.signal });
  }
}

/** The statement without semicolons and spaces at its end. */
function withoutEnd(sql: string): string {
  let end = sql.length;
  while (end > 0 && /[;\s]/.test(sql.charAt(end - 1))) end -= 1;
  return sql.slice(0, end);
}

interface Reading {
  readonly text: string;
  readonly clock: WorkClock;
  readonly result: ResultMessages;
  readonly limit: number | undefined;
  readonly watch: SqlConnection;
}

async function readRows(connection: SqlTransaction, { text, clock, result, limit, watch }: Reading): Promise<void> {
  const { signal } = clock;
  // a statement with a name is one statement: PostgreSQL refuses several
  const described = { text: `${text} limit 0`, name: "columns", describes: true, signal };
  const { fields = [] } = await clock.measure(() => connection.query(described));
  const columns = sqlColumns(fields);
  const writer = await result.begin(columns);
  const sent = result.sent(limit === undefined ? text : `${text} limit ${limit + 1}`, columns);
  const takeRow = joiningLines(writer, columns);
  const beyond = await streamRows(
    connection,
    { ...sent, name: "rows" },
    { clock, result, writer, take_row: takeRow, limit, watch },
  );
  await result.finish(beyond > 0);
}

/** Sends the lines of PostgreSQL's plan. The statement does not run. */
async function readPlan(
  connection: SqlTransaction,
  { clock, result, text }: Pick<Reading, "clock" | "result" | "text">,
): Promise<void> {
  const { rows } = await clock.measure(() => connection.query({ text, name: "plan", signal: clock.signal }));
  const writer = await result.begin([{ name: "plan", type: STRING_TYPE, nullable: false }]);
  for (const [line = null] of rows) writer.takeValues([line]);
  result.count = rows.length;
  await result.finish();
}

const FIELDS_BYTES = 2;
const LENGTH_BYTES = 4;
const SPACE = 0x20;

/** A json value may have several lines, but a row in NDJSON is one line. Strings in JSON have no line breaks. */
function joiningLines(writer: RowsWriter, columns: ReturnType<typeof sqlColumns>): NonNullable<Statement["take_row"]> {
  const isJson = columns.map(hasJson);
  if (!isJson.includes(true)) return writer.take_row;
  return (row, start, end) => {
    let at = start + FIELDS_BYTES;
    for (const isOne of isJson) {
      const length = Math.max(readInt32(row, at), 0);
      at += LENGTH_BYTES;
      for (let byte = at; isOne && byte < at + length; byte++) if ((row[byte] as number) < SPACE) row[byte] = SPACE;
      at += length;
    }
    writer.take_row(row, start, end);
  };
}

async function openFiles(): Promise<never> {
  throw new TypeError("A result of SQL has no columns of media.");
}
