import { createSilentLog } from "@appdb/testkit/silent-log";
import { openTestApplication } from "@appdb/testkit/test-application";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { APP, usePsqlBench } from "../testing/psql-bench.ts";

const { app, bench, one, openSession, sessions } = usePsqlBench({
  afterAll,
  beforeAll,
  log: createSilentLog(),
  open: openTestApplication,
});

describe("a session that writes", () => {
  test("inserts rows that a job completes as an insert would", async () => {
    await using writer = await openSession(true);
    await writer.run("insert into docs (id, title) values (10, 'ten apples'), (11, 'eleven')");
    expect(await one("select _errors ->> 'loud' from docs where id = 10")).toBe("pending");
    await app().finish([
      String(await one("select id from appdb.jobs where kind = 'close_pending' and state = 'queued'")),
    ]);
    expect(await one("select concat(loud, ' ', length, ' ', _errors) from docs where id = 10")).toBe("TEN APPLES 10 ");
    expect(
      await one(
        "select string_agg(twice, ' ' order by twice) from words where twice like '%ten%' or twice like 'app%'",
      ),
    ).toContain("tenten");
  });

  test("updates rows whose computed columns are computed again, and deletes them with their made rows", async () => {
    await using writer = await openSession(true);
    await writer.run("update docs set title = 'changed', price = 1 where id = 11");
    await writer.run("update docs set title = title where id = 3");
    expect(await one("select _errors from docs where id = 3")).toBe(null);
    await app().finish([
      String(await one("select id from appdb.jobs where kind = 'close_pending' and state = 'queued'")),
    ]);
    expect(await one("select concat(loud, ' ', length) from docs where id = 11")).toBe("CHANGED 7");
    await writer.run("delete from docs where id in (10, 11)");
    expect(await one("select count(*) from words where twice like '%ten%' or twice like 'changed%'")).toBe("0");
  });

  test.each([
    "update docs set loud = 'x'",
    "update docs set _errors = null",
    "update docs set _row = uuidv7()",
    "insert into docs (id, title, loud) values (20, 'x', 'y')",
    "insert into words (twice) values ('x')",
    "update words set twice = 'x'",
    "delete from words",
    "truncate docs",
    "alter table docs disable trigger all",
    "drop trigger appdb_psql_write on docs",
    "create table t (a int)",
    "drop table docs",
    "insert into unlisted values (1)",
    "delete from appdb.tables",
    "update appdb.jobs set state = 'done'",
    "set session_replication_role = replica",
    "set role appdb_owner",
    "create index on docs (price)",
  ])("may not run %s", async (sql) => {
    await using writer = await openSession(true);
    await expect(writer.run(sql)).rejects.toMatchObject({ sqlstate: expect.stringMatching(/^42/) });
  });

  test.each([
    "price = 'NaN'",
    "price = '-Infinity'",
    "made = 'infinity'",
    "made = '0044-03-15 BC'",
    "day = '10000-01-01'",
    "pair = '{1,2,3}'",
    "pair = '[0:1]={1,2}'",
    "pair = '{1,null}'",
    "pair = '{}'",
  ])("refuses a value that its type does not have: %s", async (change) => {
    await using session = await openSession(true);
    await expect(session.run(`update docs set ${change} where id = 1`)).rejects.toThrow("is outside of its type");
  });

  test("takes the least and greatest values of types, and no value", async () => {
    await using session = await openSession(true);
    const least = "price = -1.7e308, made = '0001-01-01Z', day = '0001-01-01', pair = '{1,2}'";
    const greatest = "price = 1.7e308, made = '9999-12-31T23:59:59.999999Z', day = '9999-12-31', pair = null";
    for (const change of [least, greatest, "price = null, made = null, day = null, pair = null"])
      expect(await session.run(`update docs set ${change} where id = 1 returning id`)).toEqual([["1"]]);
  });

  test("connects several times at once after an update of tables", async () => {
    await using writer = await openSession(true);
    for (const name of ["later", "latest"]) {
      await app().update(`${APP}\n\nclass Later(Base, name="${name}"):\n    name: db.String\n`);
      const tunnels = await Promise.all([1, 2, 3, 4].map(() => sessions().connect(writer.session.id)));
      for (const { socket } of tunnels) socket.destroy();
      expect(await writer.run(`insert into ${name} (name) values ('x') returning name`)).toEqual([["x"]]);
    }
  });

  test("is refused while the disk is full, and writes of others need no trigger", async () => {
    bench().fillDisk(true);
    await expect(sessions().open({ caller: "", folder: "", writes: true })).rejects.toThrow("full");
    bench().fillDisk(false);
    await app().post("/docs", [{ id: 30, title: "thirty" }]);
    expect(await one("select concat(loud, _errors) from docs where id = 30")).toBe("THIRTY");
  });
});
