import type { Expr } from "@appdb/contract/expressions";
import type { ColumnType, EngineValue } from "@appdb/contract/types";
import type {
  FoldArgument,
  FunctionCounts,
  GraphFunction,
  GraphStep,
  HttpFailure,
  HttpHead,
  HttpHeaders,
  WorkerError,
} from "@appdb/contract/worker-protocol";
import type { NotePart } from "./timing.ts";

/** A statement for PostgreSQL. `name` makes it a prepared statement of the connection. */
export interface Statement {
  readonly text: string;
  readonly values?: readonly unknown[];
  readonly name?: string;
  /** Bytes that the rows of the result may have; a larger one is not read to its end. */
  readonly most_bytes?: number;
  /**
   * Takes each row as it comes, in place of the result's `rows`: `bytes` from `start` to `end` are the number of fields (2
   * bytes, big-endian) and for each field its length (4 bytes; -1 for null) and PostgreSQL's text of it. They are lent for
   * the time of the call. It must not throw.
   */
  readonly take_row?: (bytes: Buffer, start: number, end: number) => void;
  /**
   * Says that what was taken counts no more: the rows come again from the first. Whoever has this, and a name, may go to
   * PostgreSQL together with others, each still a transaction of its own; it must only read.
   */
  readonly restart?: () => void;
  /** Cancels the statement, which then throws SqlError 57014. */
  readonly signal?: AbortSignal | undefined;
}

/** A result had more bytes than the statement allowed. */
export class ResultTooLarge extends Error {
  readonly most_bytes: number;

  constructor(mostBytes: number) {
    super(`the result has more than ${mostBytes} bytes`);
    this.name = "ResultTooLarge";
    this.most_bytes = mostBytes;
  }
}

/** Rows as arrays of PostgreSQL's own text form, null for null: the engine decodes by the column's type. */
export interface SqlResult {
  readonly rows: readonly (readonly (string | null)[])[];
  readonly row_count: number;
}

/** Runs statements on one connection, in order. */
export interface SqlConnection {
  /** @throws SqlError with the SQLSTATE when PostgreSQL refuses; `AppError` database_unavailable when the connection is gone
   *  before the statement was sent; `AppError` commit_unknown when it broke while a statement was running;
   *  ResultTooLarge, and the connection is closed. */
  query(statement: Statement): Promise<SqlResult>;
}

/** A connection between BEGIN and COMMIT. */
export interface SqlTransaction extends SqlConnection {
  /** Runs `COPY ... FROM STDIN` with `rows` in PostgreSQL's text format, texts of whole rows, which are asked for as fast as
   *  PostgreSQL takes them; gives how many they were. What `rows` throws ends it.
   *  @throws as `query`; the SqlError has the line of the refused row */
  copy(text: string, rows: Iterable<string> | AsyncIterable<string>): Promise<number>;
}

/** A pool of connections to one database, session settings `timezone=UTC`, `datestyle=ISO`, `extra_float_digits=1`,
 *  and searches of vectors that keep enough in sight (`hnsw.ef_search`). */
export interface SqlPool extends SqlConnection, AsyncDisposable {
  /** Lends one connection for the time of `work`; it is closed rather than reused when `work` throws a lost connection. */
  withConnection<T>(work: (connection: SqlConnection) => Promise<T>): Promise<T>;
  /** Runs `work` between BEGIN and COMMIT; ROLLBACK when it throws. `settings` are statements that go along with BEGIN. */
  transaction<T>(work: (connection: SqlTransaction) => Promise<T>, settings?: string): Promise<T>;
  /** Calls back for each NOTIFY on `channel` until the signal aborts; reconnects by itself and then calls once with "".
   *  Resolves as soon as it listens. @throws AppError database_unavailable when the first connection cannot be had */
  listen(channel: string, onNotify: (payload: string) => void, signal: AbortSignal): Promise<void>;
}

/** What PostgreSQL said, with its SQLSTATE. Never shown to a user as it is. */
export class SqlError extends Error {
  readonly sqlstate: string;
  readonly constraint: string | undefined;
  readonly column: string | undefined;
  /** Of a COPY: the refused row, from 1. */
  readonly line: number | undefined;

