import type { PodHealth } from "@appdb/contract/pod-spec";
import { sql } from "kysely";
import type { ControlDatabase } from "../../database/pool.ts";

/**
 * Adds a pod's usage since the last read by any process. A pod counts from its start, by a monotonic clock. A new `run`
 * is another pod, whose whole usage is new.
 */
export async function keepMetered(db: ControlDatabase, databaseId: string, { metered }: Pick<PodHealth, "metered">) {
  if (metered === null) return;
  const reading = JSON.stringify(metered);
  const added = (name: "cpu_ms" | "awake_ms") =>
    sql<string>`${sql.ref(name)} + case when metered ->> 'run' = ${metered.run}
      then greatest(0, ${metered[name]}::bigint - (metered ->> ${name})::bigint) else ${metered[name]}::bigint end`;
  await db
    .updateTable("control.databases")
    .set({ cpu_ms: added("cpu_ms"), awake_ms: added("awake_ms"), metered: reading })
    .where("id", "=", databaseId)
    // an older read that arrives late adds nothing
    .where(
      sql<boolean>`(metered is null or metered ->> 'run' <> ${metered.run} or (metered ->> 'awake_ms')::bigint < ${metered.awake_ms}::bigint)`,
    )
    .execute();
}
