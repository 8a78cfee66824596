import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "@appdb/engine/ports";
import { sql } from "kysely";
import pg from "pg";
import type { Database } from "../database/pool.ts";

/** Namespace of the locks that say which workers live. */
const LOCKS = 734_190;
const LOCK = "select pg_advisory_lock($1, hashtext($2))";
const UNLOCK = "select pg_advisory_unlock($1, hashtext($2))";
const RETRY_MS = 500;
/** A worker says that it lives right after it has begun: what it locked before that is left to it. What was locked in the future is of
 *  before the clock was set back. */
const YOUNG = "2 seconds";

/**
 * Says which workers live: each process holds a lock on the names of its workers, over one connection, which PostgreSQL
 * lets go of when the process dies, however it dies.
 */
export interface LivingWorkers extends AsyncDisposable {
  /** Says that a worker of this process lives. */
  claim(worker: string): Promise<void>;
  /** Says that it does not any more: jobs that it left locked are for others. */
  release(worker: string): Promise<void>;
}

export async function openLivingWorkers(options: pg.PoolConfig, log: Logger): Promise<LivingWorkers> {
  const claimed = new Set<string>();
  const closing = new AbortController();
  let current = await open(options, claimed);
  const kept = keepOpen();
  return {
    async claim(worker) {
      claimed.add(worker);
      await current.query(LOCK, worker);
    },
    async release(worker) {
      claimed.delete(worker);
      // a connection that is lost meanwhile has let go of it
      await current.query(UNLOCK, worker);
    },
    async [Symbol.asyncDispose]() {
      closing.abort();
      await current.client.end();
      await kept;
    },
  };

  /** One attempt after the other: attempts that begin attempts of their own would be thousands within a minute. */
  async function keepOpen(): Promise<void> {
    while (!closing.signal.aborted) {
      const lost = await current.ended;
      if (closing.signal.aborted) return;
      const reason = lost instanceof Error ? lost.message : String(lost);
      log.warn({ reason }, "the connection that says which workers live was lost; it is opened again");
      await openAgain();
    }
    await current.client.end();
  }

  async function openAgain(): Promise<void> {
    for (;;) {
      await sleep(RETRY_MS, undefined, { signal: closing.signal }).catch(() => undefined);
      if (closing.signal.aborted) return;
      try {
        current = await open(options, claimed);
        return;
      } catch (error) {
        log.debug({ err: error }, "the connection that says which workers live is not open yet");
      }
    }
  }
}

interface OpenConnection {
  readonly client: pg.Client;
  /** Runs a statement about a worker behind those that were asked for before it: a client takes one at a time. */
  query(text: string, worker: string): Promise<void>;
  /** Resolves, with the reason, when the connection is lost. */
  readonly ended: Promise<unknown>;
}

async function open(options: pg.PoolConfig, claimed: ReadonlySet<string>): Promise<OpenConnection> {
  const client = new pg.Client({ ...options, keepAlive: true, application_name: "appdb living workers" });
  const ended = new Promise<unknown>((resolve) => {
    client.on("error", resolve);
    client.on("end", () => resolve(new Error("The connection has ended.")));
  });
  try {
    await client.connect();
    let last = Promise.resolve();
    const query: OpenConnection["query"] = (text, worker) => {
      const ran = last.then(async () => void (await client.query(text, [LOCKS, worker])));
      // whoever asked is told of its own failure alone
      last = ran.catch(() => undefined);
      return ran;
    };
    for (const worker of claimed) await query(LOCK, worker);
    return { client, query, ended };
  } catch (error) {
    client.end().catch(() => undefined);
    throw error;
  }
}

/** Frees the jobs of workers that are dead; else they would stay locked for four hours. Answers how many workers that were. */
export async function unlockDeadWorkers(db: Database): Promise<number> {
  return await db.transaction().execute(async (tx) => {
    const { rows } = await sql<{ worker: string }>`
      with locked as materialized (
        select locked_by as worker from graphile_worker._private_jobs
          where locked_by is not null and locked_at not between now() - ${YOUNG}::interval and now()
        union
        select locked_by from graphile_worker._private_job_queues
          where locked_by is not null and locked_at not between now() - ${YOUNG}::interval and now()
      )
      select worker from locked where pg_try_advisory_xact_lock(${LOCKS}, hashtext(worker))`.execute(tx);
    const dead = rows.map(({ worker }) => worker);
    if (dead.length > 0) await sql`select graphile_worker.force_unlock_workers(${dead}::text[])`.execute(tx);
    return dead.length;
  });
}
