import type { SqlConnection } from "../ports.ts";

/** The ids of tables without a runtime. */
export async function tablesWithoutRuntime(sql: SqlConnection): Promise<Set<number>> {
  const { rows } = await sql.query({ text: "select id from appdb.tables where runtime_id is null" });
  return new Set(rows.map(([id]) => Number(id)));
}

/** Stores the runtime of tables that have none. */
export async function giveRuntime(sql: SqlConnection, tableIds: readonly number[], runtimeId: string): Promise<void> {
  await sql.query({
    text: "update appdb.tables set runtime_id = $2 where id = any($1::bigint[]) and runtime_id is null",
    values: [tableIds, runtimeId],
  });
}
