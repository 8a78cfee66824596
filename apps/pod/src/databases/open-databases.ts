import { setTimeout as sleep } from "node:timers/promises";
import { withClient } from "@appdb/adapters/postgres/database-admin";
import { createPgPool } from "@appdb/adapters/postgres/pg-pool";
import type { PostgresProvider } from "@appdb/adapters/postgres/postgres-provider";
import { appError } from "@appdb/contract/errors";
import { countOpenJobs } from "@appdb/engine/jobs/count-jobs";
import type { JobDeps } from "@appdb/engine/jobs/job-deps";
import { runJobs } from "@appdb/engine/jobs/run-jobs";
import type { Clock, Logger, SqlPool } from "@appdb/engine/ports";
import type { QueryLimits } from "@appdb/engine/queries/query-limits";
import { ensureCatalog } from "@appdb/engine/schema/ensure-catalog";

const CONNECTIONS = 4;
const FIRST_RETRY_MS = 200;
const LONGEST_RETRY_MS = 5_000;

export interface OpenDatabasesDeps {
  readonly postgres: PostgresProvider;
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
}

interface Entry {
  readonly opening: Promise<OpenDatabase>;
  close(): Promise<void>;
}

/**
 * The databases that somebody has asked for since the daemon started, each with its catalog brought up to date and its
 * jobs running in the background.
 */
export class OpenDatabases implements AsyncDisposable {
  readonly #deps: OpenDatabasesDeps;
  readonly #entries = new Map<string, Entry>();

  constructor(deps: OpenDatabasesDeps) {
    this.#deps = deps;
  }

  /** The database if an update has made it ours; undefined otherwise, and then nothing is made or changed. */
  async find(name: string): Promise<OpenDatabase | undefined> {
    const { postgres } = this.#deps;
    if (this.#entries.has(name)) return await this.open(name);
    if (!(await postgres.hasDatabase(name))) return undefined;
    const is_ours = await withClient(postgres.dsn(name), async (client) => {
      const found = await client.query<{ ours: boolean }>("select to_regclass('appdb.state') is not null as ours");
      return found.rows[0]?.ours === true;
    });
    return is_ours ? await this.open(name) : undefined;
  }

  /** The database, made when it is missing. */
  open(name: string): Promise<OpenDatabase> {
    const found = this.#entries.get(name);
    if (found !== undefined) return found.opening;
    const entry = this.#start(name);
    this.#entries.set(name, entry);
    entry.opening.catch(() => this.#entries.delete(name));
    return entry.opening;
  }

  /** Opens a database in which jobs have not ended, so that they go on; leaves the others alone. */
  async resume(name: string): Promise<void> {
    if (this.#entries.has(name)) return;
    const is_waiting = await withClient(this.#deps.postgres.dsn(name), async (client) => {
      const known = await client.query<{ known: boolean }>("select to_regclass('appdb.jobs') is not null as known");
      if (known.rows[0]?.known !== true) return false;
      const found = await client.query("select 1 from appdb.jobs where state in ('queued', 'running') limit 1");
      return found.rowCount === 1;
    });
    if (is_waiting) await this.open(name);
  }

  /** Closes the databases in which no job waits, so that they hold no connection; `mayClose` says whether nobody uses them now. */
  async closeIdle(mayClose: () => boolean): Promise<void> {
    for (const { name, sql } of await this.list()) {
      const entry = this.#entries.get(name);
      const jobs = await countOpenJobs(sql).catch(() => undefined);
      if (entry === undefined || this.#entries.get(name) !== entry || jobs !== 0 || !mayClose()) continue;
      this.#entries.delete(name);
      await entry.close();
    }
  }

  /** Number of jobs that have not ended in the open databases; 0 for one that does not answer now. */
  async countFills(): Promise<number> {
    const counts = await Promise.all((await this.list()).map(({ sql }) => countOpenJobs(sql).catch(() => 0)));
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
    await Promise.allSettled(entries.map((entry) => entry.close()));
  }

  #start(name: string): Entry {
    const { postgres, log, application_name } = this.#deps;
    const stopping = new AbortController();
    const dsn = postgres.dsn(name);
    let jobs: Promise<void> | undefined;
    const sql = createPgPool({ dsn, max: CONNECTIONS, application_name, log });
    const opening = (async () => {
      await postgres.ensureDatabase(name);
      await ensureCatalog(sql);
      if (stopping.signal.aborted) throw appError("daemon_not_running", { detail: "The daemon is stopping." });
      jobs = this.#runJobs(name, sql, stopping.signal);
      return { name, dsn, sql };
    })();
    const close = async () => {
      stopping.abort();
      await opening.catch(() => undefined);
      await jobs;
      await sql[Symbol.asyncDispose]();
    };
    // a database that could not be opened keeps no pool; the error itself is the caller's
    opening.catch(() => sql[Symbol.asyncDispose]());
    return { opening, close };
  }

  /** Runs the jobs until the signal; a loop that fails, because PostgreSQL was away for example, begins again. */
  async #runJobs(name: string, sql: SqlPool, signal: AbortSignal): Promise<void> {
    const { clock, createRunner, log, owner, query_limits } = this.#deps;
    for (let pause = FIRST_RETRY_MS; !signal.aborted; pause = Math.min(pause * 2, LONGEST_RETRY_MS)) {
      const started = clock.now();
      try {
        await runJobs({ sql, udf: createRunner, clock, log, owner, query_limits }, signal);
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
