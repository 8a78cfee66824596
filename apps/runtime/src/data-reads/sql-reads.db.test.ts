import { DEFAULT_LIMITS } from "@appdb/contract/service-spec";
import { NDJSON_ROWS } from "@appdb/engine/data-queries/ndjson-rows";
import { createPgPool } from "@appdb/postgres/client/pg-pool";
import { readerName } from "@appdb/postgres/cluster/reader-role";
import { eventually } from "@appdb/testkit/eventually";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { openTestApplication, type TestApplication } from "@appdb/testkit/test-application";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { SQL_ATTACKS } from "../testing/sql-attacks.ts";
import { SqlReads } from "./sql-reads.ts";

const appWith = (more = "") => `
from typing import Iterator, TypedDict

import appdb as db
from appdb.serving import Router

Base = db.model_base()


class Word(TypedDict):
    word: str


@db.iterator
def words(text: str) -> Iterator[Word]:
    for word in text.split():
        yield {"word": word}


class Doc(Base, name="docs"):
    id = db.Column(type=db.Int, primary_key=True)
    title: db.String
    price: db.Float | None
    data: db.Json | None


class Cheap(Base, name="cheap", base=Doc.where(Doc.price < 10)):
    label = Doc.title + "!"


class Cheapest(Base, name="cheapest", base=Cheap.where(Cheap.price < 5)):
    shout = Cheap.label + "!"


class Words(Base, name="words", base=Doc, iterator=words(Doc.title)):
    twice = word + word
${more}

r = Router(name="q")
r.add_insert_route(Doc, path="/docs")
`;

let app: TestApplication;
let reads: SqlReads;
let database: string;

beforeAll(async () => {
  app = await openTestApplication(appWith());
  await app.post("/docs", [
    { id: 1, title: "one apple", price: 3, data: { a: [1] } },
    { id: 2, title: "two", price: 7.5 },
    { id: 3, title: "three", price: 50 },
  ]);
  database = new URL(app.dsn).pathname.slice(1);
  reads = openReads();
});
afterAll(async () => {
  await reads?.[Symbol.asyncDispose]();
  await app?.[Symbol.asyncDispose]();
});

function openReads(
  maxRowBytes = DEFAULT_LIMITS.result_bytes,
  timeoutMs = DEFAULT_LIMITS.statement_timeout_ms,
): SqlReads {
  return new SqlReads({
    database,
    dsn: app.dsn,
    sql: app.sql,
    superuser_dsn: app.dsn,
    application_name: "test",
    max_row_bytes: maxRowBytes,
    limits: { ...DEFAULT_LIMITS, statement_timeout_ms: timeoutMs },
    log: createSilentLog(),
  });
}

test("a plan has PostgreSQL's lines, and the statement does not run", async () => {
  const { columns, done, rows } = await ask(`select title from docs where id = 1 and exists (${ENDLESS})`, {
    explain: true,
  });
  expect(columns).toEqual([{ name: "plan", type: { kind: "string" }, nullable: false }]);
  expect(rows.length).toBeGreaterThan(2);
  expect(done).toEqual({ count: rows.length, has_more: false });
  expect(rows.flat().join("\n")).toMatch(/cost=/);
  expect(rows.flat().join("\n")).toContain("docs");
});

test.each([
  ["select * from docs) as x; delete from docs; --", "cannot insert multiple commands|syntax error|several statements"],
  ["select titel from docs", 'at line 1, column 8: column "titel" does not exist'],
  ["select * from appdb.tables", "permission denied for table"],
  ["explain analyze select 1", "begins with EXPLAIN"],
  ["with gone as (delete from docs returning 1) select * from gone", "."],
])("a plan of %s is refused as the statement is", async (sql, says) => {
  await expect(ask(sql, { explain: true })).rejects.toMatchObject({
    code: "sql_refused",
    message: expect.stringMatching(says),
  });
});

/** Works without end, in little memory. */
const ENDLESS =
  "select count(*) from generate_series(1, 9000) a, generate_series(1, 9000) b, generate_series(1, 9000) c";

interface Asked {
  readonly folder?: string;
  readonly limit?: number;
  readonly timeout_ms?: number;
  readonly explain?: boolean;
  readonly signal?: AbortSignal;
  readonly by?: SqlReads;
}

async function ask(sql: string, { by = reads, signal = new AbortController().signal, ...more }: Asked = {}) {
  const messages: string[] = [];
  const send = async (message: Uint8Array) => void messages.push(Buffer.from(message).toString());
  await by.run({ sql, folder: "", ...more }, { format: NDJSON_ROWS, send, signal });
  const parsed = messages.map((message) => JSON.parse(message));
  const [{ columns }] = parsed;
  return { columns, rows: parsed.flatMap(({ rows = [] }) => rows), done: parsed.at(-1).done };
}

