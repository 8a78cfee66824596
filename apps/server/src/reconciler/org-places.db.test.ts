import { eventually } from "@appdb/testkit/eventually";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { sql } from "kysely";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { enqueueBuildImage, enqueuePrepareImage, enqueueReconcileDatabase, type JobName } from "../queue/jobs.ts";
import { openLease } from "../queue/lease.ts";
import { AT_ONCE, OF_ONE_ORG } from "../queue/shares.ts";
import { runWorkers } from "../queue/worker-pool.ts";
import { makeDatabase } from "../testing/databases.ts";
import { openServer, type TestServer } from "../testing/open-server.ts";
import { makeOrg, makePerson } from "../testing/people.ts";

/** The default of SERVICE_ORGS_PER_PERSON. */
const ORGS_PER_PERSON = 3;
let server: TestServer;
beforeAll(async () => {
  server = await openServer();
});
afterAll(() => server[Symbol.asyncDispose]());
beforeEach(() => sql`delete from control.jobs`.execute(server.deps.db));

/** Returns the ids of an organization's new databases. */
async function makeDatabases(count: number): Promise<string[]> {
  const org = await makeOrg(server, await makePerson(server));
  const ids: string[] = [];
  for (let at = 0; at < count; at += 1) ids.push(await makeDatabase(server, org, { name: `db${at}` }));
  return ids;
}

interface TestPool extends AsyncDisposable {
  /** Databases with started jobs, in order. */
  readonly begun: readonly string[];
  /** Databases with running jobs. */
  readonly running: ReadonlySet<string>;
  /** Ends the job of a database. */
  end(databaseId: string): void;
}

/** Starts workers whose jobs end on request. */
async function openPool(tasks: readonly JobName[], atOnce: number): Promise<TestPool> {
  const log = createSilentLog();
  const lease = await openLease({ connectionString: server.dsn }, log);
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const work = async (payload: unknown) => {
    const { database_id: databaseId, preparation_id: preparationId = databaseId } = payload as Record<string, string>;
    const name = String(preparationId);
    begun.push(name);
    await new Promise<void>((resolve) => ends.set(name, resolve));
  };
  const stopping = new AbortController();
  const pool = { tasks: Object.fromEntries(tasks.map((name) => [name, work])), at_once: atOnce };
  const { db, notifications } = server.deps;
  const working = runWorkers({ db, lease, log, notifications }, pool, stopping.signal);
  const end = (id: string) => {
    ends.get(id)?.();
    ends.delete(id);
  };
  return {
    begun,
    get running() {
      return new Set(ends.keys());
    },
    end,
    async [Symbol.asyncDispose]() {
      stopping.abort();
      for (const id of ends.keys()) end(id);
      await working;
      await lease[Symbol.asyncDispose]();
    },
  };
}

/** Counts the jobs that a worker could start now. */
async function countReady(): Promise<number> {
  const { rows } = await sql<{
    ready: number;
  }>`select count(*)::int as ready from control.jobs j where j.lease is null and j.run_at <= now()
    and not exists (select from control.jobs r where r.lane = j.lane and r.lease is not null)`.execute(server.deps.db);
  return rows[0]?.ready ?? -1;
}

test("one organization's builds and preparations leave a place for another's builds", async () => {
  const [mine = "", mineToo = ""] = await makeDatabases(2);
  const [other = ""] = await makeDatabases(1);
  const { db } = server.deps;
  await using pool = await openPool(["build-image", "prepare-image"], 2);
  await enqueueBuildImage(db, mine);
  await db.transaction().execute((tx) => enqueuePrepareImage(tx, mineToo, mineToo));
  await eventually(() => expect(pool.begun).toHaveLength(1));
  await eventually(async () => expect(await countReady()).toBe(0));
  await enqueueBuildImage(db, other);
  await eventually(() => expect(pool.begun).toHaveLength(2));
  expect(pool.begun[1]).toBe(other);
});

test("as many organizations as a person may create leave room for others", () => {
  for (const kind of ["databases", "services", "builds"] as const) {
    expect(OF_ONE_ORG[kind] * ORGS_PER_PERSON).toBeLessThan(AT_ONCE[kind]);
  }
});

test("organizations take turns at building, whatever they have queued", async () => {
  const many = await makeDatabases(3);
  const [one = ""] = await makeDatabases(1);
  const [another = ""] = await makeDatabases(1);
  const { db } = server.deps;
  for (const id of [...many, one, another]) await enqueueBuildImage(db, id);
  await using pool = await openPool(["build-image"], 1);
  for (let at = 0; at < 5; at += 1) {
    await eventually(() => expect(pool.begun).toHaveLength(at + 1));
    await eventually(() => expect(pool.running.size).toBe(1));
    // an organization in a loop requests the next build while the last one runs
    if (at === 0) await enqueueBuildImage(db, many[0] ?? "");
    pool.end(pool.begun[at] ?? "");
  }
  expect(pool.begun).toEqual([many[0], one, another, many[1], many[2]]);
});

test("an organization's concurrent jobs are limited, one per database", async () => {
  const many = await makeDatabases(40);
  const [other = ""] = await makeDatabases(1);
  const { db } = server.deps;
  const places = OF_ONE_ORG.databases;
  await using pool = await openPool(["reconcile-database"], AT_ONCE.databases);
  for (const id of many) await enqueueReconcileDatabase(db, id);
  await eventually(() => expect(pool.begun).toHaveLength(places));
  await eventually(async () => expect(await countReady()).toBe(0));
  const [first = ""] = pool.begun;
  await enqueueReconcileDatabase(db, first);
  await enqueueReconcileDatabase(db, other);
  await eventually(() => expect(pool.running).toContain(other));
  expect(pool.begun).toHaveLength(places + 1);
  expect(pool.begun.filter((id) => id === first)).toHaveLength(1);
  for (let ended = 0; ended < many.length; ended += 1) {
    await eventually(() => expect([...pool.running].filter((id) => id !== other)).not.toEqual([]));
    pool.end([...pool.running].find((id) => id !== other) ?? "");
  }
  await eventually(() => expect(new Set(pool.begun)).toEqual(new Set([...many, other])));
});
