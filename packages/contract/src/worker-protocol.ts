import type { Expr } from "./expressions.ts";
import type { ResourcePool } from "./manifest.ts";
import type { ColumnType, EngineValue } from "./types.ts";

/**
 * The protocol between the engine and a UDF worker (`python -m appdb.worker`), version 1.
 *
 * Transport: the worker's stdin and stdout as the engine sees them, each a stream of frames: 4 bytes big-endian
 * length, then one msgpack value (maps with string keys, `t` names the frame). At its start the worker moves both
 * descriptors away, so that user code reads an empty stdin and prints to stderr, which the engine sends to the log.
 * Frames of both directions interleave freely; `call` numbers are the engine's and unique per process.
 *
 * Values cross as `EngineValue` says (types.ts), arrays as `WireArray`, bytes as msgpack binary. Rows travel column-wise. A float that is integral may arrive as a
 * msgpack integer: the receiver goes by the declared type.
 *
 * Graphs of plain functions run one row after the other, calls in the order of their `run` frames. A graph is concurrent
 * when one of its functions is async, batched or in a resource pool, or when it asks a query: many of its rows are under
 * way at once, beside other calls, and are answered in whatever order they are ready. `ask` numbers are the worker's.
 */
export const WORKER_PROTOCOL = 1;

/**
 * An array: its shape and its elements in C order, as little-endian bytes of its dtype (a bool is one byte), or as texts.
 * Without elements the shape is [0].
 */
export type WireArray = [shape: number[], elements: Uint8Array | string[]];
export type WireValue = EngineValue | WireArray;

export type ToWorker =
  /** First frame. Modules are imported before `ready` is answered. `memory_bytes` bounds the worker's own growth;
   *  `function_timeout_ms` is the limit of an async call without a limit of its own. */
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
  /** The call that asked may begin: its pool has room. */
  | { t: "grant"; ask: number }
  /** The result of a query that was asked for: a value of the node's type, or why there is none. */
  | { t: "answer"; ask: number; value: WireValue; error: QueryError | null }
  /** Begins an aggregation under a call number; `constants` are literals by parameter. */
  | { t: "fold"; call: number; function: GraphFunction; args: FoldArgument[]; constants: Record<string, Expr> }
  /** Rows of an aggregation: row k belongs to group `groups[k]`, `columns[i][k]` is its argument i. */
  | { t: "feed"; call: number; groups: number[]; columns: WireValue[][] }
  /** Ends an aggregation; `groups` are answered even if they had no rows. */
  | { t: "finish"; call: number; groups: number[] }
  /** Forgets an aggregation. */
  | { t: "drop"; call: number }
  /** Begins a request under a call number, with the body's first bytes. */
  | {
      t: "http";
      call: number;
      /** The handler that answers; null: the application object. */
      handler: GraphFunction | null;
      request: HttpHead;
      timeout_s: number;
      data: Uint8Array;
      more: boolean;
    }
  /** More of a request's body. */
  | { t: "http_body"; call: number; data: Uint8Array; more: boolean }
  /** The client took so many bytes of an answer; see `http_data`. */
  | { t: "http_taken"; call: number; bytes: number }
  /** The client is gone, or its request broke off: nobody waits for the answer. */
  | { t: "http_gone"; call: number }
  /** What a route of a router answered that an application object asked, or the problem that it asked for. */
  | { t: "route_answer"; ask: number; status: number; headers: HttpHeaders; data: Uint8Array }
  /** Ends the worker when what it runs now is done. */
  | { t: "exit" };

/** Bytes of one body that may be under way between engine and worker, each way, before the receiver has taken some. */
export const HTTP_WINDOW_BYTES = 1 << 20;

export interface HttpInit {
  /** An ASGI application in the globals of a module; its lifespan begins before `ready`. */
  app: GraphFunction | null;
  /** Largest body that a route of a router in the application takes; the application's own may be of any size. */
  body_bytes: number;
}

/** Names in lower case, values as ISO 8859-1 text, in the order in which they came. */
export type HttpHeaders = [name: string, value: string][];

export interface HttpHead {
  method: string;
  scheme: "http" | "https";
  /** As the client sent it, without what stands behind `?`; a service's own place (`/<service>`) is `root_path`. */
  path: string;
  root_path: string;
  search: string;
  headers: HttpHeaders;
  /** Values of the path's parameters, decoded. */
  params: Record<string, string>;
  client: [host: string, port: number] | null;
  /** Stands in the answer's problem and in the log. */
  id: string;
}

