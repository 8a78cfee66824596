import { appError } from "@appdb/contract/errors";
import { limitVariable } from "@appdb/contract/service-limits";

/** The limits of a service's queries; contract/src/service-spec.ts has the defaults. */
export interface QueryLimits {
  readonly statement_timeout_ms: number;
  readonly result_rows: number;
  readonly result_bytes: number;
  /** Rows that queries hold at a time because Python computes a value before sorting or grouping. */
  readonly rows_in_flight: number;
  /** Maximum number of live query streams, and bytes of all their results. */
  readonly live_queries: number;
  readonly live_bytes: number;
}

export function timedOut(query: string, limits: QueryLimits, cause: unknown): Error {
  return appError("query_timeout", {
    detail: `The query ${query} exceeded the statement timeout of ${limits.statement_timeout_ms} ms.`,
    hint: `Request less, add an index (cli query explain shows the plan), or raise ${limitVariable("statement_timeout_ms")}.`,
    meta: { query, limit: "statement_timeout_ms", value: limits.statement_timeout_ms },
    cause,
  });
}

/** The same for a row that is being stored or computed. */
export function rowTimedOut(table: string, limits: Pick<QueryLimits, "statement_timeout_ms">, cause: unknown): Error {
  const { statement_timeout_ms: max } = limits;
  return appError("query_timeout", {
    detail: `The statement for a row of ${table} exceeded the statement timeout of ${max} ms. Nothing was stored.`,
    hint: `The table is locked or the database is busy (psql: select * from pg_stat_activity). Send the request again later, or raise ${limitVariable("statement_timeout_ms")}.`,
    meta: { table, limit: "statement_timeout_ms", value: max },
    cause,
  });
}

export function tooManyRows(query: string, limits: QueryLimits): Error {
  return appError("result_too_large", {
    detail: `The query ${query} has more than ${limits.result_rows} rows, the maximum of a result.`,
    hint: `Take fewer with limit(n, offset), or raise ${limitVariable("result_rows")}.`,
    meta: { query, limit: "result_rows", value: limits.result_rows },
  });
}

export function tooManyBytes(query: string, limits: QueryLimits, cause?: unknown): Error {
  return appError("result_too_large", {
    detail: `The result of the query ${query} exceeds ${limits.result_bytes} bytes, the maximum of a result.`,
    hint: `Take fewer rows or columns, or raise ${limitVariable("result_bytes")}. A hosted database below 1,024 MB needs more memory_mb.`,
    meta: { query, limit: "result_bytes", value: limits.result_bytes },
    cause,
  });
}

/** Counts the rows that the queries of one service hold for Python. */
export class RowsInFlight {
  readonly #limits: QueryLimits;
  #count = 0;

  constructor(limits: QueryLimits) {
    this.#limits = limits;
  }

  /** @throws result_too_large when one query alone would exceed the limit; overloaded when all queries together
   *  would */
  take(query: string, rows: number, ofQuery: number): void {
    const { rows_in_flight: rowsInFlight } = this.#limits;
    if (ofQuery > rowsInFlight) {
      throw appError("result_too_large", {
        detail: `The query ${query} needs Python for more than ${rowsInFlight} rows before it can sort, group or count them.`,
        hint: `Filter more rows with expressions that have an SQL form (cli query explain), store the value as a computed column, or raise ${limitVariable("rows_in_flight")}.`,
        meta: { query, limit: "rows_in_flight", value: rowsInFlight },
      });
    }
    if (this.#count + rows > rowsInFlight) {
      throw appError("overloaded", {
        detail: `Queries already hold ${this.#count} rows for Python; the limit is ${rowsInFlight}.`,
        hint: `Send the request again in a moment, or raise ${limitVariable("rows_in_flight")}.`,
        meta: { limit: "rows_in_flight", value: rowsInFlight },
      });
    }
    this.#count += rows;
  }

  give(rows: number): void {
    this.#count -= rows;
  }
}
