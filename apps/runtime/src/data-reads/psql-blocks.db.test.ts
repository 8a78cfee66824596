import { setTimeout as sleep } from "node:timers/promises";
import { SqlError } from "@appdb/engine/ports";
import { changeWhenFree } from "@appdb/engine/schema/apply-schema";
import { createPgPool } from "@appdb/postgres/client/pg-pool";
import { withLogin } from "@appdb/postgres/client/socket-dsn";
import { eventually } from "@appdb/testkit/eventually";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { openTestApplication } from "@appdb/testkit/test-application";
import { afterAll, beforeAll, expect, test } from "vitest";
import { APP, usePsqlBench } from "../testing/psql-bench.ts";

const { app, one, openSession, roles, sessions } = usePsqlBench({
  afterAll,
  beforeAll,
  log: createSilentLog(),
  open: openTestApplication,
});

type Session = Awaited<ReturnType<typeof openSession>>;

const LOCK = "lock table docs in access exclusive mode";
const READ = "select count(*) from docs";
/** Reads docs, and works for hours. */
const LONG_READ = `select count(*) from docs, generate_series(1, 9000) a, generate_series(1, 9000) b, generate_series(1, 9000) c`;
const WAITS = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";
const withColumn = (column: string) =>
  APP.replace("    length = title.len()\n", `    length = title.len()\n    ${column}\n`);

test("ends a connection that others wait for, and keeps its session", async () => {
  await using open = await openSession(true, "", "a");
  const count = await one(READ);
  await expect(hold(open, LOCK, async () => expect(await one(READ)).toBe(count))).rejects.toThrow();
  expect(await open.run(READ)).toEqual([[count]]);
  expect(open.session.ended.aborted).toBe(false);
});

test("ends a session whose connections make others wait again and again, and its caller pauses", async () => {
  await using open = await openSession(true, "", "b");
  await using other = await openSession(true, "", "c");
  const { ended } = open.session;
  while (!ended.aborted) await hold(open, LOCK, () => one(READ)).catch(() => undefined);
  expect(ended.reason).toBe("blocking");
  await expect(sessions().connect(open.session.id)).rejects.toMatchObject({ code: "not_found" });
  await eventually(async () => expect(await roles()).toBe("1"));
  await expect(open.run("select 1")).rejects.toThrow();
  expect(await other.run("select 1")).toEqual([["1"]]);
  await expect(openSession(false, "", "b")).rejects.toMatchObject({
    code: "psql_paused",
    meta: { retry_after_s: expect.any(Number) },
  });
});

test("counts the blocks of a caller's sessions together", async () => {
  for (const isLast of [false, false, true]) {
    await using open = await openSession(true, "", "d");
    await expect(hold(open, LOCK, () => one(READ))).rejects.toThrow();
    expect(open.session.ended.aborted).toBe(isLast);
  }
  await expect(openSession(true, "", "d")).rejects.toMatchObject({ code: "psql_paused" });
  await using _other = await openSession(true, "", "e");
});

test("ends an idle transaction that a change of tables waits for again and again", async () => {
  await using open = await openSession(false, "", "f");
  await expect(hold(open, READ, () => app().update(withColumn("half = price / 2")))).rejects.toThrow();
  expect(await one("select count(*) from pg_attribute where attrelid = 'docs'::regclass and attname = 'half'")).toBe(
    "1",
  );
});

test("ends an idle transaction that the end of a job waits for", async () => {
  await using open = await openSession(false, "", "g");
  const jobs = await app().update(withColumn('worst = (title + "x").index("y")'));
  await expect(
    hold(open, READ, () =>
      app()
        .finish(jobs)
        .catch(() => undefined),
    ),
  ).rejects.toThrow();
  expect(await one(`select state from appdb.jobs where id = '${jobs[0]}'`)).toBe("failed");
});

test("a statement that runs has its time, and one that takes longer ends", async () => {
  await using running = await openSession(false, "", "h");
  await using idle = await openSession(false, "", "i");
  let isOver = false;
  const read = running.run(LONG_READ, "set statement_timeout = 0").catch(() => {
    isOver = true;
  });
  const isReading = `select count(*) from pg_stat_activity where usename = '${running.session.user}' and state = 'active'`;
  await eventually(async () => expect(await one(isReading)).toBe("1"));
  let change: Promise<unknown> | undefined;
  await expect(
    hold(idle, READ, async () => {
      change = app().update(withColumn("third = price / 3"));
      const isIdle = `select count(*) from pg_stat_activity where usename = '${idle.session.user}'`;
      await eventually(async () => expect(await one(isIdle)).toBe("0"));
      expect(isOver).toBe(false);
    }),
  ).rejects.toThrow();
  await change;
  await read;
  expect(isOver).toBe(true);
});

test("reads that overlap do not hold a change of tables back", async () => {
  await using first = await openSession(false, "", "l");
  await using second = await openSession(false, "", "m");
  await using third = await openSession(false, "", "n");
  const all = [first, second, third];
  let isDone = false;
  const ends = new Set<unknown>();
  const reading = all.map(async (open, at) => {
    await sleep(at * 300);
    while (!isDone) {
      const error = await open.run(LONG_READ, "set statement_timeout = 900").catch((thrown: SqlError) => thrown);
      ends.add(error instanceof SqlError ? error.sqlstate : error);
    }
  });
  await eventually(async () => expect(await one(readsOf(all))).toBe("3"));
  try {
    await lockDocs();
  } finally {
    isDone = true;
    await Promise.all(reading);
  }
  // each by its own timeout
  expect([...ends]).toEqual(["57014"]);
  expect(all.map(({ session }) => session.ended.aborted)).toEqual([false, false, false]);
});

test("a session that only waits for another one stays, and the other one ends", async () => {
  await using holder = await openSession(true, "", "j");
  await using waiting = await openSession(true, "", "k");
  const queue: Promise<unknown>[] = [];
  const isWaiting = (count: string) => eventually(async () => expect(await one(WAITS)).toBe(count));
  await expect(
    hold(holder, "update docs set price = 1 where id = 1", async () => {
      queue.push(waiting.run("update docs set price = price + 1 where id = 1 returning price"));
      await isWaiting("1");
      queue.push(one("update docs set price = price * 10 where id = 1 returning price"));
      await isWaiting("2");
      await Promise.all(queue);
    }),
  ).rejects.toThrow();
  expect(await Promise.all(queue)).toEqual([[["4"]], "40"]);
  expect(await waiting.run("select 1")).toEqual([["1"]]);
});

/** Locks docs as a change of its columns does. */
async function lockDocs(): Promise<void> {
  const deps = { sql: app().sql, clock: { now: Date.now }, log: createSilentLog() };
  await changeWhenFree(deps, { target: "main" }, (connection) => connection.query({ text: LOCK }));
}

/** Counts the sessions that run a statement. */
function readsOf(all: readonly Session[]): string {
  const users = all.map(({ session }) => `'${session.user}'`).join(", ");
  return `select count(*) from pg_stat_activity where usename in (${users}) and state = 'active'`;
}

/** Runs a statement in a transaction of a session, then `work` before the transaction ends. */
async function hold({ session }: Session, statement: string, work: () => Promise<unknown>): Promise<void> {
  const dsn = withLogin(app().dsn, { user: session.user, password: session.password });
  await using pool = createPgPool({ dsn, max: 1, application_name: "test", log: createSilentLog() });
  await pool.withConnection(async (connection) => {
    await connection.query({ text: "begin" });
    await connection.query({ text: statement });
    await work();
    await connection.query({ text: "select 1" });
  });
}