/** Why a request has no answer of the application's. */
export interface HttpFailure {
  /** A code of errors.ts; null for an error that a handler raised to be told, with its own `status`. */
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

/** One computed column, in an order in which each reads inputs and earlier steps only. */
export interface GraphStep extends GraphColumn {
  expr: Expr;
}

export interface GraphFunction {
  id: string;
  module: string;
  name: string;
}

/** An argument that each row of an aggregation brings; `name` is null for a positional one. */
export interface FoldArgument {
  name: string | null;
  type: ColumnType;
  nullable: boolean;
}

/** What the worker found about a function that it imported. */
export interface WorkerFunction {
  id: string;
  /** Runs beside other calls: async, batched, or in a resource pool. */
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

/** Since the last such frame; `running` is how many calls run now. */
export interface FunctionCounts {
  calls: number;
  errors: number;
  rows: number;
  seconds: number;
  retries: number;
  running: number;
}

export type FromWorker =
  /** `missing` names modules that are not there (any other failure of an import is `failed`). */
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
  /** The worker starts row `row` of a call; sent when a chunk's row has run for 5 ms or more, so that the engine knows
   *  which row it was when the worker dies or hangs. */
  | { t: "at"; call: number; row: number }
  /** Results of `rows.length` rows: `columns[s][k]` is the value of step s for row `rows[k]`; `errors[k]` is null or
   *  the errors of that row by step name. Sent at least every 20 ms while rows are ready. */
  | {
      t: "rows";
      call: number;
      rows: number[];
      columns: WireValue[][];
      errors: (Record<string, WorkerError> | null)[] | null;
    }
  /** All rows of the call have been answered. */
  | { t: "done"; call: number }
  /** A call waits for its pool. `attempt` counts from 0; from 1 on the provider has turned the call away, and
   *  `retry_after_s` is the pause that it named. Answered by `grant`. */
  | { t: "acquire"; ask: number; pool: string; attempt: number; retry_after_s: number | null }
  /** The call that was granted has ended. */
  | { t: "release"; ask: number }
  /** A computed column asks a query of the application; answered by `answer`. */
  | {
      t: "query";
      ask: number;
      query: string;
      args: Record<string, WireValue>;
      types: Record<string, ColumnType>;
    }
  /** A function ran past its limit and cannot be stopped: the worker is to be replaced. `call` is null when nobody knows
   *  whose call it was. */
  | { t: "overdue"; call: number | null; row: number; function: string; timeout_s: number }
  /** Sent each second while rows are under way and once when there are none left. */
  | { t: "beat"; functions: Record<string, FunctionCounts> }
  /** An answer begins, with the body's first bytes. */
  | { t: "http_start"; call: number; status: number; headers: HttpHeaders; data: Uint8Array; more: boolean }
  /** More of an answer's body. No more than `HTTP_WINDOW_BYTES` are sent ahead of what was taken. */
  | { t: "http_data"; call: number; data: Uint8Array; more: boolean }
  /** The application took so many bytes of a request's body, of which no more than `HTTP_WINDOW_BYTES` are sent ahead. */
  | { t: "http_taken"; call: number; bytes: number }
  /** There is no answer, or it broke off. The call has ended. */
  | { t: "http_failed"; call: number; failure: HttpFailure }
  /** What a call runs cannot be stopped: the worker is to be replaced. `is_loop`: nothing else in it can go on. */
  | { t: "http_held"; call: number | null; function: string; timeout_s: number; is_loop: boolean }
  /** The application object has a request for a route of a router in it, by the route's id, or a handler changes rows; answered
   *  by `route_answer`. `call`: nobody waits for the answer any more when the client of that one has gone. */
  | { t: "route"; ask: number; route: string; request: HttpHead; data: Uint8Array; call: number | null }
  /** The application object is to answer a failure of a handler in it; answered by `route_answer`. */
  | { t: "problem"; ask: number; failure: HttpFailure; id: string }
  /** The rows of a `feed` have been taken. */
  | { t: "fed"; call: number }
  /** Values of the groups of an aggregation; `errors[k]` is null or why group `groups[k]` has no value. */
  | { t: "folded"; call: number; groups: number[]; values: WireValue[]; errors: (WorkerError | null)[] | null };

/** Why a cell has no value. `kind` `memory` asks for the worker's replacement; `skipped` = a column that it reads failed;
 *  `missing` = the application's code has no such function; `timeout` = an async call was cancelled at its limit. */
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
