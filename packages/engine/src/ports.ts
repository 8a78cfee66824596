import type { Expr } from "@appdb/contract/expressions";
import type { ColumnType, EngineValue, MediaKind } from "@appdb/contract/types";
import type {
  FoldArgument,
  FunctionCounts,
  GraphFunction,
  GraphStep,
  WorkerError,
} from "@appdb/contract/worker-protocol";

/** A statement for PostgreSQL. `name` makes it a prepared statement of the connection. */
export interface Statement {
  readonly text: string;
  readonly values?: readonly unknown[];
  readonly name?: string;
  /** Maximum bytes of the result's rows. A larger result is not read to its end. */
  readonly max_bytes?: number;
  /**
   * Takes each row on arrival, instead of the result's `rows`. `bytes` from `start` to `end` hold the number of fields
   * (2 bytes, big-endian). Each field follows as its length (4 bytes; -1 for null) and PostgreSQL's text. The bytes are
   * only valid during the call. If it throws, the statement is cancelled and fails with that error.
   */
  readonly take_row?: (bytes: Buffer, start: number, end: number) => void;
  /** With `take_row`: called for each piece that arrived. No more are read from PostgreSQL until its promise settles. */
  readonly pause?: () => Promise<void> | undefined;
  /** With `take_row`: fields have PostgreSQL's binary format. */
  readonly is_binary?: boolean;
  /**
   * Discards the rows taken so far: they are sent again from the first. A statement with this and a name can be
   * pipelined with others, each in its own transaction. It must only read.
   */
  readonly restart?: () => void;
  /** Whether the result has its `fields`. Not together with `take_row`. */
  readonly describes?: boolean;
  /** Cancels the statement, which then throws SqlError 57014. */
  readonly signal?: AbortSignal | undefined;
}

/** A result exceeded the statement's maximum bytes. */
export class ResultTooLarge extends Error {
  readonly max_bytes: number;
  /** The first rows that have no more bytes; undefined where they were not counted. */
  readonly fitting_rows: number | undefined;

  constructor(maxBytes: number, fittingRows?: number) {
    super(`the result has more than ${maxBytes} bytes`);
    this.name = "ResultTooLarge";
    this.max_bytes = maxBytes;
    this.fitting_rows = fittingRows;
  }
}

/** Rows as arrays of PostgreSQL's text form, null for null. The engine decodes them by the column's type. */
export interface SqlResult {
  readonly rows: readonly (readonly (string | null)[])[];
  readonly row_count: number;
  /** The columns, for a statement that describes them. */
  readonly fields?: readonly SqlField[];
}

export interface SqlField {
  readonly name: string;
  /** PostgreSQL's number of the type. */
  readonly type_oid: number;
}

/** Runs statements on one connection, in order. */
export interface SqlConnection {
  /** @throws SqlError with the SQLSTATE when PostgreSQL refuses; `AppError` database_unavailable when the connection
   *  broke before the statement was sent; `AppError` commit_unknown when it broke while a statement was running;
   *  ResultTooLarge, and the connection is closed. */
  query(statement: Statement): Promise<SqlResult>;
}

/** A connection between BEGIN and COMMIT. */
export interface SqlTransaction extends SqlConnection {
  /** The number of PostgreSQL's process. */
  readonly process: string;
  /** Runs `COPY ... FROM STDIN` with `rows`, texts of whole rows in PostgreSQL's text format, or bytes in its binary
   *  format. They are pulled as fast as PostgreSQL takes them. Returns their number. An error of `rows` ends it.
   *  @throws as `query`; the SqlError has the line of the refused row */
  copy(text: string, rows: CopyRows): Promise<number>;
}

export type CopyRows = Iterable<string | Buffer> | AsyncIterable<string | Buffer>;

/** A pool of connections to one database with session settings `timezone=UTC`, `datestyle=ISO`,
 *  `extra_float_digits=1`. Vector searches use `hnsw.ef_search` of the engine. */
