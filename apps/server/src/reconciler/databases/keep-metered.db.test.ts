import { expect, test } from "vitest";
import { makeDatabase } from "../../testing/databases.ts";
import { openServer } from "../../testing/open-server.ts";
import { makeOrg, makePerson } from "../../testing/people.ts";
import { keepMetered } from "./keep-metered.ts";

test("usage is the sum over a database's pods, each counted once", async () => {
  await using server = await openServer();
  const { db } = server.deps;
  const owner = await makePerson(server);
  const id = await makeDatabase(server, await makeOrg(server, owner, "acme"));
  const read = async (run: string, cpuMs: number, awakeMs: number) => {
    await keepMetered(db, id, { metered: { run, cpu_ms: cpuMs, awake_ms: awakeMs } });
    const row = await db.selectFrom("control.databases").select(["cpu_ms", "awake_ms"]).executeTakeFirstOrThrow();
    return [Number(row.cpu_ms), Number(row.awake_ms)];
  };
  expect(await read("first", 1_000, 30_000)).toEqual([1_000, 30_000]);
  expect(await read("first", 1_500, 60_000)).toEqual([1_500, 60_000]);
  // read by another server process, whose last read is older
  expect(await read("first", 1_200, 45_000)).toEqual([1_500, 60_000]);
  expect(await read("first", 1_500, 60_000)).toEqual([1_500, 60_000]);
  expect(await read("second", 700, 5_000)).toEqual([2_200, 65_000]);
  expect(await read("second", 800, 35_000)).toEqual([2_300, 95_000]);
  await keepMetered(db, id, { metered: null });
  expect(await read("second", 800, 35_001)).toEqual([2_300, 95_001]);
  const answer = await server.ask("databaseShow", { as: owner, params: { org: "acme", db: "main" } });
  expect(answer.json).toMatchObject({ used: { cpu_seconds: 2.3, awake_seconds: 95.001 } });
  const metrics = await server.ask("databaseMetrics", { as: owner, params: { org: "acme" } });
  expect(metrics.text).toContain('appdb_database_cpu_seconds_total{organization="acme",database="main"} 2.3');
  expect(metrics.text).toContain('appdb_database_awake_seconds_total{organization="acme",database="main"} 95.001');
});