  constructor(
    message: string,
    fields: {
      sqlstate: string;
      constraint?: string | undefined;
      column?: string | undefined;
      line?: number | undefined;
      cause?: unknown;
    },
  ) {
    super(message, { cause: fields.cause });
    this.name = "SqlError";
    this.sqlstate = fields.sqlstate;
    this.constraint = fields.constraint;
    this.column = fields.column;
    this.line = fields.line;
  }
}

/** A computation over rows that Python runs: computed columns in an order in which each reads inputs and earlier steps. */
export interface UdfGraph {
  /** Same key, same graph; a runner defines it once per worker. */
  readonly key: string;
  readonly inputs: readonly { name: string; type: ColumnType; nullable: boolean }[];
  readonly steps: readonly GraphStep[];
  readonly functions: readonly GraphFunction[];
}

/** Why a row or a cell has no value. `died` comes from the runner, `timeout` and `memory` from either, the rest from the worker. */
export interface UdfError extends Omit<WorkerError, "kind"> {
  readonly kind: WorkerError["kind"] | "died";
}

/** Values of the graph's steps for one row, each already as its column stores it; `errors` by step name. */
export interface UdfResult {
  readonly values: readonly EngineValue[];
  readonly errors: Readonly<Record<string, UdfError>> | null;
}

/** Rows that were handed over together and are on their way. What is ready stays as it is. */
export interface UdfBatch {
  /** Rows from the first one on that all have their result. */
  readonly ready: number;
  /** `columns[s][k]`: the value of step s for row k, of those that are ready. */
  readonly columns: readonly (readonly EngineValue[])[];
  /** The errors of rows that have some, by the row's place, then by step name; in no order. */
  readonly errors: ReadonlyMap<number, Readonly<Record<string, UdfError>>>;
  /** Resolves when all rows have their result, or `ms` have passed.
   *  @throws AppError worker_unavailable, overloaded; the abort's reason */
  wait(ms: number, signal: AbortSignal): Promise<void>;
}

/** An aggregate of the application (`@uda`) over the rows of groups: what `UdfRunner.fold` takes. */
export interface UdfAggregation {
  readonly function: GraphFunction;
  /** Type of the aggregate's value. */
  readonly result: ColumnType;
  /** What each row brings: the `aggregate` node's args (`name` null), then those of its kwargs that are no literals. */
  readonly args: readonly FoldArgument[];
  /** The kwargs that are literals, as nodes; parameters of a query are replaced by their values before. */
  readonly constants: Readonly<Record<string, Expr>>;
}

/** An aggregation under way. Its state lives in one worker: when that ends, the fold fails as a whole. */
export interface UdfFold extends AsyncDisposable {
  /** Takes rows: row k belongs to group `groups[k]` (whole numbers of the caller's choice), `columns[i][k]` is its argument
   *  i. Resolves when more may be sent. @throws AppError worker_died, worker_out_of_memory, function_timeout */
  add(groups: readonly number[], columns: readonly (readonly EngineValue[])[]): Promise<void>;
  /** Ends the fold: the value or the error of each group that had rows, and of the `groups` named here.
   *  @throws as `add` */
  finish(groups: readonly number[]): Promise<ReadonlyMap<number, UdfFolded>>;
}

export interface UdfFolded {
  readonly value: EngineValue;
  readonly error: UdfError | null;
}

/** Answers a query that a computed column asks: the value of its `query` node, which is JSON text of a list.
 *  An AppError that it throws is what the cell is told. */
export type QueryAnswerer = (query: string, args: Readonly<Record<string, EngineValue>>) => Promise<EngineValue>;

export interface UdfStats {
  /** Workers that take rows. */
  readonly workers: number;
  readonly waiting: number;
  readonly running: number;
  /** Rows that were answered. */
  readonly calls: number;
  readonly restarts: number;
  /** By function id, since the runner was made; a second late. */
  readonly functions: Readonly<Record<string, FunctionCounts>>;
  /** By name: calls that run, calls that wait for room. */
  readonly pools: Readonly<Record<string, { readonly running: number; readonly waiting: number }>>;
}

