import { setTimeout as sleep } from "node:timers/promises";
import { appError } from "@appdb/contract/errors";
import { ensureCatalog, type Migration } from "@appdb/engine/catalog/ensure-catalog";
import { countOpenJobs } from "@appdb/engine/jobs/count-jobs";
import type { JobDeps } from "@appdb/engine/jobs/job-deps";
import { runJobs } from "@appdb/engine/jobs/run-jobs";
import type { Clock, Logger, SqlPool } from "@appdb/engine/ports";
import type { QueryLimits } from "@appdb/engine/sql/query-limits";
import { createPgPool } from "@appdb/postgres/client/pg-pool";
import { withClient } from "@appdb/postgres/cluster/database-admin";
import type { PostgresProvider } from "@appdb/postgres/cluster/postgres-provider";

const CONNECTIONS = 4;
/** A connection that is not used is given back soon: all local databases share one PostgreSQL. */
const IDLE_CONNECTION_MS = 5_000;
/** Databases whose jobs are looked for at once; beyond them the ones that were used longest ago are parked. */
const MAX_AWAKE = 16;
const FIRST_RETRY_MS = 200;
const LONGEST_RETRY_MS = 5_000;

export interface OpenDatabasesDeps {
  readonly postgres: PostgresProvider;
  /** Of the catalog. */
  readonly migrations: readonly Migration[];
  readonly clock: Clock;
  readonly log: Logger;
  /** Who runs jobs: the same after a restart, so that a daemon goes on at once with what a killed one held. */
  readonly owner: string;
  /** What PostgreSQL knows our connections by. */
  readonly application_name: string;
  /** Workers for a fill, by the id of the runtime that its update stored. */
  readonly createRunner: JobDeps["udf"];
  readonly query_limits: QueryLimits;
}

export interface OpenDatabase {
  readonly name: string;
  readonly dsn: string;
  readonly sql: SqlPool;
  /** Keeps the database's jobs running until it is disposed of: for work that adds one. */
  hold(): Disposable;
}

interface Entry {
  readonly opening: Promise<OpenDatabase>;
  holders: number;
  last_used_at: number;
  /** Runs the jobs; undefined while the database is parked. */
  jobs: JobLoop | undefined;
}

interface JobLoop {
  readonly stopping: AbortController;
  readonly ended: Promise<void>;
}

/**
 * The databases that were asked for since the daemon started, each with its catalog brought up to date and its jobs running in
 * the background. A database without jobs and users is parked: it holds no connection, and its pool connects again when it is asked.
 */
export class OpenDatabases implements AsyncDisposable {
  readonly #deps: OpenDatabasesDeps;
  readonly #entries = new Map<string, Entry>();
  readonly #closing = new AbortController();

  constructor(deps: OpenDatabasesDeps) {
    this.#deps = deps;
  }