export interface SqlPool extends SqlConnection, AsyncDisposable {
  /** Lends a connection to `work`. It is closed instead of reused when `work` throws a lost connection. */
  withConnection<T>(work: (connection: SqlConnection) => Promise<T>): Promise<T>;
  /** Runs `work` between BEGIN and COMMIT, with ROLLBACK when it throws. `settings` are statements that run with
   *  BEGIN. */
  transaction<T>(work: (connection: SqlTransaction) => Promise<T>, settings?: string): Promise<T>;
  /** Calls back for each NOTIFY on `channel` until the signal aborts. Reconnects automatically and then calls once
   *  with "". Resolves when it is listening. @throws AppError database_unavailable when the first connection fails */
  listen(channel: string, onNotify: (payload: string) => void, signal: AbortSignal): Promise<void>;
}

/** PostgreSQL's error with its SQLSTATE. Never shown to a user directly. */
export class SqlError extends Error {
  readonly sqlstate: string;
  readonly constraint: string | undefined;
  readonly column: string | undefined;
  /** For a COPY: the refused row, from 1. */
  readonly line: number | undefined;
  /** Where the statement is wrong, in characters from 1. */
  readonly position: number | undefined;
  readonly hint: string | undefined;

  constructor(
    message: string,
    fields: {
      sqlstate: string;
      constraint?: string | undefined;
      column?: string | undefined;
      line?: number | undefined;
      position?: number | undefined;
      hint?: string | undefined;
      cause?: unknown;
    },
  ) {
    super(message, { cause: fields.cause });
    this.name = "SqlError";
    this.sqlstate = fields.sqlstate;
    this.constraint = fields.constraint;
    this.column = fields.column;
    this.line = fields.line;
    this.position = fields.position;
    this.hint = fields.hint;
  }
}

/** A computation in Python over rows: computed columns in dependency order. Each reads inputs and earlier steps. */
export interface UdfGraph {
  /** Equal keys mean equal graphs. A runner defines a graph once per worker. */
  readonly key: string;
  readonly inputs: readonly { name: string; type: ColumnType; nullable: boolean }[];
  readonly steps: readonly GraphStep[];
  readonly functions: readonly GraphFunction[];
}

/** The reason for the missing value of a row or cell. `died` comes from the runner, `timeout` and `memory` from
 *  either, the rest from the worker. */
export interface UdfError extends Omit<WorkerError, "kind"> {
  readonly kind: WorkerError["kind"] | "died";
}

/** Values of the graph's steps for one row, each in its column's stored form; `errors` by step name. */
export interface UdfResult {
  readonly values: readonly EngineValue[];
  readonly errors: Readonly<Record<string, UdfError>> | null;
}

/** Rows that were submitted together and are in progress. Finished results do not change. */
export interface UdfBatch {
  /** Number of rows, from the first, that all have their result. */
  readonly ready: number;
  /** `columns[s][k]`: the value of step s for row k, for finished rows. */
  readonly columns: readonly (readonly EngineValue[])[];
  /** The errors of rows, by row index, then by step name; unordered. */
  readonly errors: ReadonlyMap<number, Readonly<Record<string, UdfError>>>;
  /** Resolves when all rows have their result, or after `ms`.
   *  @throws AppError worker_unavailable, overloaded; the abort's reason */
  wait(ms: number, signal: AbortSignal): Promise<void>;
  /** Drops the rows that have not begun. The caller no longer waits for the batch. */
  drop(): void;
}

/** An application aggregate (`@uda`) over the rows of groups, as input of `UdfRunner.fold`. */
export interface UdfAggregation {
  readonly function: GraphFunction;
  /** Type of the aggregate's value. */
  readonly result: ColumnType;
  readonly inputs: UdfGraph["inputs"];
  /** The arguments from each row, over the inputs: the node's args (`name` null), then its kwargs that are not literals. */
  readonly args: readonly FoldArgument[];
  /** The iterators that the arguments read again. */
  readonly functions: readonly GraphFunction[];
  /** Rows of a group are added together: a group has ended when another one begins. */
  readonly is_sorted: boolean;
  /** `add` returns the value of each row's group up to the row. */
  readonly is_window: boolean;
  /** The kwargs that are literals, as nodes. Query parameters have been replaced by their values. */
  readonly constants: Readonly<Record<string, Expr>>;
}

