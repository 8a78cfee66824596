import { DEFAULT_LIMITS } from "@appdb/contract/service-spec";

export type LimitName = keyof typeof DEFAULT_LIMITS;

/** What happens at each limit of a service. The compiler asks for a line when a limit is added. */
export const LIMIT_MEANINGS: Record<LimitName, string> = {
  workers:
    "Python processes of a service; rows of functions wait their turn. `workers` of the local database in service.toml goes before it",
  function_timeout_ms:
    "time of one row in a function, in ms; past it the request gets `function_timeout` and the worker is replaced",
  worker_memory_mb:
    "memory of a worker, in MB; past it the request gets `worker_out_of_memory` and the worker is replaced",
  body_bytes:
    "largest request body, and longest line of one that is read line by line, in bytes; past it `payload_too_large`",
  connections: "connections of a service to PostgreSQL",
  statement_timeout_ms: "time of one statement, in ms; past it the request gets `query_timeout`",
  insert_rows: "rows that one request may insert; past it `payload_too_large`",
  result_rows: "rows of a query's answer; past it `result_too_large`",
  result_bytes: "bytes of a query's answer; past it `result_too_large`",
  route_requests:
    "requests of one route that wait for their answer at a time, in one process of a service; past it `overloaded`, and other routes go on",
  rows_in_flight:
    "rows that queries hold while Python computes what they are filtered, sorted or grouped by; past it `result_too_large` for one query, `overloaded` for all together",
  live_queries: "streams of live queries that are open at a time; past it `overloaded`",
  live_bytes:
    "bytes of the answers of all live queries together; past it `overloaded` for the stream that is opened or grows",
  idempotency_keep_s:
    "time for which the answer of a request with an `Idempotency-Key` is kept, in s; a repetition after that is a new request",
  background_jobs: "background jobs of a service that have not ended; past it `overloaded`",
  background_at_once: "background jobs that one service process works on at a time",
};

export const LIMIT_NAMES = Object.keys(DEFAULT_LIMITS) as LimitName[];
