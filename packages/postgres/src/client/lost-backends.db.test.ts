import type { SqlPool } from "@appdb/engine/ports";
import { eventually } from "@appdb/testkit/eventually";
import { startTestPostgres } from "@appdb/testkit/test-postgres";
import { expect, test } from "vitest";
import { createPgPool } from "./pg-pool.ts";

/** Works for hours in one function, which looks for neither a cancel nor the end of its connection. */
const DEAF = "select length(translate(repeat('a', 1000000), repeat('b', 1000000), ''))";

test("statements that nothing ends give their connections back, and a third has them killed", async () => {
  await using postgres = await startTestPostgres();
  await using other = createPgPool({ dsn: postgres.dsn, max: 1, application_name: "other" });
  await using pool = createPgPool({
    dsn: postgres.dsn,
    max: 1,
    grace_ms: 100,
    kills_lost: true,
    application_name: "deaf",
  });
  for (const left of ["1", "2"]) {
    await expect(run(pool)).rejects.toMatchObject({ code: "database_unavailable" });
    expect(await countDeaf(other)).toBe(left);
    expect((await pool.query({ text: "select 1" })).rows).toEqual([["1"]]);
  }
  await expect(run(pool)).rejects.toMatchObject({ code: "database_unavailable" });
  await eventually(async () => expect(await countDeaf(other)).toBe("0"));
});

async function run(pool: SqlPool): Promise<void> {
  await pool.transaction(async (connection) => {
    await connection.query({ text: DEAF, signal: AbortSignal.timeout(1_000) });
  });
}

async function countDeaf(pool: SqlPool): Promise<string | null | undefined> {
  const { rows } = await pool.query({
    text: "select count(*) from pg_stat_activity where state = 'active' and query like '%translate(repeat%' and pid <> pg_backend_pid()",
  });
  return rows[0]?.[0];
}