/** An aggregation in progress. Its state lives in one worker. If that ends, the whole fold fails. */
export interface UdfFold extends AsyncDisposable {
  /** Takes rows: row k belongs to group `groups[k]` (integers chosen by the caller), `columns[i][k]` is its input i.
   *  Resolves when more may be sent, with a value for each row if it is a window, else with none.
   *  @throws AppError worker_died, worker_out_of_memory, function_timeout */
  add(groups: readonly number[], columns: readonly (readonly EngineValue[])[]): Promise<readonly UdfFolded[]>;
  /** Ends the fold. Returns the value or the error of each group with rows, and of the `groups` given here.
   *  @throws as `add` */
  finish(groups: readonly number[]): Promise<ReadonlyMap<number, UdfFolded>>;
}

export interface UdfFolded {
  readonly value: EngineValue;
  readonly error: UdfError | null;
}

/** Runs a query of a computed column and returns the value of its `query` node, the JSON text of a list. An AppError
 *  becomes the cell's error. */
export type QueryAnswerer = (query: string, args: Readonly<Record<string, EngineValue>>) => Promise<EngineValue>;

export interface UdfStats {
  /** Workers that take rows. */
  readonly workers: number;
  readonly waiting: number;
  readonly running: number;
  /** Number of answered rows. */
  readonly calls: number;
  readonly restarts: number;
  /** By function id, since the runner was created; one second late. */
  readonly functions: Readonly<Record<string, FunctionCounts>>;
  /** By name: running calls, and calls that wait for a slot. */
  readonly pools: Readonly<Record<string, { readonly running: number; readonly waiting: number }>>;
}

/**
 * Runs graphs in Python. Rows of many callers are sent in shared chunks, sized by how long they take; each row gets its
 * own result. If a worker dies, the rows of its chunk run again one by one, and only the culprit fails.
 */
export interface UdfRunner extends AsyncDisposable {
  /** Runs one row. Also resolves when the function failed (see `errors`).
   *  @throws AppError worker_unavailable when no worker can be started, with the reason; overloaded when too many
   *  rows wait */
  run(graph: UdfGraph, row: readonly EngineValue[], signal?: AbortSignal): Promise<UdfResult>;
  /** Runs `rows` rows given by column: `columns[i][k]` is row k's input i. The cost per row is a fraction of
   *  `run`'s. Single rows of `run` take precedence. */
  runBatch(graph: UdfGraph, columns: readonly (readonly EngineValue[])[], rows: number): UdfBatch;
  /** Starts the workers before the first call. */
  start(): Promise<void>;
  /** Starts an aggregation in one of the workers, and the worker if necessary.
   *  @throws AppError worker_unavailable, overloaded; function_missing when the code lacks the aggregate */
  fold(aggregation: UdfAggregation): Promise<UdfFold>;
  /** Numbers for `/metrics` and for choosing the number of rows per submission. */
  stats(): UdfStats;
}

/**
 * Files of media columns: where workers find them, and where given and computed ones are stored. Cells are texts of
 * references (contract, media.ts).
 */
export interface MediaFiles {
  /** Makes a file readable on this machine and gives it as workers take it: JSON text with its `path`.
   *  @throws AppError media_unreachable, media_not_found, media_denied, media_unavailable, media_too_large,
   *  media_source_not_allowed; media_invalid for a download of another kind than given; the abort's reason */
  locate(cell: string, signal?: AbortSignal, kind?: MediaKind): Promise<string>;
  /** Whether an object of a local store is still what `locate` gave: functions get the path of the object itself. */
  isUnchanged(located: string): Promise<boolean>;
  /** Refuses the cell of a given address that the database must not read with its credentials.
   *  @throws invalid_request, media_source_not_allowed */
  requireSource(cell: string): void;
  /** Stores a file that a worker made, which it gave as JSON text with its `path`, and gives the cell. The type names the
   *  store; without a destination it is the database's own for computed media.
   *  @throws AppError media_invalid, media_denied, media_store_not_found, media_store_full, media_unavailable */
  store(made: string, type: ColumnType, signal?: AbortSignal): Promise<string>;
  /** Stores an uploaded file for a column of the kind, and gives the cell.
   *  @throws as `store`; media_invalid for content of another kind */
  receive(file: UploadedFile, kind: MediaKind, signal?: AbortSignal): Promise<string>;
  /** The cell of a file of the database: by its address in the media store, or by one that a response had. It stays until
   *  the row is stored. Undefined for an address of another service, and of a hosted store that a local database reads.
   *  @throws invalid_request, media_source_not_allowed, media_invalid for content of another kind */
  takeOwn(address: string, kind: MediaKind): Promise<string | undefined>;
  /** The cell of an uploaded file that is not stored: it exists until the upload is disposed.
   *  @throws media_invalid for content of another kind */
  borrow(file: UploadedFile, kind: MediaKind): Promise<string>;
  /** The cell of a given file that a function returned: a borrowed one is stored first, others are there already.
   *  @throws as `store` */
  keep(cell: string, type: ColumnType, signal?: AbortSignal): Promise<string>;
  /** Opens the file of a cell. @throws as `locate` */
  open(cell: string, signal?: AbortSignal): Promise<MediaFile>;
  /** An address for callers, which expires. `base`: the address of the service, without a slash at its end. */
  addressOf(cell: string, base: string): string;
  /** Deletes objects of a store, by its name in cells. @throws media_denied, media_unavailable */
  remove(store: string, keys: readonly string[]): Promise<void>;
  /** Ends uploads that killed processes left in the stores of the database. @throws media_denied, media_unavailable */
  endAbandoned(): Promise<void>;
  /** The cell that the token of an address names. @throws media_address_invalid */
  readAddress(token: string): string;
}