/**
 * Runs graphs in Python. Rows of many callers are sent together in chunks that adapt to how long they take; results
 * come back per row. Rows of a chunk whose worker died run again one by one; the culprit alone is charged.
 */
export interface UdfRunner extends AsyncDisposable {
  /** Runs one row. Resolves also when the function failed (see `errors`).
   *  @throws AppError worker_unavailable when no worker can be started, with the reason; overloaded when too many rows wait */
  run(graph: UdfGraph, row: readonly EngineValue[], signal?: AbortSignal): Promise<UdfResult>;
  /** Runs `rows` rows that come column-wise, `columns[i][k]` being row k's input i, at a cost per row that is a fraction of
   *  `run`'s. They go behind rows that callers wait for one by one. */
  runBatch(graph: UdfGraph, columns: readonly (readonly EngineValue[])[], rows: number): UdfBatch;
  /** Starts the workers ahead of the first call. */
  start(): Promise<void>;
  /** Begins an aggregation in one of the workers, starting it if need be.
   *  @throws AppError worker_unavailable, overloaded; function_missing when the code has no such aggregate */
  fold(aggregation: UdfAggregation): Promise<UdfFold>;
  /** Numbers for `/metrics` and for deciding how many rows to hand over at once. */
  stats(): UdfStats;
}

/** A request for a function of the application, or for its application object. */
export interface HandlerRequest {
  readonly head: HttpHead;
  /** The handler that answers; null: the application object. */
  readonly handler: GraphFunction | null;
  /** How long it may take to begin its answer; null: as long as any function. */
  readonly timeout_ms: number | null;
  readonly body: Uint8Array | AsyncIterable<Uint8Array>;
  /** Ends the handler when the caller is gone. */
  readonly signal?: AbortSignal | undefined;
}

export interface HandlerAnswer {
  readonly status: number;
  readonly headers: HttpHeaders;
  /** Whole, or in pieces as they come. Iteration throws when the answer breaks off; leaving it early ends the handler. */
  readonly body: Uint8Array | AsyncIterable<Uint8Array>;
}

/** The application refused a request in its own words, or could not answer it. */
export class HandlerFailed extends Error {
  readonly failure: HttpFailure;

  constructor(failure: HttpFailure) {
    super(failure.detail);
    this.name = "HandlerFailed";
    this.failure = failure;
  }
}

/**
 * Runs hand-written handlers in Python, in processes of their own, so that none of them holds up or ends what computes
 * rows. Many requests are under way in each. A request whose process ends is not sent again: what it has done is unknown.
 */
export interface HandlerRunner extends AsyncDisposable {
  /** Resolves when the answer begins. @throws HandlerFailed; AppError function_timeout, worker_died, worker_unavailable,
   *  overloaded; the abort's reason */
  serve(request: HandlerRequest): Promise<HandlerAnswer>;
  /** Starts the processes ahead of the first request. */
  start(): Promise<void>;
}

/** Milliseconds since the epoch; injected so that tests move time. */
export interface Clock {
  now(): number;
}

/** A structured logger; pino fits. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** Bytes that are written now and read later, of any size, in little memory. Disposing lets go of it. */
export interface Spool extends AsyncDisposable {
  /** Written so far; text as UTF-8. */
  readonly bytes: number;
  /** Resolves when more may be written. @throws AppError disk_full */
  write(piece: string | Uint8Array): Promise<void>;
  /** Gives all that was written, once. */
  read(): AsyncIterable<Uint8Array>;
}

/** Takes down for collectors of traces how requests were answered. */
export interface RequestTracer {
  /** Begins the trace of a request: part of the one that its headers name (W3C Trace Context), else a new one. Undefined when it is not sampled. */
  begin(request: TracedRequest): RequestTrace | undefined;
}

export interface TracedRequest {
  readonly service: string;
  readonly method: string;
  /** The route's path, with `{name}` where a value stands. */
  readonly route: string;
  readonly id: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

export interface RequestTrace {
  /** Names this trace to whoever the request is passed on to. */
  readonly traceparent: string;
  /** A wait within the request, as it ends. */
  readonly note: NotePart;
  end(status: number): void;
}
