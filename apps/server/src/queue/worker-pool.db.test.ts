import { setTimeout as sleep } from "node:timers/promises";
import { eventually } from "@appdb/testkit/eventually";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { sql } from "kysely";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openServer, type TestServer } from "../testing/open-server.ts";
import { enqueueJob, rescheduleFutureJobs } from "./jobs.ts";
import { openLease, releaseOrphanedJobs } from "./lease.ts";
import { MAX_BACKOFF_S, runWorkers } from "./worker-pool.ts";

/** So long that the test would time out without a notification. */
const POLL_MS = 600_000;
/** Workers have polled within this time after a notification. */
const LOOKED_MS = 300;
const LANE = sql<string>`'one'`;

let server: TestServer;
beforeEach(async () => {
  server = await openServer();
});
afterEach(() => server[Symbol.asyncDispose]());

interface TestWorkers extends AsyncDisposable {
  /** The started jobs with their attempts. */
  readonly begun: readonly string[];
  readonly log: ReturnType<typeof createSilentLog>;
  /** Ends the running job. */
  end(error?: Error): void;
}

async function openWorkers(): Promise<TestWorkers> {
  const log = createSilentLog();
  const { db, notifications } = server.deps;
  const lease = await openLease({ connectionString: server.dsn }, log);
  const begun: string[] = [];
  const stopping = new AbortController();
  let end: (error?: Error) => void = () => undefined;
  const work = async ({ org_id: id }: { readonly org_id: string }, { attempt }: { readonly attempt: number }) => {
    begun.push(`${id.slice(-1)} ${attempt}`);
    await new Promise<void>((resolve, reject) => {
      end = (error) => (error === undefined ? resolve() : reject(error));
    });
  };
  const pool = { tasks: { "provision-main": work }, at_once: 4, poll_ms: POLL_MS };
  const working = runWorkers({ db, lease, log, notifications }, pool, stopping.signal);
  return {
    begun,
    log,
    end: (error) => end(error),
    async [Symbol.asyncDispose]() {
      stopping.abort();
      end();
      await working;
      await lease[Symbol.asyncDispose]();
    },
  };
}

const add = async (id: number, options: { readonly delay_s?: number; readonly keeps_sooner?: boolean } = {}) => {
  const orgId = `00000000-0000-4000-8000-00000000000${id}`;
  await enqueueJob(server.deps.db, "provision-main", { org_id: orgId }, { ...options, key: `job ${id}`, lane: LANE });
};
const jobs = async () => {
  const { rows } = await sql<{ key: string; waits_s: number }>`select key,
    round(extract(epoch from run_at - now()))::int as waits_s from control.jobs order by id`.execute(server.deps.db);
  return rows;
};

test("a job starts at once when added, and when the previous job of its lane ends", async () => {
  await using workers = await openWorkers();
  await add(1);
  await eventually(() => expect(workers.begun).toEqual(["1 1"]));
  await add(2);
  await sleep(LOOKED_MS);
  expect(workers.begun).toEqual(["1 1"]);
  workers.end();
  await eventually(() => expect(workers.begun).toEqual(["1 1", "2 1"]));
  workers.end();
  await eventually(async () => expect(await jobs()).toEqual([]));
});

test("a job requested again while it runs runs once more", async () => {
  await using workers = await openWorkers();
  await add(1);
  await eventually(() => expect(workers.begun).toEqual(["1 1"]));
  await add(1);
  await add(1);
  workers.end();
  await eventually(() => expect(workers.begun).toEqual(["1 1", "1 1"]));
  workers.end();
  await eventually(async () => expect(await jobs()).toEqual([]));
  expect(workers.begun).toHaveLength(2);
});

test("a failed job is retried later with the next attempt, and its error is logged", async () => {
  await using workers = await openWorkers();
  await add(1);
  await eventually(() => expect(workers.begun).toEqual(["1 1"]));
  const broken = new TypeError("x is undefined");
  workers.end(broken);
  await eventually(() => expect(workers.begun).toEqual(["1 1", "1 2"]));
  expect(workers.log.lines).toMatchObject([{ level: "error", fields: { err: broken, job: "job 1" } }]);
});

test("a job that failed often waits for its pause, even after the clock was set back", async () => {
  await add(1, { delay_s: MAX_BACKOFF_S });
  await sql`update control.jobs set name = 'reconcile-database'`.execute(server.deps.db);
  expect(await rescheduleFutureJobs(server.deps.db)).toBe(0);
  expect((await jobs())[0]?.waits_s).toBeGreaterThan(MAX_BACKOFF_S - 10);
});

test("a lost connection is not logged as a job's error", async () => {
  await using workers = await openWorkers();
  await add(1);
  await eventually(() => expect(workers.begun).toEqual(["1 1"]));
  workers.end(new Error("Connection terminated unexpectedly"));
  await eventually(() => expect(workers.log.lines).toMatchObject([{ level: "debug" }]));
});

test("a second request replaces the time of a waiting job, or keeps the sooner one", async () => {
  await add(1, { delay_s: 100 });
  await add(1, { delay_s: 50 });
  expect(await jobs()).toEqual([{ key: "job 1", waits_s: 50 }]);
  await add(1, { delay_s: 80, keeps_sooner: true });
  expect(await jobs()).toEqual([{ key: "job 1", waits_s: 50 }]);
  await add(1, { delay_s: 20, keeps_sooner: true });
  expect(await jobs()).toEqual([{ key: "job 1", waits_s: 20 }]);
});

test("jobs of a running process stay its own, and those of a dead one are freed", async () => {
  const { db } = server.deps;
  {
    await using lease = await openLease({ connectionString: server.dsn }, createSilentLog());
    await add(1);
    await sql`update control.jobs set lease = ${lease.id}`.execute(db);
    expect(await releaseOrphanedJobs(db, { id: 0 })).toBe(0);
  }
  await eventually(async () => expect(await releaseOrphanedJobs(db, { id: 0 })).toBe(1));
  await using workers = await openWorkers();
  await eventually(() => expect(workers.begun).toEqual(["1 1"]));
});