  /** The database if an update has made it ours; undefined otherwise, and then nothing is made or changed. */
  async find(name: string): Promise<OpenDatabase | undefined> {
    const { postgres } = this.#deps;
    if (this.#entries.has(name)) return await this.open(name);
    if (!(await postgres.hasDatabase(name))) return undefined;
    const isOurs = await withClient(postgres.dsn(name), async (client) => {
      const found = await client.query<{ ours: boolean }>("select to_regclass('appdb.state') is not null as ours");
      return found.rows[0]?.ours === true;
    });
    return isOurs ? await this.open(name) : undefined;
  }

  /** The database, made when it is missing. */
  open(name: string): Promise<OpenDatabase> {
    const found = this.#entries.get(name);
    if (found !== undefined) {
      found.last_used_at = this.#deps.clock.now();
      return found.opening.then((database) => {
        this.#wake(found, database);
        return database;
      });
    }
    const entry = this.#start(name);
    this.#entries.set(name, entry);
    entry.opening.catch(() => this.#entries.delete(name));
    return entry.opening;
  }

  /** Drops a database. Who has it open loses it. */
  async remove(name: string): Promise<void> {
    const entry = this.#entries.get(name);
    this.#entries.delete(name);
    const opened = await entry?.opening.catch(() => undefined);
    if (entry !== undefined) await park(entry);
    await opened?.sql[Symbol.asyncDispose]();
    await this.#deps.postgres.dropDatabase(name);
  }

  /** Opens or wakes a database in which jobs have not ended; leaves the others alone. */
  async resume(name: string): Promise<void> {
    if (this.#entries.get(name)?.jobs !== undefined) return;
    const isWaiting = await withClient(this.#deps.postgres.dsn(name), async (client) => {
      const known = await client.query<{ known: boolean }>("select to_regclass('appdb.jobs') is not null as known");
      if (known.rows[0]?.known !== true) return false;
      const found = await client.query("select 1 from appdb.jobs where state in ('queued', 'running') limit 1");
      return found.rowCount === 1;
    });
    if (isWaiting) await this.open(name);
  }

  /**
   * Parks the databases that were not used for `idle_ms` and, beyond MAX_AWAKE, those that were used longest ago. A database with
   * jobs or a holder stays awake, and so does one of which `mayPark` says no.
   */
  async parkIdle(idleMs: number, mayPark: (name: string) => boolean): Promise<void> {
    const awake = [...this.#entries].filter(([, entry]) => entry.jobs !== undefined);
    awake.sort(([, one], [, other]) => other.last_used_at - one.last_used_at);
    const since = this.#deps.clock.now() - idleMs;
    for (const [at, [name, entry]] of awake.entries()) {
      const isFree = () => entry.holders === 0 && (entry.last_used_at < since || at >= MAX_AWAKE) && mayPark(name);
      const { sql } = await entry.opening;
      const jobs = isFree() ? await countOpenJobs(sql).catch(() => undefined) : undefined;
      if (jobs === 0 && isFree()) await park(entry);
    }
  }

  /** Number of jobs that have not ended in the open databases; 0 for one that does not answer now. */
  async countFills(): Promise<number> {
    const awake = [...this.#entries.values()].filter((entry) => entry.jobs !== undefined);
    const counts = await Promise.all(
      awake.map(async ({ opening }) => countOpenJobs((await opening).sql).catch(() => 0)),
    );
    return counts.reduce((sum, count) => sum + count, 0);
  }

  /** The databases open now. */
  async list(): Promise<readonly OpenDatabase[]> {
    const settled = await Promise.allSettled([...this.#entries.values()].map((entry) => entry.opening));
    return settled.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const entries = [...this.#entries.values()];
    this.#entries.clear();
    this.#closing.abort();
    await Promise.allSettled(
      entries.map(async (entry) => {
        const { sql } = await entry.opening;
        await park(entry);
        await sql[Symbol.asyncDispose]();
      }),
    );
  }

  #start(name: string): Entry {
    const { application_name: applicationName, clock, log, migrations, postgres } = this.#deps;
    const dsn = postgres.dsn(name);
    const sql = createPgPool({
      dsn,
      max: CONNECTIONS,
      application_name: applicationName,
      log,
      idle_timeout_ms: IDLE_CONNECTION_MS,
    });
    const prepare = async () => {
      await postgres.ensureDatabase(name);
      await ensureCatalog(sql, migrations);
      if (this.#closing.signal.aborted) throw appError("daemon_not_running", { detail: "The daemon is stopping." });
    };
    const opening = prepare().then((): OpenDatabase => {
      this.#wake(entry, { name, sql });
      return { name, dsn, sql, hold: () => hold(entry) };
    });
    const entry: Entry = { opening, holders: 0, last_used_at: clock.now(), jobs: undefined };
    // a database that could not be opened keeps no pool; the error itself is the caller's
    opening.catch(() => sql[Symbol.asyncDispose]());
    return entry;
  }

  /** Has a database's jobs looked for again. */
  #wake(entry: Entry, { name, sql }: Pick<OpenDatabase, "name" | "sql">): void {
    if (entry.jobs !== undefined || this.#closing.signal.aborted) return;
    const stopping = new AbortController();
    entry.jobs = { stopping, ended: this.#runJobs(name, sql, stopping.signal) };
  }

  /** Runs the jobs until the signal; a loop that fails, because PostgreSQL was away for example, begins again. */
  async #runJobs(name: string, sql: SqlPool, signal: AbortSignal): Promise<void> {
    const { clock, createRunner, log, owner, query_limits: queryLimits } = this.#deps;
    for (let pause = FIRST_RETRY_MS; !signal.aborted; pause = Math.min(pause * 2, LONGEST_RETRY_MS)) {
      const started = clock.now();
      try {
        await runJobs({ sql, udf: createRunner, clock, log, owner, query_limits: queryLimits }, signal);
        return;
      } catch (error) {
        if (signal.aborted) return;
        log.warn({ err: error, database: name }, "the jobs of a database stopped, they begin again");
        if (clock.now() - started > LONGEST_RETRY_MS) pause = FIRST_RETRY_MS;
        await sleep(pause, undefined, { signal }).catch(() => undefined);
      }
    }
  }
}

async function park(entry: Entry): Promise<void> {
  const { jobs } = entry;
  entry.jobs = undefined;
  jobs?.stopping.abort();
  await jobs?.ended;
}

function hold(entry: Entry): Disposable {
  entry.holders += 1;
  let isHeld = true;
  return {
    [Symbol.dispose]: () => {
      if (isHeld) entry.holders -= 1;
      isHeld = false;
    },
  };
}
