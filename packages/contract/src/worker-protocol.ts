import type { Expr } from "./expressions.ts";
import type { ResourcePool } from "./resource-pool.ts";
import type { ColumnType, EngineValue } from "./types.ts";

/**
 * The protocol between the engine and a UDF worker (`python -m appdb.worker`), version 1.
 * Transport: the worker's stdin and stdout, each a stream of frames: 4 bytes big-endian length, then one msgpack value
 * (maps with string keys, `t` names the frame). At its start the worker moves both descriptors. User code then reads an
 * empty stdin and prints to stderr, which the engine sends to the log. Frames of both directions interleave freely; the
 * engine assigns `call` numbers, unique per process.
 * Values are sent as `EngineValue` (types.ts), arrays as `WireArray`, bytes as msgpack binary. Rows are sent by column.
 * An integral float may arrive as a msgpack integer: the receiver uses the declared type.
 * Graphs of plain functions run one row after the other, in the order of their `run` frames. A graph is concurrent when
 * one of its functions is async, batched or in a resource pool, or when it uses a query. Many of its rows then run at
 * once, in parallel with other calls, and finish in any order. The worker assigns `ask` numbers.
 */
export const WORKER_PROTOCOL = 1;

/**
 * An array: its shape and its elements in C order, as little-endian bytes of its dtype (a bool is one byte), or as
 * texts. Without elements the shape is [0].
 */
export type WireArray = [shape: number[], elements: Uint8Array | string[]];
export type WireValue = EngineValue | WireArray;

export type ToWorker =
  /** First frame. Modules are imported before `ready` is sent. `memory_bytes` limits the worker's own growth.
   *  `function_timeout_ms` is the limit of an async call without its own. */
  | {
      t: "init";
      protocol: number;
      project_root: string;
      modules: string[];
      memory_bytes: number;
      function_timeout_ms: number;
      /** The worker answers HTTP requests and nothing else; null: it runs graphs and folds. */
      http: HttpInit | null;
    }
  /** Defines a graph under a number; a later `run` names it. */
  | { t: "graph"; graph: number; inputs: GraphColumn[]; steps: GraphStep[]; functions: GraphFunction[] }
  /** Runs a graph over `n` rows; `columns[i]` has the n values of input i. */
  | { t: "run"; call: number; graph: number; n: number; columns: WireValue[][] }
  /** The waiting call can start: its pool has a free slot. */
  | { t: "grant"; ask: number }
  /** The result of a requested query: a value of the node's type, or the error. */
  | { t: "answer"; ask: number; value: WireValue; error: QueryError | null }
  /** Starts an aggregation under a call number; `constants` are literals by parameter. */
  | {
      t: "fold";
      call: number;
      function: GraphFunction;
      inputs: GraphColumn[];
      args: FoldArgument[];
      /** The iterators that the arguments read again. */
      functions: GraphFunction[];
      constants: Record<string, Expr>;
      /** Rows of a group come together, so a group has ended when another one begins. */
      is_sorted: boolean;
      /** Each row gets the value of its group up to it. */
      is_window: boolean;
    }
  /** Rows of an aggregation: row k belongs to group `groups[k]`, `columns[i][k]` is its input i. */
  | { t: "feed"; call: number; groups: number[]; columns: WireValue[][] }
  /** Ends an aggregation; `groups` get a result even without rows. */
  | { t: "finish"; call: number; groups: number[] }
  /** Discards an aggregation. */
  | { t: "drop"; call: number }
  /** Starts a request under a call number, with the body's first bytes. */
  | {
      t: "http";
      call: number;
      /** The handler that answers; null: the application object. */
      handler: GraphFunction | null;
      request: HttpHead;
      caller: RequestCaller | null;
      timeout_s: number;
      data: Uint8Array;
      more: boolean;
    }
  /** More of a request's body. */
  | { t: "http_body"; call: number; data: Uint8Array; more: boolean }
  /** The client has taken this many bytes of a response; see `http_data`. */
  | { t: "http_taken"; call: number; bytes: number }
  /** The client has disconnected, or its request broke off: no one waits for the response. */
  | { t: "http_gone"; call: number }
  /** The response of a route that the application object called, or a requested problem response. */
  | { t: "route_answer"; ask: number; status: number; headers: HttpHeaders; data: Uint8Array }
  /** Ends the worker after its current work. */
  | { t: "exit" };

/** Maximum unacknowledged bytes of one body between engine and worker, in each direction. */
export const HTTP_WINDOW_BYTES = 1 << 20;

/** The key of a request. */
export interface RequestCaller {
  /** Part of the scope of idempotency keys. */
  readonly id: string;
  /** Whether it may read the media store of the database, so that its requests can name files there. */
  readonly reads_media: boolean;
}

export interface HttpInit {
  /** An ASGI application in the globals of a module; its lifespan starts before `ready`. */
  app: GraphFunction | null;
  /** Largest body of a router's route in the application; the application's own requests are unlimited. */
  body_bytes: number;
}

/** Names in lower case, values as ISO 8859-1 text, in order of arrival. */
export type HttpHeaders = [name: string, value: string][];

export interface HttpHead {
  method: string;
  scheme: "http" | "https";
  /** As the client sent it, without the query string; `root_path` is the service's own path (`/<service>`). */
  path: string;
  root_path: string;
  search: string;
  headers: HttpHeaders;
  /** Decoded values of the path's parameters. */
  params: Record<string, string>;
  client: [host: string, port: number] | null;
  /** Included in the response's problem and in the log. */
  id: string;
}

/** Why a request has no response from the application. */
export interface HttpFailure {
  /** A code of errors.ts; null for an error that a handler raised for the client, with its own `status`. */
  code: string | null;
  status: number | null;
  detail: string;
  hint: string | null;
  headers: HttpHeaders;
  errors: { pointer: string; detail: string }[] | null;
  meta: Record<string, unknown>;
}

