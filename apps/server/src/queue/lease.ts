import { randomInt } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "@appdb/engine/ports";
import { sql } from "kysely";
import pg from "pg";
import type { ControlDatabase } from "../database/pool.ts";

/** Namespace of the advisory locks that are leases. */
const LEASES = 734_190;
const MAX_LEASE = 2 ** 31 - 1;
const RETRY_MS = 500;

/**
 * The lease of a process: an advisory lock held by one connection. PostgreSQL releases it when the process dies for any
 * reason. Running jobs name the lease, so that other processes free the jobs of a dead one.
 */
export interface Lease extends AsyncDisposable {
  readonly id: number;
}

export async function openLease(options: pg.PoolConfig, log: Logger): Promise<Lease> {
  const id = randomInt(1, MAX_LEASE);
  const closing = new AbortController();
  let current = await connect(options, id);
  const kept = keepOpen();
  return {
    id,
    async [Symbol.asyncDispose]() {
      closing.abort();
      await current.client.end();
      await kept;
    },
  };

  async function keepOpen(): Promise<void> {
    while (!closing.signal.aborted) {
      const lost = await current.ended;
      if (closing.signal.aborted) return;
      const reason = lost instanceof Error ? lost.message : String(lost);
      log.warn({ reason }, "the connection of the lease was lost; it will be opened again");
      await openAgain();
    }
    await current.client.end();
  }

  /** Reconnects one attempt at a time: attempts that start further attempts would multiply. */
  async function openAgain(): Promise<void> {
    for (;;) {
      await sleep(RETRY_MS, undefined, { signal: closing.signal }).catch(() => undefined);
      if (closing.signal.aborted) return;
      try {
        current = await connect(options, id);
        return;
      } catch (error) {
        log.debug({ err: error }, "the connection that holds the lease is not open yet");
      }
    }
  }
}

async function connect(options: pg.PoolConfig, id: number) {
  const client = new pg.Client({ ...options, keepAlive: true, application_name: "appdb lease" });
  const ended = new Promise<unknown>((resolve) => {
    client.on("error", resolve);
    client.on("end", () => resolve(new Error("The connection has ended.")));
  });
  try {
    await client.connect();
    // a lost connection may hold the lock a moment longer
    await client.query("select pg_advisory_lock($1, $2)", [LEASES, id]);
    return { client, ended };
  } catch (error) {
    client.end().catch(() => undefined);
    throw error;
  }
}

/** Frees the jobs of dead processes. Returns how many. */
export async function releaseOrphanedJobs(db: ControlDatabase, { id }: Pick<Lease, "id">): Promise<number> {
  return await db.transaction().execute(async (tx) => {
    const { rows } = await sql<{ lease: number }>`
      with leases as materialized (select distinct lease from control.jobs where lease <> ${id})
      select lease from leases where pg_try_advisory_xact_lock(${LEASES}, lease)`.execute(tx);
    const dead = rows.map(({ lease }) => lease);
    if (dead.length === 0) return 0;
    const freed = await sql`update control.jobs set lease = null, run_at = now(), again_at = null
      where lease = any(${dead}::int[])`.execute(tx);
    return Number(freed.numAffectedRows ?? 0n);
  });
}