test("a statement over a table has its visible columns with their kinds", async () => {
  const { columns, done, rows } = await ask("select * from docs order by id limit 1; ");
  expect(rows).toEqual([[1, "one apple", 3, { a: [1] }]]);
  expect(columns.map(({ name, type }: { name: string; type: { kind: string } }) => [name, type.kind])).toEqual([
    ["id", "int"],
    ["title", "string"],
    ["price", "float"],
    ["data", "json"],
  ]);
  expect(done).toEqual({ count: 1, has_more: false });
});

test("views, views over views and iterator views give their rows by name", async () => {
  expect((await ask("select id, label from cheap order by id")).rows).toEqual([
    [1, "one apple!"],
    [2, "two!"],
  ]);
  expect((await ask("select id, shout from cheapest")).rows).toEqual([[1, "one apple!!"]]);
  expect((await ask("select id, pos, word, twice from words where id < 3 order by id, pos")).rows).toEqual([
    [1, 0, "one", "oneone"],
    [1, 1, "apple", "appleapple"],
    [2, 0, "two", "twotwo"],
  ]);
});

test("a statement may begin with WITH and contain comments", async () => {
  const sql =
    "-- how many\nwith recursive n(i) as (select 1 union all select i + 1 from n where i < 3)\nselect i, count(*) from n cross join docs group by i order by i -- end";
  expect((await ask(sql)).rows).toEqual([
    [1, 3],
    [2, 3],
    [3, 3],
  ]);
});

test("values of every kind arrive as JSON", async () => {
  const sql = `select true, 9007199254740993, 'NaN'::float8, 1.5::numeric, '2024-01-02'::date, '2024-01-02 03:04+00'::timestamptz,
    '\\x00ff'::bytea, E'{"a":\\n1}'::json, null, interval '1 day', array[1, 2], U&'\\FDD0 x'`;
  const { rows } = await ask(sql);
  expect(rows[0].toSpliced(1, 1)).toEqual([
    true,
    null,
    1.5,
    "2024-01-02",
    "2024-01-02T03:04:00Z",
    "AP8=",
    { a: 1 },
    null,
    "1 day",
    "{1,2}",
    "\uFDD0 x",
  ]);
});

test("a row beyond its maximum is refused with both numbers", async () => {
  await using small = openReads(1_000);
  expect((await ask("select repeat(chr(1), 900)", { by: small })).rows).toEqual([["\u0001".repeat(900)]]);
  await expect(ask("select repeat(chr(1), 1100)", { by: small })).rejects.toMatchObject({
    code: "result_too_large",
    message: "A row of the result has more than 1000 bytes, the maximum.",
  });
});

test("a long text that JSON escapes arrives whole", async () => {
  const { rows } = await ask("select repeat(chr(1), 3000000) || 'ü€', 1, repeat('ab', 1000000)");
  expect(rows).toEqual([[`${"\u0001".repeat(3_000_000)}ü€`, 1, "ab".repeat(1_000_000)]]);
});

test("a limit ends the rows and says that there are more", async () => {
  const all = "select * from generate_series(1, 5) as i order by i desc";
  expect(await ask(all, { limit: 2 })).toMatchObject({ rows: [[5], [4]], done: { count: 2, has_more: true } });
  expect(await ask(all, { limit: 5 })).toMatchObject({ done: { count: 5, has_more: false } });
});

test("an error of a statement has its line and column", async () => {
  await expect(ask("select id,\n  titel from docs")).rejects.toMatchObject({
    code: "sql_refused",
    message: 'PostgreSQL refused the statement at line 2, column 3: column "titel" does not exist.',
    meta: { line: 2, column: 3, position: 14, sqlstate: "42703" },
  });
  await expect(ask("select id from")).rejects.toMatchObject({
    message: expect.stringContaining("syntax error at the end of the statement"),
  });
});

test.each([
  ["select 'unterminated", `unterminated quoted string at or near "'unterminated".`],
  ["with x as (delete from docs returning *) select * from x", "The statement writes. SQL of people only reads."],
])("the error of %s has the statement's own words", async (sql, says) => {
  await expect(ask(sql)).rejects.toMatchObject({ code: "sql_refused", message: expect.stringContaining(says) });
});

