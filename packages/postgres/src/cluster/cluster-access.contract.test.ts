import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readDiskRoom } from "@appdb/engine/media/media-objects";
import { locateTools, requirePostgresBin } from "@appdb/system/tools/locate-tools";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createPgPool } from "../client/pg-pool.ts";
import { refuseWrites, tellDiskRoom } from "../client/refuse-writes.ts";
import { socketDsn } from "../client/socket-dsn.ts";
import { withClient } from "./database-admin.ts";
import type { EmbeddedPostgresOptions } from "./embedded-options.ts";
import { EmbeddedPostgres } from "./embedded-postgres.ts";
import { DATABASE_OPTIONS, runAlone } from "./init-cluster.ts";
import { nameRuntimeFolder } from "./runtime-folder.ts";
import { asServerUser } from "./server-user.ts";
import { ensureServiceRole, servicePassword } from "./service-role.ts";

const TIMEOUT = 180_000;
const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
const bin = requirePostgresBin(locateTools({ program_url: import.meta.url, postgres_bin: process.env.SERVICE_PG_BIN }));
const SERVICE = "svc_0123456789ab";

let home: string;
let runtimeFolder: string;
const started: EmbeddedPostgres[] = [];

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "appdb-access-"));
  runtimeFolder = nameRuntimeFolder(home, undefined);
});

afterEach(async () => {
  for (const postgres of started.splice(0)) await postgres.stop();
  rmSync(home, { recursive: true, force: true });
  rmSync(runtimeFolder, { recursive: true, force: true });
});

const cluster = (...path: string[]) => join(home, "postgres", "18", ...path);

async function start(more: Partial<EmbeddedPostgresOptions> = {}): Promise<EmbeddedPostgres> {
  const places = {
    folder: join(home, "postgres"),
    runtime_folder: runtimeFolder,
    log_file: join(home, "logs", "postgres.log"),
  };
  const postgres = new EmbeddedPostgres({ bin, ...places, log: silent, ...more });
  started.push(postgres);
  await postgres.start();
  return postgres;
}

/** A cluster of a hosted database. */
const startSole = () => start({ template_folder: join(home, "template") });

async function ask(dsn: string, text: string): Promise<unknown[][]> {
  return await withClient(dsn, async (client) => (await client.query({ text, rowMode: "array" })).rows);
}

const refusedBy = (dsn: string) =>
  expect(ask(dsn, "select 1")).rejects.toMatchObject({ cause: { code: expect.stringMatching(/^28/) } });

/** Error of each statement. */
async function refusals(dsn: string, statements: readonly string[]): Promise<Record<string, unknown>> {
  const codes: Record<string, unknown> = {};
  for (const text of statements) {
    codes[text] = await ask(dsn, text).then(
      () => "done",
      (error: { code?: unknown }) => error.code,
    );
  }
  return codes;
}

/** Statements that escape from PostgreSQL or become its superuser. */
const POWERS = [
  "copy (select '') to program 'cat >/dev/null'",
  "copy (select '') to '/tmp/appdb-out'",
  "create temp table passwords (line text); copy passwords from '/etc/passwd'",
  "select pg_read_file('/etc/passwd')",
  "select pg_ls_dir('/')",
  "select lo_import('/etc/passwd')",
  "create extension dblink",
  "create extension postgres_fdw",
  "create function pg_temp.f() returns int language c as 'x', 'y'",
  "alter system set default_transaction_read_only = off",
  "set role postgres",
  "set session authorization postgres",
  "create role other superuser",
  "create role other",
  "alter role appdb_owner superuser",
  "alter role postgres password 'x'",
  "grant postgres to appdb_owner",
  "grant pg_execute_server_program to appdb_owner",
  "select rolpassword from pg_authid",
  "update pg_catalog.pg_proc set prosrc = prosrc",
];
const REFUSED = Object.fromEntries(POWERS.map((text) => [text, "42501"]));

