import type { AppError } from "@appdb/contract/errors";

/** State of the server; `starting` also while it restarts after a loss. */
export type PostgresState = "up" | "starting" | "down";

/** A PostgreSQL server for the databases of one home, managed by us or externally. */
export interface PostgresProvider extends AsyncDisposable {
  /**
   * Resolves when the server accepts connections. Safe to repeat; later calls wait for the same start.
   * @throws postgres_failed with the server's last output, postgres_unsupported
   */
  start(): Promise<void>;
  /** Stops the server that this provider started and waits for it. Does nothing for an external server. */
  stop(): Promise<void>;
  state(): PostgresState;
  /** Why the last start failed, until the server is up again. Absent on an external server. */
  failure?(): AppError | undefined;
  /** Connection string of a database, which need not exist. */
  dsn(database: string): string;
  /** The same as the superuser; absent where we have none, on an external server. */
  superuserDsn?(database: string): string;
  hasDatabase(database: string): Promise<boolean>;
  /** Names of all our databases, sorted. */
  listDatabases(): Promise<readonly string[]>;
  /**
   * Creates the database if it is missing: UTF-8, the builtin locale PG_UNICODE_FAST. Safe to repeat and to run
   * concurrently.
   */
  ensureDatabase(database: string): Promise<void>;
  /**
   * Creates a database as a copy of another one, with the same owner. Waits for a moment until the other one has no
   * connections.
   * @throws database_not_found, database_exists
   */
  copyDatabase(from: string, to: string): Promise<void>;
  /** Renames a database. Waits for a moment until it has no connections. */
  renameDatabase(from: string, to: string): Promise<void>;
  /** Drops the database with its contents and ends its connections. Does nothing when it does not exist. */
  dropDatabase(database: string): Promise<void>;
}