export interface GraphColumn {
  name: string;
  type: ColumnType;
  nullable: boolean;
}

/** One computed column, in dependency order: each reads inputs and earlier steps only. */
export interface GraphStep extends GraphColumn {
  expr: Expr;
}

export interface GraphFunction {
  id: string;
  module: string;
  name: string;
}

/** An argument of an aggregation that each row has, over the inputs; `name` is null for a positional one. */
export interface FoldArgument {
  name: string | null;
  expr: Expr;
}

/** The worker's facts on an imported function. */
export interface WorkerFunction {
  id: string;
  /** Runs in parallel with other calls: async, batched, or in a resource pool. */
  is_concurrent: boolean;
  batch_size: number | null;
  timeout_s: number | null;
  resource_pool: string | null;
}

export interface QueryError {
  /** A code of errors.ts. */
  code: string;
  message: string;
}

/** Counts since the last such frame; `running` is the number of calls in progress. */
export interface FunctionCounts {
  calls: number;
  errors: number;
  rows: number;
  seconds: number;
  retries: number;
  running: number;
}

export type FromWorker =
  /** `missing` names missing modules (any other failure of an import is `failed`). */
  | {
      t: "ready";
      protocol: number;
      pid: number;
      python: string;
      functions: WorkerFunction[];
      resource_pools: ResourcePool[];
      missing: Record<string, WorkerError>;
    }
  /** The application's modules could not be imported; the worker ends. */
  | { t: "failed"; error: WorkerError }
  /** The worker runs row `row` of a call. Sent when a chunk's row has run for 5 ms or more, so that the engine knows
   *  the row if the worker dies or hangs. Sent again when another step or function of the row runs; null if unknown. */
  | { t: "at"; call: number; row: number; step: number | null; function: string | null }
  /** Results of `rows.length` rows: `columns[s][k]` is the value of step s for row `rows[k]`; `errors[k]` is null or
   *  the errors of that row by step name. Sent at least every 20 ms while rows finish. */
  | {
      t: "rows";
      call: number;
      rows: number[];
      columns: WireValue[][];
      errors: (Record<string, WorkerError> | null)[] | null;
    }
  /** All rows of the call have results. */
  | { t: "done"; call: number }
  /** A call waits for its pool. `attempt` counts from 0. From 1 on, the provider has refused the call, and
   *  `retry_after_s` is its requested pause. The answer is `grant`. */
  | { t: "acquire"; ask: number; pool: string; attempt: number; retry_after_s: number | null }
  /** The granted call has ended. */
  | { t: "release"; ask: number }
  /** A computed column requests a query of the application; the answer is `answer`. */
  | {
      t: "query";
      ask: number;
      query: string;
      args: Record<string, WireValue>;
      types: Record<string, ColumnType>;
    }
  /** A function exceeded its limit and cannot be stopped: replace the worker. `call` is null when the caller is
   *  unknown. */
  | { t: "overdue"; call: number | null; row: number; function: string; timeout_s: number }
  /** Sent each second while rows run, and once after the last row. */
  | { t: "beat"; functions: Record<string, FunctionCounts> }
  /** A response starts, with the body's first bytes. */
  | { t: "http_start"; call: number; status: number; headers: HttpHeaders; data: Uint8Array; more: boolean }
  /** More of a response's body. At most `HTTP_WINDOW_BYTES` are sent before an acknowledgement. */
  | { t: "http_data"; call: number; data: Uint8Array; more: boolean }
  /** The application has taken this many bytes of a request's body, of which at most `HTTP_WINDOW_BYTES` are sent
   *  ahead. */
  | { t: "http_taken"; call: number; bytes: number }
  /** The response is missing or broke off. The call has ended. */
  | { t: "http_failed"; call: number; failure: HttpFailure }
  /** A call cannot be stopped: replace the worker. `is_loop`: it blocks everything else in the worker. */
  | { t: "http_held"; call: number | null; function: string; timeout_s: number; is_loop: boolean }
  /** The application object requests a router's route by its id, or a handler changes rows; the answer is
   *  `route_answer`. `call`: when its client disconnects, no one waits for the answer. `caller`: of the request that the
   *  object passes on; null for rows that the application's code changes itself. */
  | {
      t: "route";
      ask: number;
      route: string;
      request: HttpHead;
      caller: RequestCaller | null;
      data: Uint8Array;
      call: number | null;
    }
  /** The application object asks for the response to a handler's failure; the answer is `route_answer`. */
  | { t: "problem"; ask: number; failure: HttpFailure; id: string }
  /** The rows of a `feed` have been taken. For a window: the value of each, or its error. */
  | { t: "fed"; call: number; values: WireValue[]; errors: (WorkerError | null)[] | null }
  /** Values of the groups of an aggregation; `errors[k]` is null or the error of group `groups[k]`. */
  | { t: "folded"; call: number; groups: number[]; values: WireValue[]; errors: (WorkerError | null)[] | null };

/** The reason for the missing value of a cell. `kind`: `memory` asks for the worker's replacement; `skipped`: a
 *  column that it reads failed; `missing`: the application's code lacks the function; `timeout`: an async call was
 *  cancelled at its limit. */
export interface WorkerError {
  kind: "raised" | "wrong_type" | "memory" | "skipped" | "import" | "missing" | "timeout";
  /** Function or operator: `app:excerpt`, `op.truediv`. */
  function: string;
  /** Exception class name: `ZeroDivisionError`. */
  type: string;
  message: string;
  /** Where it was raised, in the application's own files: `udfs.py:12`; null when unknown. */
  at: string | null;
}