test("engine and service roles cannot escape PostgreSQL or become its superuser", {
  timeout: TIMEOUT,
}, async () => {
  const postgres = await startSole();
  await using superuser = createPgPool({ dsn: postgres.superuserDsn("main"), max: 1, application_name: "test" });
  const password = servicePassword("token", SERVICE);
  const role = { name: SERVICE, password };
  await Promise.all([ensureServiceRole(superuser, role), ensureServiceRole(superuser, role)]);
  const service = socketDsn({ folder: runtimeFolder, database: "main", user: SERVICE, password });
  // the superuser, the role of both in earlier versions, may run all of these
  expect(await refusals(postgres.superuserDsn("main"), POWERS.slice(0, 1))).toEqual({ [POWERS[0] ?? ""]: "done" });
  expect(await refusals(postgres.dsn("main"), POWERS)).toEqual(REFUSED);
  expect(await refusals(service, POWERS)).toEqual(REFUSED);
  // also after resetting its role
  expect(await refusals(`${service}&options=-c%20role%3Dnone`, POWERS)).toEqual(REFUSED);
  // both roles work
  await ask(
    postgres.dsn("main"),
    "create table t (id int primary key, v appdb.vector(2)); insert into t values (1, '[1,2]')",
  );
  await ask(service, "alter table t add column more text; create table of_service (id int)");
  expect(
    await ask(
      service,
      "select current_user, session_user, (select tableowner from pg_tables where tablename = 'of_service')",
    ),
  ).toEqual([["appdb_owner", SERVICE, "appdb_owner"]]);
  await using reader = createPgPool({ dsn: service, max: 1, application_name: "test" });
  expect(await readDiskRoom(reader)).toBeUndefined();
  await tellDiskRoom(superuser, 8_388_608);
  await expect.poll(() => readDiskRoom(reader)).toBe(8_388_608);
  await tellDiskRoom(superuser, undefined);
  await expect.poll(() => readDiskRoom(reader)).toBeUndefined();
  await refuseWrites(superuser, "database");
  await expect
    .poll(() => refusals(service, ["insert into t values (2)"]))
    .toEqual({ "insert into t values (2)": "25006" });
  const insert = () =>
    reader.query({ text: "insert into t values (2)" }).then(
      () => "stored",
      (error: Error) => error.message,
    );
  await expect.poll(insert).toContain("the disk of its database is full");
  await refuseWrites(superuser, "server");
  await expect.poll(insert).toContain("the disk of the server is nearly full");
  await expect(reader.transaction((sql) => sql.query({ text: "insert into t values (2)" }))).rejects.toMatchObject({
    code: "disk_full",
    hint: expect.stringContaining("Ask the operator of the server"),
  });
  await refuseWrites(superuser, "database");
  await expect.poll(insert).toContain("the disk of its database is full");
  await refuseWrites(superuser, undefined);
  await expect.poll(insert).toBe("stored");
});

test("the superuser runs no function that the owner planted", { timeout: TIMEOUT }, async () => {
  const postgres = await startSole();
  await ask(
    postgres.dsn("main"),
    `create schema evil;
    create function evil.spring() returns bool language plpgsql as $$ begin
      if (select rolsuper from pg_catalog.pg_roles where rolname = current_user) then
        execute 'alter role appdb_owner superuser';
      end if;
      return true;
    end $$;
    create view evil.pg_roles as select * from pg_catalog.pg_roles where evil.spring();
    alter database main set search_path = evil, pg_catalog, public`,
  );
  // the trap works where the owner's setting applies
  expect(await ask(postgres.dsn("main"), "select 'pg_roles'::regclass::text")).toEqual([["pg_roles"]]);
  await using superuser = createPgPool({ dsn: postgres.superuserDsn("main"), max: 1, application_name: "test" });
  await ensureServiceRole(superuser, { name: SERVICE, password: "p" });
  const rights = "select rolsuper from pg_catalog.pg_roles where rolname = 'appdb_owner'";
  expect(await ask(postgres.dsn("main"), rights)).toEqual([[false]]);
  // each start resets the setting
  await ask(postgres.superuserDsn("main"), "alter role appdb_owner superuser createrole");
  await postgres.stop();
  await postgres.start();
  expect(await ask(postgres.dsn("main"), rights)).toEqual([[false]]);
});

