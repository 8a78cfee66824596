import { createPgPool } from "@appdb/postgres/client/pg-pool";
import { withLogin } from "@appdb/postgres/client/socket-dsn";
import { eventually } from "@appdb/testkit/eventually";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { openTestApplication } from "@appdb/testkit/test-application";
import { afterAll, beforeAll, expect, test } from "vitest";
import { usePsqlBench } from "../testing/psql-bench.ts";

const { app, one, openSession, roles, sessions } = usePsqlBench({
  afterAll,
  beforeAll,
  log: createSilentLog(),
  open: openTestApplication,
});

test("ends a connection that others wait for, and keeps its session", async () => {
  await using open = await openSession(true);
  const count = await one("select count(*) from docs");
  await expect(
    holdDocs(open, async () => expect(await one("select count(*) from docs")).toBe(count)),
  ).rejects.toThrow();
  expect(await open.run("select count(*) from docs")).toEqual([[count]]);
  expect(open.session.ended.aborted).toBe(false);
});

test("ends a session whose connections make others wait again and again", { timeout: 180_000 }, async () => {
  await using open = await openSession(true);
  await using other = await openSession(true);
  const { ended } = open.session;
  const hold = async () => {
    while (!ended.aborted) {
      await holdDocs(open, async () => {
        await one("select count(*) from docs");
      }).catch(() => undefined);
    }
  };
  await hold();
  expect(ended.reason).toBe("blocking");
  await expect(sessions().connect(open.session.id)).rejects.toMatchObject({ code: "not_found" });
  await eventually(async () => expect(await roles()).toBe("1"));
  await expect(open.run("select 1")).rejects.toThrow();
  expect(await other.run("select 1")).toEqual([["1"]]);
});

/** Holds a lock on docs during `work`, in a connection of a session. */
async function holdDocs({ session }: Awaited<ReturnType<typeof openSession>>, work: () => Promise<void>) {
  const dsn = withLogin(app().dsn, { user: session.user, password: session.password });
  await using pool = createPgPool({ dsn, max: 1, application_name: "test", log: createSilentLog() });
  await pool.withConnection(async (connection) => {
    await connection.query({ text: "begin" });
    await connection.query({ text: "lock table docs in access exclusive mode" });
    await work();
    await connection.query({ text: "select 1" });
  });
}
