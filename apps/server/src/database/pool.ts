import { appError } from "@appdb/contract/errors";
import type { Logger } from "@appdb/engine/ports";
import { type Compilable, Kysely, PostgresDialect, type PostgresPool, type Transaction } from "kysely";
import pg from "pg";
import type { Tables } from "./tables.ts";

const CONNECTIONS = 16;
const CONNECT_TIMEOUT_MS = 10_000;
const STATEMENT_TIMEOUT_MS = 30_000;
/** Losses within this time count as one event, for example a restart of PostgreSQL. */
const TOGETHER_MS = 1_000;
/** Maximum prepared statements. The code has fewer, but lists of values add more. */
const MAX_PREPARED = 500;

export type ControlDatabase = Kysely<Tables>;
export type Tx = Transaction<Tables>;

export interface OpenControlDatabase extends AsyncDisposable {
  /** For uses that need their own connection: LISTEN and advisory locks. */
  readonly pool: pg.Pool;
  readonly db: ControlDatabase;
}

/** Opens the control plane's database, with at most `connections`. Connects on the first query. */
export function openControlDatabase(dsn: string, log: Logger, connections = CONNECTIONS): OpenControlDatabase {
  const pool = new pg.Pool({
    connectionString: dsn,
    max: connections,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    application_name: "appdb server",
  });
  logConnectionErrors(pool, log);
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool: preparing(pool) }) });
  return { pool, db, [Symbol.asyncDispose]: () => db.destroy() };
}

/** Prepares statements with parameters, per connection: PostgreSQL plans a request's joins longer than it runs them. */
function preparing(pool: pg.Pool): PostgresPool {
  const names = new Map<string, string>();
  const nameOf = (text: string): string | undefined => {
    const known = names.get(text);
    if (known !== undefined || names.size === MAX_PREPARED) return known;
    const name = `s${names.size}`;
    names.set(text, name);
    return name;
  };
  return {
    async connect() {
      const client = await pool.connect();
      return {
        // biome-ignore lint/suspicious/noExplicitAny: Kysely's own signature; its cursors are not used
        query: (text: any, values: readonly unknown[] = []): any =>
          client.query({ text, values: [...values], name: values.length === 0 ? undefined : nameOf(text) }),
        release: () => client.release(),
      };
    },
    end: () => pool.end(),
  };
}

const ASKED = Symbol("the value that is asked for");

/** A statement for one value whose SQL is built once: Kysely builds it slower than PostgreSQL runs it. */
export function prepareByValue<Row>(
  db: ControlDatabase,
  build: (db: ControlDatabase, value: string) => Compilable<Row>,
): (value: string) => Promise<Row | undefined> {
  const query = build(db, ASKED as unknown as string).compile();
  return async (value) => {
    const parameters = query.parameters.map((parameter) => (parameter === ASKED ? value : parameter));
    return (await db.executeQuery<Row>({ ...query, parameters })).rows[0];
  };
}

/**
 * Logs the connections lost at one moment in one line. The next request opens new ones. Also handles connections in
 * use: an unhandled error event would end the process.
 */
export function logConnectionErrors(pool: pg.Pool, log: Logger): void {
  const reasons = new Set<string>();
  let isDue = false;
  const lost = (error: Error) => {
    // not the error itself: pg attaches the whole client to it
    reasons.add(error.message);
    if (isDue) return;
    isDue = true;
    setTimeout(() => {
      isDue = false;
      log.warn({ reason: [...reasons].join("; ") }, "connections to PostgreSQL were lost; new ones will be opened");
      reasons.clear();
    }, TOGETHER_MS).unref();
  };
  pool.on("error", lost);
  pool.on("connect", (client) => client.on("error", lost));
}

/** Classes 08 (connection), 57P (shutdown, start) and 53 (resources), and errors of Node and pg without a class. */
const LOST_STATE = /^(08...|57P0[1-3]|53...)$/;
const LOST_CODE = new Set(["ECONNREFUSED", "ECONNRESET", "ENOENT", "EPIPE", "ETIMEDOUT", "ENOTFOUND"]);
const LOST_MESSAGE = /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered)/;

const FULL_STATE = "53100";

/** Why PostgreSQL does not answer, in words for an operator. */
export function describeUnreachable(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = "code" in error ? error.code : undefined;
  return code === "ENOENT" || code === "ECONNREFUSED" ? `it is not running (${error.message})` : error.message;
}

/**
 * Turns a lost connection to PostgreSQL into `database_unavailable`, and its full disk into `disk_full`. Other errors
 * stay. `isRead`: the request changes nothing.
 */
export function fromDatabaseError(error: unknown, isRead = false): unknown {
  if (!(error instanceof Error)) return error;
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  if (!LOST_STATE.test(code) && !LOST_CODE.has(code) && !LOST_MESSAGE.test(error.message)) return error;
  if (code === FULL_STATE) {
    return appError("disk_full", {
      detail: "The disk of the server is full: the control plane's PostgreSQL cannot write.",
      hint: "Ask the operator of the server to free space on its disk, then try again.",
      cause: error,
    });
  }
  if (isRead) {
    return appError("database_unavailable", {
      detail: "The control plane's PostgreSQL does not answer. Nothing was changed.",
      hint: "Try again in a moment. If it persists, ask the operator of the server: its /health has the cause.",
      cause: error,
    });
  }
  return appError("database_unavailable", {
    detail: "The control plane's PostgreSQL does not answer. A requested change may have been made.",
    hint: "Send the request again. Repeat a change with the same Idempotency-Key.",
    cause: error,
  });
}

/** Whether the control plane's PostgreSQL is lost. Errors of other files and sockets do not count. */
export function isDatabaseLost(error: unknown): boolean {
  return fromDatabaseError(error) !== error && !(error instanceof Error && "path" in error);
}

/** Log fields of an error that a retry may fix. While PostgreSQL is lost, only the reason. */
export function errorFields(error: unknown): { readonly reason: string } | { readonly err: unknown } {
  return error instanceof Error && isDatabaseLost(error) ? { reason: error.message } : { err: error };
}

/** Whether PostgreSQL refused a duplicate key (SQLSTATE 23505), of the constraint if one is given. */
export function isTaken(error: unknown, constraint?: string): boolean {
  if (!(error instanceof Error) || !("code" in error) || error.code !== "23505") return false;
  return constraint === undefined || ("constraint" in error && error.constraint === constraint);
}