test("tables that an update adds or renames can be read at once", async () => {
  await app.update(appWith(`\n\nclass Later(Base, name="later"):\n    name: db.String\n`));
  expect((await ask("select name from later")).rows).toEqual([]);
  await app.update(appWith(`\n\nclass Later(Base, name="much_later", renamed_from="later"):\n    name: db.String\n`));
  expect((await ask("select name from much_later")).rows).toEqual([]);
});

test("a statement ends when its client leaves", async () => {
  const leaving = new AbortController();
  const asked = ask(ENDLESS, { signal: leaving.signal });
  asked.catch(() => undefined);
  const running = async () =>
    Number(
      (
        await app.sql.query({
          text: `select count(*) from pg_stat_activity where usename = '${readerName(database)}' and state = 'active'`,
        })
      ).rows[0]?.[0],
    );
  await eventually(async () => expect(await running()).toBe(1));
  leaving.abort();
  await expect(asked).rejects.toMatchObject({ code: "interrupted" });
  await eventually(async () => expect(await running()).toBe(0));
});

test("a third statement at a time is refused", async () => {
  const leaving = new AbortController();
  const busy = [1, 2].map(() => ask(ENDLESS, { signal: leaving.signal }));
  for (const one of busy) one.catch(() => undefined);
  await expect(ask("select 1")).rejects.toMatchObject({ code: "overloaded" });
  leaving.abort();
  await Promise.allSettled(busy);
  expect((await ask("select 1")).rows).toEqual([[1]]);
});

describe("attacks", () => {
  beforeAll(async () => {
    await app.sql.query({ text: "create table unlisted (a int)" });
  });

  test.each(SQL_ATTACKS)("refuses %s", async (sql, code, says) => {
    // what only its time ends has little of it
    await using impatient = openReads(DEFAULT_LIMITS.result_bytes, 4_000);
    const error = await ask(sql, { by: code.includes("query_timeout") ? impatient : reads }).then(
      () => ({ code: "done", message: "" }),
      (thrown: { code: string; message: string }) => thrown,
    );
    expect(code.split("|"), error.message).toContain(error.code);
    expect(error.message).toMatch(says);
  });

  test("leave the tables, the roles and the settings as they were", async () => {
    const { rows } = await app.sql.query({ text: "select count(*), sum(price) from docs" });
    expect(rows).toEqual([["3", "60.5"]]);
    expect((await ask("select current_user, session_user, current_setting('statement_timeout')")).rows).toEqual([
      [readerName(database), readerName(database), "1h"],
    ]);
  });
});

test("rows without end arrive one by one, and the client that leaves ends them", async () => {
  const leaving = new AbortController();
  let rows = 0;
  const send = async (message: Uint8Array) => {
    rows += JSON.parse(Buffer.from(message).toString()).rows?.length ?? 0;
    if (rows > 100_000) leaving.abort();
  };
  const sql = "select generate_series(1, 1000000000), 'text'";
  const asked = reads.run({ sql, folder: "" }, { format: NDJSON_ROWS, send, signal: leaving.signal });
  await expect(asked).rejects.toMatchObject({ code: "interrupted" });
});

test("the role cannot write or leave itself, whatever it sends on its own connection", async () => {
  await ask("select 1");
  const { hostname: _, searchParams } = new URL(app.dsn);
  const dsn = `postgresql:///${database}?host=${encodeURIComponent(searchParams.get("host") ?? "")}&user=${readerName(database)}`;
  const statements = [
    "insert into public.docs (id) values (9)",
    "delete from public.docs",
    "set role postgres",
    "set role appdb_readers",
    "set session authorization postgres",
    "set temp_file_limit = -1",
    "create temp table t (a int)",
    "create table public.t (a int)",
    "create schema s",
    "do $$ begin end $$",
    "create function public.f() returns int language sql as 'select 1'",
    "select * from appdb.tables",
    "grant appdb_readers to current_user",
    "alter role current_user superuser",
    "create role other",
    "copy public.docs to program 'cat >/dev/null'",
  ];
  await using raw = createPgPool({ dsn, max: 1, is_single_use: true, application_name: "test" });
  for (const text of statements) {
    const refused = raw.withConnection(async (connection) => {
      await connection.query({ text: "set default_transaction_read_only = off" });
      await connection.query({ text });
    });
    const sqlstate = await refused.then(
      () => "done",
      (error: { readonly sqlstate?: string }) => error.sqlstate,
    );
    expect(sqlstate, text).toMatch(/^(42|0L)/);
  }
  const other = createPgPool({ dsn: dsn.replace(`/${database}?`, "/postgres?"), max: 1, application_name: "test" });
  await expect(other.query({ text: "select 1" })).rejects.toMatchObject({ code: "database_unavailable" });
  await other[Symbol.asyncDispose]();
});
