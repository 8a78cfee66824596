import type { Pod } from "@appdb/contract/routes/control-databases";
import type { PodExit } from "@appdb/pods/driver/pod-driver";
import { sql } from "kysely";
import type { ControlDatabase, Tx } from "../../database/pool.ts";

/** Maximum time for a clean stop, in which PostgreSQL writes its buffers. */
export const STOP_GRACE_MS = 20_000;
const MAX_REASON = 500;

export interface PodToKeep {
  readonly id: string;
  readonly kind: "database" | "service";
  readonly state: Pod["state"];
  /** ISO 8601. Undefined keeps the stored value. */
  readonly started_at?: string;
  readonly reason: string | null;
}

/** Stores the state of a database's pod, for people. */
export async function upsertPodRow(db: ControlDatabase | Tx, databaseId: string, pod: PodToKeep): Promise<void> {
  const values = {
    state: pod.state,
    reason: pod.reason === null ? null : pod.reason.slice(0, MAX_REASON),
    ...(pod.started_at === undefined ? {} : { started_at: new Date(pod.started_at), draining_since: null }),
    ...(pod.state === "STOPPED" || pod.state === "FAILED" ? { memory_bytes: null } : {}),
  };
  await db
    .insertInto("control.pods")
    .values({ id: pod.id, database_id: databaseId, kind: pod.kind, started_at: null, memory_bytes: null, ...values })
    .onConflict((conflict) => conflict.column("id").doUpdateSet(values))
    .execute();
}

/**
 * Stores that a pod ended because it needed too much memory, for people; nothing for another end. `startedAt`: of the pod that
 * ended, whose end may be stored already.
 */
export async function keepMemoryEnd(
  db: ControlDatabase | Tx,
  podId: string,
  exit: PodExit | null | undefined,
  startedAt?: string,
): Promise<void> {
  if (exit?.is_out_of_memory !== true) return;
  const memoryMb = sql<number>`(select (coalesce(d.observed, d.desired) -> 'resources' ->> 'memory_mb')::integer
    from control.databases d where d.id = control.pods.database_id)`;
  let ended = db.updateTable("control.pods").where("id", "=", podId);
  if (startedAt !== undefined) {
    const from = new Date(startedAt);
    ended = ended.where((is) => is.or([is("memory_ended_at", "is", null), is("memory_ended_at", "<", from)]));
  }
  await ended.set({ memory_ended_at: sql<Date>`clock_timestamp()`, memory_ended_mb: memoryMb }).execute();
}
