import { deleteFolder, storeFolder } from "@appdb/engine/catalog/folders";
import { createPgPool } from "@appdb/postgres/client/pg-pool";
import { withLogin } from "@appdb/postgres/client/socket-dsn";
import { eventually } from "@appdb/testkit/eventually";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { openTestApplication } from "@appdb/testkit/test-application";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { APP, usePsqlBench } from "../testing/psql-bench.ts";
import { SQL_ATTACKS } from "../testing/sql-attacks.ts";
import { PsqlSessions } from "./psql-sessions.ts";

const { app, bench, one, openSession, roles, sessions } = usePsqlBench({
  afterAll,
  beforeAll,
  log: createSilentLog(),
  open: openTestApplication,
});

const READS = { caller: "", folder: "", writes: false };

test("a session reads tables by their names, and its role is gone when it ends", async () => {
  {
    await using one = await openSession();
    expect(await one.run("select count(*) from docs")).toEqual([["3"]]);
    expect(await one.run("select session_user = current_user, current_user = $$x$$")).toEqual([["t", "f"]]);
    expect(await roles()).toBe("1");
  }
  expect(await roles()).toBe("0");
});

test("a session needs a folder of the database", async () => {
  const open = (folder: string) => sessions().open({ caller: "", folder, writes: false });
  await expect(open("none")).rejects.toMatchObject({
    code: "folder_not_found",
    message: "The database has no folder none.",
    hint: "The database has no folder.",
  });
  await expect(open("docs")).rejects.toMatchObject({
    code: "folder_not_found",
    message: "docs is a table, and a folder is expected.",
  });
  await storeFolder(app().sql, "reports/old");
  await expect(open("none")).rejects.toMatchObject({ hint: "Its folders are: reports/old" });
  for (const folder of ["reports", "reports/old"]) {
    await using session = await openSession(false, folder);
    expect(await session.run("show search_path")).toEqual([[expect.stringContaining(folder)]]);
  }
  await deleteFolder(app().sql, "reports/old");
  expect(await roles()).toBe("0");
});

test("tables that an update adds can be read in an open session", async () => {
  await using session = await openSession();
  await app().update(`${APP}\n\nclass Later(Base, name="later"):\n    name: db.String\n`);
  const tunnel = await sessions().connect(session.session.id);
  tunnel.socket.destroy();
  expect(await session.run("select count(*) from later")).toEqual([["0"]]);
});