/** The content of a media column's cell. */
export interface MediaFile {
  readonly bytes: number;
  /** The media type: `image/png`. */
  readonly type: string;
  /** A name for the file: its own, or one made of its content's hash. */
  readonly name: string;
  /** Whether the content never changes. False for a file at an address of its own. */
  readonly is_fixed: boolean;
  /** A strong validator (RFC 9110, 8.8.3), with its quotes. */
  readonly etag: string;
  /** Reads bytes from `start` to `end`, which is excluded. */
  read(start: number, end: number, signal?: AbortSignal): Promise<AsyncIterable<Uint8Array>>;
}

/** A file of a form, received completely. */
export interface UploadedFile {
  readonly field: string;
  /** Its first bytes, which tell the type. */
  readonly head: Uint8Array;
  /** The bytes of a small file, which is held in memory; undefined for any other. */
  readonly content: Uint8Array | undefined;
  /** The path of the file, which exists until the form is disposed. A small one is written now. */
  path(): Promise<string>;
  /** The client's name of the file, without folders; empty for none. */
  readonly name: string;
  readonly bytes: number;
  /** Hex. */
  readonly sha256: string;
}

/** A received form (multipart/form-data, RFC 7578). Disposing removes its files. */
export interface ReceivedForm extends AsyncDisposable {
  /** Fields in their order. */
  readonly fields: readonly (readonly [name: string, value: string])[];
  readonly files: readonly UploadedFile[];
}

export interface FormLimits {
  /** Maximum bytes of all fields other than files. */
  readonly field_bytes: number;
  /** Maximum bytes of one file, and of all of a form. */
  readonly file_bytes: number;
  /** Counts bytes of fields other than files as they arrive. @throws the error that refuses the form */
  readonly countFields?: (bytes: number) => void;
  /** Bytes of the whole body, if the client gave them. */
  readonly body_bytes?: number | undefined;
  /** Names of fields whose parts are files. A file under another name is refused. */
  readonly files: readonly string[];
}

/** Receives forms, with their files on disk. */
export interface FormReader {
  /** Takes the pieces of the body: their memory is freed once they are written.
   *  @throws AppError invalid_request, invalid_form, media_too_large, payload_too_large, disk_full, media_store_full,
   *  request_timeout, overloaded; the abort's reason */
  read(body: AsyncIterable<Uint8Array>, contentType: string, limits: FormLimits): Promise<ReceivedForm>;
}

/** Milliseconds since the epoch; injected so that tests control time. */
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

/** A buffer of any size that is written first and read later, with little memory. Dispose it to release it. */
export interface Spool extends AsyncDisposable {
  /** Bytes written so far; text as UTF-8. */
  readonly bytes: number;
  /** Resolves when more may be written. @throws AppError disk_full */
  write(piece: string | Uint8Array): Promise<void>;
  /** Returns everything that was written, once. */
  read(): AsyncIterable<Uint8Array>;
}
