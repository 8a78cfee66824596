import { setTimeout as sleep } from "node:timers/promises";
import { appError } from "@appdb/contract/errors";
import { ensureCatalog, type Migration } from "@appdb/engine/catalog/ensure-catalog";
import { countOpenJobs } from "@appdb/engine/jobs/count-jobs";
import type { JobDeps } from "@appdb/engine/jobs/job-deps";
import { listProgramModules } from "@appdb/engine/jobs/program-modules";
import { runJobs } from "@appdb/engine/jobs/run-jobs";
import type { Clock, Logger, SqlPool } from "@appdb/engine/ports";
import type { QueryLimits } from "@appdb/engine/sql/query-limits";
import { Creations } from "@appdb/engine/table-changes/creations";
import { createPgPool } from "@appdb/postgres/client/pg-pool";
import { withClient } from "@appdb/postgres/cluster/database-admin";
import type { PostgresProvider } from "@appdb/postgres/cluster/postgres-provider";
import { withinTime } from "@appdb/system/processes/within-time";
import type { CreateFillRunner } from "./fill-runner.ts";

const CONNECTIONS = 4;
/** Idle connections are closed soon, because all local databases share one PostgreSQL. */
const IDLE_CONNECTION_MS = 5_000;
const COUNT_MS = 1_000;
/** Maximum number of databases with a running job loop. Beyond it, the least recently used ones are parked. */
const MAX_AWAKE = 16;
const FIRST_RETRY_MS = 200;
const LONGEST_RETRY_MS = 5_000;

export interface OpenDatabasesDeps {
  readonly postgres: PostgresProvider;
  /** Of the catalog. */
  readonly migrations: readonly Migration[];
  readonly clock: Clock;
  readonly log: Logger;
  /** Owner of jobs. It stays the same after a restart, so that a daemon immediately resumes jobs of a killed one. */
  readonly owner: string;
  /** Application name of our connections in PostgreSQL. */
  readonly application_name: string;
  /** The error of a name that no new database can have. */
  readonly refuseNew?: (name: string) => Error | undefined;
  /** Creates workers for a fill from the runtime id that its update stored. */
  readonly createRunner: CreateFillRunner;
  readonly plain_runtime_id?: JobDeps["plain_runtime_id"];
  /** Checks before each batch of a job that the database may grow. Default: it always may. @throws disk_full */
  readonly admit?: JobDeps["admit"];
  readonly query_limits: QueryLimits;
  /** Called before the pool of a dropped or copied database ends, to release what uses it. */
  readonly onClose?: (sql: SqlPool) => Promise<void>;
}

export interface OpenDatabase {
  readonly name: string;
  readonly dsn: string;
  readonly sql: SqlPool;
  /** Of its tables and views. */
  readonly creations: Creations;
  /** Keeps the database's job loop running until disposed. For work that adds a job. */
  hold(): Disposable;
}

interface Entry {
  readonly opening: Promise<OpenDatabase>;
  holders: number;
  last_used_at: number;
  /** The job loop; undefined while the database is parked. */
  jobs: JobLoop | undefined;
}

interface JobLoop {
  readonly stopping: AbortController;
  readonly ended: Promise<void>;
}

/**
 * Databases requested since the daemon started. Each has a current catalog and a job loop in the background. A database
 * without jobs and users is parked: it holds no connections, and its pool reconnects on demand.
 */
export class OpenDatabases implements AsyncDisposable {
  readonly #deps: OpenDatabasesDeps;
  readonly #entries = new Map<string, Entry>();
  readonly #closing = new AbortController();

  constructor(deps: OpenDatabasesDeps) {
    this.#deps = deps;
  }