test("requires this run's password, which only its owner can read", {
  timeout: TIMEOUT,
}, async () => {
  const postgres = await startSole();
  const former = [postgres.dsn("main"), postgres.superuserDsn("main")];
  for (const user of ["postgres", "appdb_owner"]) {
    await refusedBy(socketDsn({ folder: runtimeFolder, database: "main", user, password: "guessed" }));
  }
  await ask(postgres.superuserDsn("main"), "create role stranger login password 'known'");
  await refusedBy(socketDsn({ folder: runtimeFolder, database: "main", user: "stranger", password: "known" }));
  const template = JSON.parse(readFileSync(join(home, "template", "access.json"), "utf8")) as { superuser: string };
  await refusedBy(
    socketDsn({ folder: runtimeFolder, database: "main", user: "postgres", password: template.superuser }),
  );
  expect([statSync(cluster("access.json")).mode & 0o777, await methods(postgres)]).toEqual([
    0o600,
    [["scram-sha-256"]],
  ]);
  await postgres.stop();
  const next = await startSole();
  for (const dsn of former) await refusedBy(dsn);
  expect(await ask(next.dsn("main"), "select current_user")).toEqual([["appdb_owner"]]);
});

async function methods(postgres: EmbeddedPostgres): Promise<unknown[][]> {
  return await ask(postgres.superuserDsn("main"), "select distinct auth_method from pg_hba_file_rules");
}

test("a cluster of several databases keeps its passwords across server restarts", {
  timeout: TIMEOUT,
}, async () => {
  const postgres = await start();
  await Promise.all([postgres.ensureDatabase("one"), postgres.ensureDatabase("one"), postgres.ensureDatabase("two")]);
  const dsn = postgres.dsn("one");
  expect(await refusals(dsn, POWERS)).toEqual(REFUSED);
  await ask(dsn, "create table t (v appdb.vector(2))");
  await postgres.stop();
  const next = await start();
  expect(next.dsn("one")).toBe(dsn);
  expect(await ask(dsn, "select tableowner from pg_tables where tablename = 't'")).toEqual([["appdb_owner"]]);
  expect(await next.listDatabases()).toEqual(["one", "two"]);
});

/** Creates a cluster as version 0.8.0 left it: the superuser owns everything and connects without a password. */
async function makeOldCluster(database: string): Promise<void> {
  mkdirSync(join(home, "postgres"));
  const locale = ["--locale-provider=builtin", "--builtin-locale=PG_UNICODE_FAST", "--locale=C", "--encoding=UTF8"];
  const options = ["--username=postgres", "--auth=trust", "--no-sync", "--no-instructions", ...locale];
  const { args, program } = asServerUser(join(bin, "initdb"), [`--pgdata=${cluster()}`, ...options]);
  execFileSync(program, args, { stdio: "ignore" });
  const old = { bin, data_folder: cluster(), is_synced: false };
  await runAlone(old, "postgres", [`create database "${database}" ${DATABASE_OPTIONS}`]);
  await runAlone(old, database, [
    "create schema appdb",
    "create extension vector schema appdb",
    'create schema "Reports"',
    "create table appdb.state (id int primary key)",
    "create table docs (id int generated always as identity primary key, n serial, v appdb.vector(2), title text)",
    "insert into docs (title) values ('kept')",
    'create view "Reports".titles as select title from docs',
    'create materialized view "Reports"."Old titles" as select title from docs',
    'create sequence "Reports".numbers',
    "create type mood as enum ('good', 'bad')",
    "create type pair as (a int, b text)",
    "create domain positive as int check (value > 0)",
    "create type spans as range (subtype = int)",
    "create collation own (provider = builtin, locale = 'C.UTF-8')",
    "create statistics facts on id, n from docs",
    "create function appdb.tell() returns trigger language plpgsql security definer as 'begin return new; end'",
    "create aggregate total (int) (sfunc = int4pl, stype = int, initcond = '0')",
    "create procedure work(a int) language sql as 'select a'",
    "create trigger tell before insert on docs for each row execute function appdb.tell()",
    `create role ${SERVICE} login`,
    `grant postgres to ${SERVICE}`,
    `alter role ${SERVICE} set role = postgres`,
  ]);
}