describe("attacks on a session that reads", () => {
  /** They change nothing but the session itself. */
  const HARMLESS = [
    /^(begin|commit|reset role|set statement_timeout = 0|prepare p |explain analyze select 1|vacuum)/,
    /^(listen|notify) jobs/,
    /^-- nothing|^$/,
    /^select set_config\('(statement_timeout|transaction_read_only)'/,
    /^select _row from docs$/,
  ];

  test.each(SQL_ATTACKS.filter(([, code]) => !code.includes("result_too_large") && !code.includes("query_timeout")))(
    "%s does not succeed",
    async (sql) => {
      await using attacker = await openSession();
      const refused = attacker.run(sql, "set default_transaction_read_only = off");
      const sqlstate = await refused.then(
        () => "done",
        (error: { readonly sqlstate?: string }) => String(error.sqlstate),
      );
      if (sqlstate === "done")
        expect(
          HARMLESS.some((one) => one.test(sql)),
          sql,
        ).toBe(true);
      else expect(sqlstate).toMatch(/^(42|0L|0A|22|25|2B|34|26|XX|58|55)/);
    },
  );

  test.each([
    "insert into docs (_row, id, title) values (uuidv7(), 9, 'x')",
    "update docs set price = 0",
    "delete from docs",
    "truncate docs",
    "copy docs from program 'cat'",
    "copy docs from '/etc/passwd'",
    "copy (select 1) to '/tmp/appdb-psql'",
    "alter role current_user valid until 'infinity'",
    "alter role current_user connection limit -1",
    "alter role current_user superuser",
    "alter role current_user set temp_file_limit = -1",
    "set role appdb_owner",
    "set role appdb_readers",
    "set temp_file_limit = -1",
    "set session_replication_role = replica",
    "set log_statement = 'none'",
    "create temp table t (a int)",
    "create table t (a int)",
    "create schema s",
    "create function f() returns int language sql as 'select 1'",
    "select lo_create(0)",
    "select pg_advisory_lock(1)",
    "select pg_read_file('/etc/passwd')",
    "select pg_notify('appdb_jobs', '')",
    "select pg_cancel_backend(pid) from pg_stat_activity",
    "select * from appdb.tables",
    "grant appdb_owner to current_user",
    "create role other",
    "create publication p for all tables",
    "create subscription s connection '' publication p",
    "comment on table docs is 'x'",
    "lock table docs in access exclusive mode",
    "select appdb.complete_row()",
  ])("%s is refused with writing transactions", async (sql) => {
    await using attacker = await openSession();
    await expect(attacker.run(sql, "set default_transaction_read_only = off")).rejects.toMatchObject({
      sqlstate: expect.stringMatching(/^(42|0L|0A|22|25|55)/),
    });
  });

  test("settings of the role cannot be changed for others, and only its own connection can be cancelled", async () => {
    await using attacker = await openSession();
    await using other = await openSession();
    await expect(
      attacker.run(`alter role ${other.session.user} password 'x'`, "set default_transaction_read_only = off"),
    ).rejects.toMatchObject({ sqlstate: "42501" });
    // its own password is that of a role that only this session reaches
    await attacker.run("alter role current_user password 'x'", "set default_transaction_read_only = off");
    await attacker.run(
      "alter default privileges grant select on tables to public",
      "set default_transaction_read_only = off",
    );
  });

  test("leave the tables and the roles as they were", async () => {
    expect(await one("select concat(count(*), ' ', sum(price)) from docs")).toBe("3 60.5");
    expect(await one("select count(*) from pg_roles where rolname in ('other')")).toBe("0");
    expect(await roles()).toBe("0");
  });
});

test("a fourth session at a time is refused, and one that ends makes room", async () => {
  const opened = await Promise.all([1, 2, 3].map(() => sessions().open(READS)));
  await expect(sessions().open(READS)).rejects.toMatchObject({ code: "overloaded" });
  for (const session of opened) await sessions().close(session);
  await sessions().close(await sessions().open(READS));
  await expect(sessions().connect(opened[0]?.id ?? "")).rejects.toMatchObject({ code: "not_found" });
});

test("roles of a crashed server are dropped, and those of open sessions stay", async () => {
  await using crashed = new PsqlSessions({
    database: bench().database,
    dsn: app().dsn,
    sql: app().sql,
    superuser_dsn: app().dsn,
    application_name: "test",
    sql_reads: bench().reads,
    log: createSilentLog(),
    admitWrites: async () => undefined,
  });
  await crashed.open(READS);
  await using open = await openSession();
  expect(await roles()).toBe("2");
  sessions().collect();
  await eventually(async () => expect(await roles()).toBe("1"));
  expect(await open.run("select 1")).toEqual([["1"]]);
});

test("a session's end closes its connections", async () => {
  await using open = await openSession();
  const running = open.run(
    "select count(*) from generate_series(1, 9000) a, generate_series(1, 9000) b, generate_series(1, 9000) c",
  );
  const ended = expect(running).rejects.toBeDefined();
  await eventually(async () =>
    expect(
      await one(`select count(*) from pg_stat_activity where usename = '${open.session.user}' and state = 'active'`),
    ).toBe("1"),
  );
  await sessions().close(open.session);
  await ended;
  expect(await roles()).toBe("0");
});

test("a session ends that holds the lock on its own role", async () => {
  const { session, run } = await openSession();
  const again = withLogin(app().dsn, { user: session.user, password: session.password });
  await using waiting = createPgPool({ dsn: again, max: 1, application_name: "test", log: createSilentLog() });
  const free = "set statement_timeout = 0; set lock_timeout = 0; begin read write";
  await run("alter role current_user password 'x'", free);
  const blocked = waiting
    .withConnection(async (connection) => {
      await connection.query({ text: free });
      await connection.query({ text: "alter role current_user password 'y'" });
    })
    .catch((error: unknown) => error);
  await sessions().close(session);
  await blocked;
  expect(await roles()).toBe("0");
  expect(
    await one("select count(*) from pg_stat_activity where usename like 'psql\\_%' and datname = current_database()"),
  ).toBe("0");
});

test("what a session makes PostgreSQL log stays out of its log", async () => {
  await using session = await openSession();
  expect(await session.run("show log_min_messages")).toEqual([["fatal"]]);
  await expect(session.run("set log_min_messages = 'log'")).rejects.toThrow("permission denied");
});
