import { appError } from "@appdb/contract/errors";
import { limitVariable } from "@appdb/contract/service-limits";

/** What one service grants its queries; contract/src/service-spec.ts has the defaults. */
export interface QueryLimits {
  readonly statement_timeout_ms: number;
  readonly result_rows: number;
  readonly result_bytes: number;
  /** Rows that queries hold at a time because Python computes something before they are sorted or grouped. */
  readonly rows_in_flight: number;
  /** Streams of live queries, and the bytes of all their answers. */
  readonly live_queries: number;
  readonly live_bytes: number;
}

export function timedOut(query: string, limits: QueryLimits, cause: unknown): Error {
  return appError("query_timeout", {
    detail: `The query ${query} ran past the time limit of a statement, ${limits.statement_timeout_ms} ms.`,
    hint: `Ask for less, add an index (cli query explain shows the plan), or raise ${limitVariable("statement_timeout_ms")}.`,
    meta: { query, limit: "statement_timeout_ms", value: limits.statement_timeout_ms },
    cause,
  });
}

/** The same for a row that is being stored or computed. */
export function rowTimedOut(table: string, limits: Pick<QueryLimits, "statement_timeout_ms">, cause: unknown): Error {
  const { statement_timeout_ms: most } = limits;
  return appError("query_timeout", {
    detail: `The statement for a row of ${table} ran past the time limit of a statement, ${most} ms. Nothing was stored.`,
    hint: `Something holds the table or keeps the database busy (psql: select * from pg_stat_activity). Send the request again later, or raise ${limitVariable("statement_timeout_ms")}.`,
    meta: { table, limit: "statement_timeout_ms", value: most },
    cause,
  });
}

export function tooManyRows(query: string, limits: QueryLimits): Error {
  return appError("result_too_large", {
    detail: `The query ${query} has more than ${limits.result_rows} rows, the most that an answer may have.`,
    hint: `Take fewer with limit(n, offset), or raise ${limitVariable("result_rows")}.`,
    meta: { query, limit: "result_rows", value: limits.result_rows },
  });
}

export function tooManyBytes(query: string, limits: QueryLimits, cause?: unknown): Error {
  return appError("result_too_large", {
    detail: `The query ${query} has a result of more than ${limits.result_bytes} bytes, the most that an answer may have.`,
    hint: `Take fewer rows or columns, or raise ${limitVariable("result_bytes")}.`,
    meta: { query, limit: "result_bytes", value: limits.result_bytes },
    cause,
  });
}

/** Counts the rows that the queries of one service hold for Python. */
export class RowsInFlight {
  readonly #limits: QueryLimits;
  #held = 0;

  constructor(limits: QueryLimits) {
    this.#limits = limits;
  }

  /** @throws result_too_large when one query alone would hold too many; overloaded when all of them would */
  take(query: string, rows: number, ofQuery: number): void {
    const { rows_in_flight: rowsInFlight } = this.#limits;
    if (ofQuery > rowsInFlight) {
      throw appError("result_too_large", {
        detail: `The query ${query} needs Python for more than ${rowsInFlight} rows before it can sort, group or count them.`,
        hint: `Filter more of them with what has an SQL form (cli query explain), store the value as a computed column, or raise ${limitVariable("rows_in_flight")}.`,
        meta: { query, limit: "rows_in_flight", value: rowsInFlight },
      });
    }
    if (this.#held + rows > rowsInFlight) {
      throw appError("overloaded", {
        detail: `Queries hold ${this.#held} rows for Python already; at most ${rowsInFlight} are held at a time.`,
        hint: `Send the request again in a moment, or raise ${limitVariable("rows_in_flight")}.`,
        meta: { limit: "rows_in_flight", value: rowsInFlight },
      });
    }
    this.#held += rows;
  }

  give(rows: number): void {
    this.#held -= rows;
  }
}
