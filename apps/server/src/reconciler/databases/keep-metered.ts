import type { PodHealth } from "@appdb/contract/pod-spec";
import { sql } from "kysely";
import type { ControlDatabase } from "../../database/pool.ts";

/**
 * Adds what a pod of a database has used since it was read last, by this process or another one. A pod counts from its own start, by a
 * clock that nobody sets; a new `run` is another pod, of which everything is new.
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
    // one that was read before the last and comes after it adds nothing
    .where(
      sql<boolean>`(metered is null or metered ->> 'run' <> ${metered.run} or (metered ->> 'awake_ms')::bigint < ${metered.awake_ms}::bigint)`,
    )
    .execute();
}
