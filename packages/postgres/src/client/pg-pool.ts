import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { setTimeout as sleep } from "node:timers/promises";
import {
  type CopyRows,
  type Logger,
  type SqlConnection,
  SqlError,
  type SqlPool,
  type SqlResult,
  type SqlTransaction,
  type Statement,
} from "@appdb/engine/ports";
import { IN_SIGHT } from "@appdb/engine/queries/nearest-rows";
import { Client, type ClientBase, type ClientConfig, Pool, type PoolClient, type QueryResult } from "pg";
import { from } from "pg-copy-streams";
import { LostBackends } from "./lost-backends.ts";
import { isConnectionLost, statementError, unavailableError } from "./pg-errors.ts";
import { listenOn } from "./pg-listen.ts";
import { runBounded, runStatement } from "./pg-statement.ts";
import { isNamedRead, PipelinedReads } from "./pipelined-reads.ts";
import { RawRowReader } from "./raw-row-reader.ts";
import { nameFullDisk } from "./refuse-writes.ts";
import { connectionOf, type PostgresAddress } from "./server-address.ts";

/**
 * Runs `COPY ... FROM STDIN` and returns the number of rows. An error of the row source ends the statement and is
 * passed on.
 * @throws SqlError, commit_unknown
 */
async function copyRows(client: ClientBase, text: string, rows: CopyRows): Promise<number> {
  const stream = client.query(from(text));
  const source = { failed: false, error: undefined as unknown };
  try {
    await pipeline(Readable.from(captureErrors(rows, source), { objectMode: true, highWaterMark: 1 }), stream);
    return stream.rowCount;
  } catch (error) {
    throw source.failed ? source.error : statementError(error);
  }
}

/** An error that PostgreSQL ends the pipeline with is thrown at the `yield`, and is none of the source. */
async function* captureErrors(rows: CopyRows, source: { failed: boolean; error: unknown }): AsyncGenerator<Buffer> {
  const iterator = Symbol.asyncIterator in rows ? rows[Symbol.asyncIterator]() : rows[Symbol.iterator]();
  const next = async () => {
    try {
      return await iterator.next();
    } catch (error) {
      source.failed = true;
      source.error = error;
      throw error;
    }
  };
  try {
    for (let step = await next(); step.done !== true; step = await next()) {
      yield typeof step.value === "string" ? Buffer.from(step.value, "utf8") : step.value;
    }
  } finally {
    await iterator.return?.();
  }
}

export interface PgPoolOptions {
  /**
   * A PostgreSQL URI. For TCP: `postgresql://user:password@host:5432/main`. For a unix socket, its percent-encoded
   * folder goes into the query: `postgresql:///main?host=/run/appdb&user=postgres` (`port` names the socket, default
   * 5432). Pass an untrusted address as the fields that `parseServerAddress` returns.
   */
  readonly dsn: string | PostgresAddress;
  /** Maximum number of connections. Further callers wait; the caller bounds how many. */
  readonly max: number;
  readonly application_name: string;
  readonly statement_timeout_ms?: number;
  /** Closes connections that are idle for this long; default one minute. */
  readonly idle_timeout_ms?: number;
  /** Keeps one connection open even when it is idle, so that others see the pool's program. */
  readonly keeps_connection?: boolean | undefined;
  /** Closes each connection after its use, so that no caller leaves settings or locks to the next. */
  readonly is_single_use?: boolean;
  /** Maximum bytes of a row. A longer one ends its connection before it is read. Default: no limit. */
  readonly max_row_bytes?: number;
  /** Connects as a role that may cancel statements of this one; default `dsn`. */
  readonly cancel_dsn?: string;
  /** Kills processes of PostgreSQL that nothing else ends. Only for a server of this machine. */
  readonly kills_lost?: boolean;
  /** A cancelled statement ends within this time, or its connection does; default five seconds. */
  readonly grace_ms?: number;
  readonly log?: Logger;
  /** Command that shows the state of this PostgreSQL, for callers who get no connection. */
  readonly status_command?: string;
}

const CONNECT_TIMEOUT_MS = 5_000;
const IDLE_TIMEOUT_MS = 60_000;
const GRACE_MS = 5_000;

/** Returns values as PostgreSQL writes them; the engine decodes them by column type. */
const RAW_TYPES = { getTypeParser: () => (text: string | Buffer) => text };

/**
 * A pool on `pg`. It connects with the first statement and recovers after an outage: it drops broken connections, and
 * the next statement opens a new one. A statement throws SqlError when PostgreSQL refuses it, database_unavailable when
 * no connection is possible, and commit_unknown when the connection broke while it ran. A transaction that broke before
 * its COMMIT was sent is certainly rolled back and throws database_unavailable.
 */
export function createPgPool(options: PgPoolOptions): SqlPool {
  return new PgPool(options);
}

