import type { Logger } from "@appdb/engine/ports";
import { sql } from "kysely";
import pg from "pg";
import type { Database } from "../database/pool.ts";

/** Namespace of the locks that say which workers live. */
const LOCKS = 734_190;
const RETRY_MS = 500;
/** A worker says that it lives right after it has begun: what it locked before that is left to it. */
const YOUNG = "2 seconds";

/**
 * Says which workers live: each process holds a lock on the names of its workers, over one connection, which PostgreSQL
 * lets go of when the process dies, however it dies.
 */
export interface LivingWorkers extends AsyncDisposable {
  /** Says that a worker of this process lives. */
  claim(worker: string): Promise<void>;
}

export async function openLivingWorkers(options: pg.PoolConfig, log: Logger): Promise<LivingWorkers> {
  const claimed = new Set<string>();
  let is_closed = false;
  let timer: NodeJS.Timeout | undefined;
  const lock = (client: pg.Client, worker: string) =>
    client.query("select pg_advisory_lock($1, hashtext($2))", [LOCKS, worker]);
  const open = async (): Promise<pg.Client> => {
    const client = new pg.Client({ ...options, keepAlive: true, application_name: "appdb living workers" });
    let is_lost = false;
    const lost = (error: unknown) => {
      if (is_lost || is_closed) return;
      is_lost = true;
      log.warn(
        { reason: error instanceof Error ? error.message : String(error) },
        "the connection that says which workers live was lost; it is opened again",
      );
      timer = setTimeout(() => {
        open().then(
          (next) => {
            current = next;
          },
          (cause) => lostAgain(cause),
        );
      }, RETRY_MS);
    };
    const lostAgain = (cause: unknown) => {
      is_lost = false;
      lost(cause);
    };
    client.on("error", lost);
    client.on("end", () => lost(new Error("The connection has ended.")));
    await client.connect();
    for (const worker of claimed) await lock(client, worker);
    return client;
  };
  let current = await open();
  return {
    async claim(worker) {
      claimed.add(worker);
      await lock(current, worker);
    },
    async [Symbol.asyncDispose]() {
      is_closed = true;
      clearTimeout(timer);
      await current.end();
    },
  };
}

/** Frees the jobs of workers that are dead; else they would stay locked for four hours. Answers how many workers that were. */
export async function unlockDeadWorkers(db: Database): Promise<number> {
  return await db.transaction().execute(async (tx) => {
    const { rows } = await sql<{ worker: string }>`
      with locked as materialized (
        select locked_by as worker from graphile_worker._private_jobs
          where locked_by is not null and locked_at < now() - ${YOUNG}::interval
        union
        select locked_by from graphile_worker._private_job_queues
          where locked_by is not null and locked_at < now() - ${YOUNG}::interval
      )
      select worker from locked where pg_try_advisory_xact_lock(${LOCKS}, hashtext(worker))`.execute(tx);
    const dead = rows.map(({ worker }) => worker);
    if (dead.length > 0) await sql`select graphile_worker.force_unlock_workers(${dead}::text[])`.execute(tx);
    return dead.length;
  });
}
