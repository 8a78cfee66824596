import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "kysely";
import type { ControlDatabase } from "../database/pool.ts";
import type { MemoryEnd } from "./pod-client.ts";

/** The end of a pod is seen, and stored with its reason, within this time. */
const STORED_MS = 8_000;
const LOOK_MS = 100;

/**
 * Why a pod ended, whose connection broke during a request of `sinceMs`: the reconciler stores it a moment later.
 * Undefined if the pod runs, and for another reason.
 */
export async function findMemoryEnd(
  db: ControlDatabase,
  podId: string,
  sinceMs: number,
): Promise<MemoryEnd | undefined> {
  const began = performance.now();
  for (;;) {
    const waitedMs = performance.now() - began;
    const ago = sql`clock_timestamp() - make_interval(secs => ${(sinceMs + waitedMs) / 1_000})`;
    const pod = await db
      .selectFrom("control.pods")
      .select("memory_ended_mb")
      .select(sql<boolean>`coalesce(memory_ended_at >= ${ago}, false)`.as("lacked_memory"))
      .select(sql<boolean>`coalesce(started_at >= ${ago}, false)`.as("was_restarted"))
      .where("id", "=", podId)
      .executeTakeFirst();
    if (pod?.lacked_memory === true && pod.memory_ended_mb !== null) return { memory_mb: pod.memory_ended_mb };
    if (pod === undefined || pod.was_restarted || waitedMs >= STORED_MS) return undefined;
    await sleep(LOOK_MS);
  }
}
