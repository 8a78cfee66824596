import { appError } from "@appdb/contract/errors";
import type { Logger } from "@appdb/engine/ports";
import { Kysely, PostgresDialect, type Transaction } from "kysely";
import pg from "pg";
import type { Tables } from "./tables.ts";

const CONNECTIONS = 16;
const CONNECT_TIMEOUT_MS = 10_000;
const STATEMENT_TIMEOUT_MS = 30_000;

export type Database = Kysely<Tables>;
export type Tx = Transaction<Tables>;

export interface OpenDatabase extends AsyncDisposable {
  /** For what needs a connection of its own: LISTEN, advisory locks, graphile-worker. */
  readonly pool: pg.Pool;
  readonly db: Database;
}

/** Opens the control plane's database. Nothing is connected until somebody asks. */
export function openDatabase(dsn: string, log: Logger): OpenDatabase {
  const pool = new pg.Pool({
    connectionString: dsn,
    max: CONNECTIONS,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    application_name: "appdb server",
  });
  hearLosses(pool, log);
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });
  return { pool, db, [Symbol.asyncDispose]: () => db.destroy() };
}

/** Logs that a connection was lost; the next request opens another. Also of those in use: an error that nobody hears would
 *  end the process. */
export function hearLosses(pool: pg.Pool, log: Logger): void {
  // not the error itself: pg hangs the whole client on it
  const lost = (error: Error) => log.warn({ reason: error.message }, "a connection to PostgreSQL was lost");
  pool.on("error", lost);
  pool.on("connect", (client) => client.on("error", lost));
}

/** Classes 08 (connection), 57P (shut down, starting up), 53 (resources); and what Node and pg say without a class. */
const LOST_STATE = /^(08...|57P0[1-3]|53...)$/;
const LOST_CODE = new Set(["ECONNREFUSED", "ECONNRESET", "ENOENT", "EPIPE", "ETIMEDOUT", "ENOTFOUND"]);
const LOST_MESSAGE = /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered)/;

/** An error of the connection to PostgreSQL becomes `database_unavailable`; any other passes as it is. */
export function fromDatabaseError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  if (!LOST_STATE.test(code) && !LOST_CODE.has(code) && !LOST_MESSAGE.test(error.message)) return error;
  return appError("database_unavailable", {
    detail: "The control plane's PostgreSQL does not answer; whether a change was made is not known.",
    hint: "Send the request again, changes with the same Idempotency-Key.",
    cause: error,
  });
}

/** Whether PostgreSQL refused a row because its key is there: SQLSTATE 23505, of the constraint when one is named. */
export function isTaken(error: unknown, constraint?: string): boolean {
  if (!(error instanceof Error) || !("code" in error) || error.code !== "23505") return false;
  return constraint === undefined || ("constraint" in error && error.constraint === constraint);
}
