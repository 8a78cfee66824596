/** Whether the server answers: `starting` also while it comes back after it was lost. */
export type PostgresState = "up" | "starting" | "down";

/** A PostgreSQL server for the databases of one home, whoever runs it. */
export interface PostgresProvider extends AsyncDisposable {
  /** Resolves when the server answers. Safe to repeat; later calls wait for the same start.
   *  @throws postgres_failed with the server's last words, postgres_unsupported */
  start(): Promise<void>;
  /** Ends what this provider started, waiting for it; nothing when the server is someone else's. */
  stop(): Promise<void>;
  state(): PostgresState;
  /** Connection string of a database, whether it exists or not. */
  dsn(database: string): string;
  hasDatabase(database: string): Promise<boolean>;
  /** Names of all databases of ours, sorted. */
  listDatabases(): Promise<readonly string[]>;
  /** Makes the database if it is missing: UTF-8, the builtin locale PG_UNICODE_FAST. Safe to repeat and to race. */
  ensureDatabase(database: string): Promise<void>;
  /** Drops the database with all that is in it and ends its connections; nothing when there is none. */
  dropDatabase(database: string): Promise<void>;
}