class PgPool implements SqlPool {
  readonly #options: PgPoolOptions;
  readonly #config: ClientConfig;
  readonly #pool: Pool;
  readonly #readers = new WeakMap<ClientBase, RawRowReader>();
  /** The server's process of each connection. */
  readonly #backends = new WeakMap<ClientBase, string>();
  readonly #pipelines: PipelinedReads;
  readonly #closing = new AbortController();
  readonly #lost: LostBackends | undefined;

  constructor(options: PgPoolOptions) {
    this.#options = options;
    this.#lost = options.kills_lost === true ? new LostBackends(options.log) : undefined;
    const { dsn, application_name: applicationName } = options;
    this.#config = {
      application_name: applicationName,
      types: RAW_TYPES,
      ...(typeof dsn === "string" ? { connectionString: dsn } : connectionOf(dsn)),
    };
    const config = { ...this.#config, connectionTimeoutMillis: CONNECT_TIMEOUT_MS };
    const readers = this.#readers;
    // The driver encrypts on a stream of its own, and some addresses have theirs.
    let opensStreams: boolean | undefined;
    this.#pool = new Pool({
      max: options.max,
      min: options.keeps_connection === true ? 1 : 0,
      idleTimeoutMillis: options.idle_timeout_ms ?? IDLE_TIMEOUT_MS,
      ...(options.is_single_use === true ? { maxUses: 1 } : {}),
      // The pool's own connect timeout would include the wait for a free connection, which is not a failure.
      Client: class extends Client {
        constructor() {
          const reader = new RawRowReader(options.max_row_bytes);
          opensStreams ??= config.stream === undefined && !new Client(config).ssl;
          super(opensStreams ? { ...config, stream: () => reader.openStream() } : config);
          readers.set(this, reader);
        }
      },
      onConnect: (client: ClientBase) => this.#begin(client),
    });
    this.#pipelines = new PipelinedReads({
      connections: options.max,
      acquire: () => this.#acquire(),
      readerOf: (client) => this.#readerOf(client),
      cancel: (client, ended) => this.#cancel(client, ended),
    });
    // Handles idle connections whose server went away and lent ones without a pool listener. The pool drops them, and a
    // running statement reports the error. An unhandled 'error' event would end the process.
    this.#pool.on("error", (error) => this.#recordLoss(error));
    this.#pool.on("connect", (client) => client.on("error", (error) => this.#recordLoss(error)));
  }

  async #begin(client: ClientBase): Promise<void> {
    if (client instanceof Client) this.#readerOf(client).filterStream(client.connection.stream);
    this.#backends.set(client, await prepareSession(client, this.#options));
  }

  #recordLoss(error: Error): void {
    this.#options.log?.debug({ error: error.message }, "connection to PostgreSQL lost");
  }

  query(statement: Statement): Promise<SqlResult> {
    return isNamedRead(statement) ? this.#pipelines.read(statement) : this.#query(statement);
  }

  async #query(statement: Statement): Promise<SqlResult> {
    const client = await this.#acquire();
    try {
      const result = await this.#run(client, statement);
      client.release();
      return result;
    } catch (error) {
      client.release(isConnectionLost(error));
      throw await this.#named(error);
    }
  }

  async withConnection<T>(work: (connection: SqlConnection) => Promise<T>): Promise<T> {
    const client = await this.#acquire();
    try {
      const value = await work({ query: (statement) => this.#run(client, statement) });
      client.release(isInTransaction(client));
      return value;
    } catch (error) {
      client.release(isConnectionLost(error) || isInTransaction(client));
      throw await this.#named(error);
    }
  }

  async transaction<T>(work: (connection: SqlTransaction) => Promise<T>, settings = ""): Promise<T> {
    const client = await this.#acquire();
    try {
      await uncommitted(() => runStatement(client, { text: `begin; ${settings}` }));
      const value = await work({
        query: (statement) => uncommitted(() => this.#run(client, statement)),
        copy: (text, rows) => uncommitted(() => copyRows(client, text, rows)),
        process: this.#backends.get(client) ?? "",
      });
      await commit(client);
      client.release();
      return value;
    } catch (error) {
      client.release(isConnectionLost(error) || !(await rollback(client)));
      throw await this.#named(error);
    }
  }

  /** The error, which names the disk that is full. */
  #named(error: unknown): Promise<unknown> {
    return nameFullDisk(error, (text) => this.#query({ text }));
  }

  async listen(channel: string, onNotify: (payload: string) => void, signal: AbortSignal): Promise<void> {
    await listenOn({
      config: { ...this.#config, connectionTimeoutMillis: CONNECT_TIMEOUT_MS },
      channel,
      onNotify,
      signal: AbortSignal.any([signal, this.#closing.signal]),
      log: this.#options.log,
    });
  }

  #run(client: PoolClient, statement: Statement): Promise<SqlResult> {
    const { max_bytes: maxBytes, take_row: takeRow, signal } = statement;
    if (maxBytes === undefined && takeRow === undefined && signal === undefined) return runStatement(client, statement);
    return runBounded(client, this.#readerOf(client), statement, (ended) => this.#cancel(client, ended));
  }

  #readerOf(client: ClientBase): RawRowReader {
    const reader = this.#readers.get(client);
    if (reader === undefined) throw new TypeError("A connection of the pool has no reader.");
    return reader;
  }

  /**
   * Resolves once PostgreSQL got the request, so that it cannot hit the connection's next statement. A statement that then
   * does not end loses its connection, and is given up if it does not end by that either. `ended` aborts at its end.
   */
  async #cancel(client: PoolClient, ended: AbortSignal): Promise<void> {
    const pid = this.#backends.get(client) ?? "";
    const { grace_ms: graceMs = GRACE_MS, log } = this.#options;
    const wait = () => sleep(graceMs, undefined, { signal: ended, ref: false }).catch(() => undefined);
    try {
      await this.#tell("select pg_catalog.pg_cancel_backend($1)", [pid]);
      await wait();
      if (ended.aborted) return;
      await this.#tell("select pg_catalog.pg_terminate_backend($1)", [pid]);
      await wait();
      if (ended.aborted) return;
      await this.#lost?.add(pid, (text, values) => this.#tell(text, values));
    } catch (error) {
      // PostgreSQL then ends the statement at its time limit at the latest.
      log?.warn({ err: error }, "a statement could not be cancelled");
      await wait();
    }
    if (ended.aborted || !(client instanceof Client)) return;
    client.connection.stream.destroy(new Error("the statement does not end"));
  }

  /** Runs a statement about another connection on one of its own. */
  async #tell<Row extends object>(text: string, values: readonly unknown[]): Promise<Row[]> {
    const { cancel_dsn: cancelDsn } = this.#options;
    const config = cancelDsn === undefined ? this.#config : { connectionString: cancelDsn, types: RAW_TYPES };
    const messenger = new Client({ ...config, connectionTimeoutMillis: CONNECT_TIMEOUT_MS });
    messenger.on("error", (error) => this.#recordLoss(error));
    try {
      await messenger.connect();
      return (await messenger.query<Row>(text, [...values])).rows;
    } finally {
      await messenger.end().catch((error: unknown) => this.#recordLoss(error as Error));
    }
  }

  async #acquire(): Promise<PoolClient> {
    try {
      return await this.#pool.connect();
    } catch (error) {
      throw unavailableError(error, this.#options.status_command);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort();
    await this.#pool.end();
  }
}

/** What is read and written must not hang on the server's or the role's own settings. Answers the server's process. */
async function prepareSession(client: ClientBase, options: PgPoolOptions): Promise<string> {
  const settings = {
    timezone: "UTC",
    datestyle: "ISO, YMD",
    extra_float_digits: 1,
    standard_conforming_strings: "on",
    "hnsw.ef_search": IN_SIGHT,
    client_min_messages: "warning",
    jit: "off",
    statement_timeout: Math.trunc(options.statement_timeout_ms ?? 0),
  };
  // not by set_config(), which the role that people's SQL runs as may not call
  const set = Object.entries(settings).map(([name, value]) => `set ${name} = '${value}'; `);
  // qualified, because the owner of a database chooses its search path
  const text = `${set.join("")}select pg_catalog.pg_backend_pid() as pid`;
  // the driver has a result for each of several statements
  const results: unknown = await client.query(text);
  const last = (results as readonly QueryResult<{ pid: string }>[]).at(-1);
  return last?.rows[0]?.pid ?? "";
}

/** Before COMMIT is sent nothing can be committed, so a lost connection is not an unknown commit. */
async function uncommitted<T>(statement: () => Promise<T>): Promise<T> {
  try {
    return await statement();
  } catch (error) {
    throw isConnectionLost(error) ? unavailableError(lostCause(error)) : error;
  }
}

function lostCause(error: unknown): unknown {
  return error instanceof Error && error.cause !== undefined ? error.cause : error;
}

async function commit(client: ClientBase): Promise<void> {
  try {
    const { command } = await client.query("commit");
    // PostgreSQL answers COMMIT of a failed transaction with ROLLBACK and no error.
    if (command === "COMMIT") return;
  } catch (error) {
    throw statementError(error);
  }
  throw new SqlError("the transaction had failed and was rolled back at its commit", { sqlstate: "25P02" });
}

/** An open transaction must not pass to the next user of the connection. */
function isInTransaction(client: ClientBase): boolean {
  return client.getTransactionStatus() !== "I";
}

/** True when the connection is clean again. */
async function rollback(client: ClientBase): Promise<boolean> {
  try {
    await client.query("rollback");
    return true;
  } catch {
    // The caller closes the connection, which rolls back; the first error is reported.
    return false;
  }
}
