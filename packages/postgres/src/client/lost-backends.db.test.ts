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
    await expect(run(pool, other, left)).rejects.toMatchObject({ code: "database_unavailable" });
    expect(await countDeaf(other)).toBe(left);
    expect((await pool.query({ text: "select 1" })).rows).toEqual([["1"]]);
  }
  await expect(run(pool, other, "3")).rejects.toMatchObject({ code: "database_unavailable" });
  await eventually(async () => expect(await countDeaf(other)).toBe("0"));
});

/** Runs the statement and leaves it in its function, as the last of `count`. */
async function run(pool: SqlPool, other: SqlPool, count: string): Promise<void> {
  const left = new AbortController();
  const running = pool.transaction(async (connection) => {
    await connection.query({ text: DEAF, signal: left.signal });
  });
  running.catch(() => undefined);
  await eventually(async () => expect(await countDeaf(other, "0.5 s")).toBe(count));
  left.abort();
  await running;
}

/** Counts the statements that have run for so long. */
async function countDeaf(pool: SqlPool, age = "0 s"): Promise<string | null | undefined> {
  const { rows } = await pool.query({
    text: `select count(*) from pg_stat_activity where state = 'active' and query like '%translate(repeat%'
      and pid <> pg_backend_pid() and query_start < now() - interval '${age}'`,
  });
  return rows[0]?.[0];
}