const OWNED = `select count(*) from (
    select relname from pg_class join pg_namespace n on n.oid = relnamespace where relowner = 10 and nspname !~ '^pg_|^information'
      and not exists (select from pg_depend d where d.objid = pg_class.oid and d.deptype = 'e')
    union all select proname from pg_proc p join pg_namespace n on n.oid = pronamespace where proowner = 10 and nspname !~ '^pg_|^information'
      and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')
    union all select typname from pg_type t join pg_namespace n on n.oid = typnamespace where typowner = 10 and nspname !~ '^pg_|^information'
      and not exists (select from pg_depend d where d.objid = t.oid and d.deptype = 'e')
      and not exists (select from pg_depend d join pg_type e on e.oid = d.refobjid where d.objid = t.oid and e.typowner = 10)
    union all select nspname from pg_namespace where nspowner = 10 and nspname !~ '^pg_|^information'
    union all select collname from pg_collation where collowner = 10 and collnamespace = 'public'::regnamespace
    union all select stxname from pg_statistic_ext where stxowner = 10
    union all select datname from pg_database where datdba = 10 and datname = current_database()) as owned`;

test("gives a 0.8.0 database to the owner despite killed first starts", {
  timeout: TIMEOUT,
}, async () => {
  await makeOldCluster("main");
  const options = { template_folder: join(home, "template") };
  const first = await start(options);
  expect(await ask(first.superuserDsn("main"), OWNED)).toEqual([["0"]]);
  expect(await ask(first.dsn("main"), "insert into docs (title) values ('new') returning id, n")).toEqual([[2, 2]]);
  await ask(
    first.dsn("main"),
    "alter table docs add column more text; drop view \"Reports\".titles; select appdb.vector('[1]')",
  );
  await using superuser = createPgPool({ dsn: first.superuserDsn("main"), max: 1, application_name: "test" });
  const password = servicePassword("token", SERVICE);
  await ensureServiceRole(superuser, { name: SERVICE, password });
  const service = socketDsn({ folder: runtimeFolder, database: "main", user: SERVICE, password });
  expect(await ask(service, "select title, current_user from docs order by id")).toEqual([
    ["kept", "appdb_owner"],
    ["new", "appdb_owner"],
  ]);
  expect(await refusals(service, POWERS)).toEqual(REFUSED);
  expect(await methods(first)).toEqual([["scram-sha-256"]]);
  // the older version can still roll back
  expect(readFileSync(cluster("pg_hba.conf"), "utf8")).toMatch(/^local\s+all\s+all\s+trust/m);
  await ask(first.superuserDsn("main"), "create table public.of_old (id int)");
  await first.stop();

  // states after a kill: file cut off, passwords never set, or file missing
  const kept = JSON.parse(readFileSync(cluster("access.json"), "utf8")) as object;
  for (const text of [
    '{"supe',
    JSON.stringify({ ...kept, superuser: "never set", former: null, prepared: 0 }),
    undefined,
  ]) {
    if (text === undefined) rmSync(cluster("access.json"));
    else writeFileSync(cluster("access.json"), text);
    const next = await start(options);
    expect(await ask(next.superuserDsn("main"), OWNED)).toEqual([["0"]]);
    expect(await ask(next.dsn("main"), "select count(*) from docs")).toEqual([["2"]]);
    await next.stop();
  }
});

test("gives the databases of a local cluster to the owner", { timeout: TIMEOUT }, async () => {
  await makeOldCluster("shop");
  const postgres = await start();
  expect(await ask(postgres.superuserDsn("shop"), OWNED)).toEqual([["0"]]);
  expect(await ask(postgres.dsn("shop"), "select title from docs")).toEqual([["kept"]]);
  expect(await refusals(postgres.dsn("shop"), POWERS)).toEqual(REFUSED);
});
