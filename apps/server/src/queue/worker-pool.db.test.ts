import { setTimeout as sleep } from "node:timers/promises";
import { eventually } from "@appdb/testkit/eventually";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { sql } from "kysely";
import pg from "pg";
import { expect, test } from "vitest";
import { openServer } from "../testing/open-server.ts";
import { openLivingWorkers } from "./living-workers.ts";
import { keepWorking } from "./worker-pool.ts";

/** Workers that no notification reaches look so rarely here that the test would time out. */
const POLL_MS = 600_000;
/** In which they have looked after they were told. */
const LOOKED_MS = 300;
const CONNECTIONS = 10;

test("a job begins at once when workers found its queue locked by others that looked, and when the job before it ends", async () => {
  await using server = await openServer();
  const { db } = server.deps;
  const log = createSilentLog();
  const begun = new Set<string>();
  let end = () => {};
  const task = async (payload: unknown) => {
    begun.add(String(payload));
    if (payload === "long") await new Promise<void>((resolve) => (end = resolve));
  };
  const pool = new pg.Pool({ connectionString: server.dsn, max: CONNECTIONS });
  await using living = await openLivingWorkers({ connectionString: server.dsn }, log);
  const stopping = new AbortController();
  const working = keepWorking(
    { pool, living, log },
    { tasks: { task }, at_once: 4, poll_ms: POLL_MS },
    stopping.signal,
  );
  const add = async (id: string) => {
    await sql`select graphile_worker.add_job('task', ${JSON.stringify(id)}::json, queue_name => 'one')`.execute(db);
  };
  const begins = (id: string) => eventually(() => expect(begun.has(id)).toBe(true));
  await add("first");
  await begins("first");
  await db.transaction().execute(async (tx) => {
    await sql`select from graphile_worker._private_job_queues for update`.execute(tx);
    await add("second");
    await sleep(LOOKED_MS);
    expect(begun.has("second")).toBe(false);
  });
  await begins("second");
  await add("long");
  await begins("long");
  await add("last");
  await sleep(LOOKED_MS);
  expect(begun.has("last")).toBe(false);
  end();
  await begins("last");
  stopping.abort();
  await working;
  await pool.end();
});