  /** Finds a database that an update has initialized. Otherwise returns undefined and changes nothing. */
  async find(name: string): Promise<OpenDatabase | undefined> {
    const { postgres } = this.#deps;
    if (this.#entries.has(name)) return await this.open(name);
    if (!(await postgres.hasDatabase(name))) return undefined;
    const isOwnDatabase = await withClient(postgres.dsn(name), async (client) => {
      const found = await client.query<{ ours: boolean }>("select to_regclass('appdb.state') is not null as ours");
      return found.rows[0]?.ours === true;
    });
    return isOwnDatabase ? await this.open(name) : undefined;
  }

  /** Opens a database; creates it when it is missing. `isCurrent`: it exists and this version has opened it before, under any name. */
  open(name: string, isCurrent = false): Promise<OpenDatabase> {
    const found = this.#entries.get(name);
    if (found !== undefined) {
      found.last_used_at = this.#deps.clock.now();
      return found.opening.then((database) => {
        this.#wake(found, database);
        return database;
      });
    }
    const entry = this.#start(name, isCurrent);
    this.#entries.set(name, entry);
    entry.opening.catch(() => this.#entries.delete(name));
    return entry.opening;
  }

  /** Drops a database, also for its current users. */
  async remove(name: string): Promise<void> {
    await this.#close(name);
    await this.#deps.postgres.dropDatabase(name);
  }

  /** Makes a new database as a copy of an existing one, whose connections end. @throws database_not_found, database_exists */
  async copy(from: string, to: string): Promise<void> {
    await this.#close(from);
    await this.#deps.postgres.copyDatabase(from, to);
  }

  /** Renames a database, whose connections end. Requests for its previous name then find none. */
  async rename(from: string, to: string): Promise<void> {
    await this.#close(from);
    await this.#deps.postgres.renameDatabase(from, to);
  }

  /** Opens or wakes a database with unfinished jobs; leaves others unchanged. */
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
   * Parks databases that were unused for `idle_ms` and, beyond MAX_AWAKE, the least recently used ones. Databases with
   * jobs or a holder stay awake, and so do those for which `mayPark` returns false.
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

  /**
   * Number of unfinished jobs in the open databases; 0 for one that does not respond now. One whose connections are all
   * in use for longer counts as one: commands wait for this number, and must not take a busy daemon for a hung one.
   */
  async countFills(): Promise<number> {
    const awake = [...this.#entries.values()].filter((entry) => entry.jobs !== undefined);
    const counts = await Promise.all(
      awake.map(async ({ opening }) => {
        let count = 1;
        const counting = countOpenJobs((await opening).sql).then((found) => {
          count = found;
        });
        await withinTime(counting, COUNT_MS).catch(() => {
          count = 0;
        });
        return count;
      }),
    );
    return counts.reduce((sum, count) => sum + count, 0);
  }

  /** Modules of programs that unfinished jobs call. @throws database_unavailable */
  async programModules(): Promise<ReadonlySet<string>> {
    const awake = [...this.#entries.values()].filter((entry) => entry.jobs !== undefined);
    const found = await Promise.all(awake.map(async ({ opening }) => listProgramModules((await opening).sql)));
    return new Set(found.flat());
  }

  /** All open databases. */
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

  async #close(name: string): Promise<void> {
    const entry = this.#entries.get(name);
    if (entry === undefined) return;
    this.#entries.delete(name);
    const opened = await entry.opening.catch(() => undefined);
    await park(entry);
    if (opened === undefined) return;
    await this.#deps.onClose?.(opened.sql);
    await opened.sql[Symbol.asyncDispose]();
  }

  #start(name: string, isCurrent: boolean): Entry {
    const { application_name: applicationName, clock, log, migrations, postgres, refuseNew } = this.#deps;
    const dsn = postgres.dsn(name);
    const sql = createPgPool({
      dsn,
      max: CONNECTIONS,
      application_name: applicationName,
      log,
      idle_timeout_ms: IDLE_CONNECTION_MS,
    });
    const prepare = async () => {
      if (!isCurrent) {
        const refused = refuseNew?.(name);
        if (refused !== undefined && !(await postgres.hasDatabase(name))) throw refused;
        await postgres.ensureDatabase(name);
        await ensureCatalog(sql, migrations);
      }
      if (this.#closing.signal.aborted) throw appError("daemon_not_running", { detail: "The daemon is stopping." });
    };
    const opening = prepare().then((): OpenDatabase => {
      this.#wake(entry, { name, sql });
      return { name, dsn, sql, creations: new Creations(), hold: () => hold(entry) };
    });
    const entry: Entry = { opening, holders: 0, last_used_at: clock.now(), jobs: undefined };
    // a database that failed to open keeps no pool; the caller gets the error
    opening.catch(() => sql[Symbol.asyncDispose]());
    return entry;
  }

  /** Restarts the job loop of a database. */
  #wake(entry: Entry, { name, sql }: Pick<OpenDatabase, "name" | "sql">): void {
    if (entry.jobs !== undefined || this.#closing.signal.aborted) return;
    const stopping = new AbortController();
    entry.jobs = { stopping, ended: this.#runJobs(name, sql, stopping.signal) };
  }

  /** Runs the jobs until the signal. Restarts after a failure, for example when PostgreSQL was unavailable. */
  async #runJobs(name: string, sql: SqlPool, signal: AbortSignal): Promise<void> {
    const { admit, clock, createRunner, log, owner, plain_runtime_id, query_limits: queryLimits } = this.#deps;
    const udf: JobDeps["udf"] = (...job) => createRunner({ name, sql }, ...job);
    for (let pause = FIRST_RETRY_MS; !signal.aborted; pause = Math.min(pause * 2, LONGEST_RETRY_MS)) {
      const started = clock.now();
      try {
        await runJobs({ sql, udf, admit, clock, log, owner, plain_runtime_id, query_limits: queryLimits }, signal);
        return;
      } catch (error) {
        if (signal.aborted) return;
        log.warn({ err: error, database: name }, "the jobs of a database stopped and are restarted");
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
