import { createTestDatabase, type TestDatabase } from "@appdb/testkit/test-database";
import type { Client } from "pg";
import { afterEach, beforeEach, expect, test } from "vitest";
import { cleanDatabase, type DatabaseMark, markDatabase } from "./clean-database.ts";
import { withClient } from "./database-admin.ts";

const CONTENTS = `create schema shop;
  create table shop.settings (name text primary key);
  insert into shop.settings values ('kept');
  create table shop.books (id bigint generated always as identity primary key, title text, setting text references shop.settings);
  create table shop.pages (book bigint references shop.books, words text);
  create sequence shop.used; select nextval('shop.used');
  create sequence shop.unused start 7`;

let database: TestDatabase;
let mark: DatabaseMark;

beforeEach(async () => {
  database = await createTestDatabase();
  await run(CONTENTS);
  mark = await markDatabase(database.dsn);
});

afterEach(async () => {
  await database.drop();
});

const run = async (text: string) =>
  await withClient(database.dsn, async (client: Client) => {
    await client.query(text);
  });
const clean = async () => await cleanDatabase(database.dsn, mark);
const read = async (text: string) =>
  await withClient(database.dsn, async (client) => (await client.query({ text, rowMode: "array" })).rows);

test("empties tables and resets sequences", async () => {
  await run(`insert into shop.books (title, setting) values ('Emma', 'kept'), ('Persuasion', null);
    insert into shop.pages values (1, 'words'); analyze;
    select nextval('shop.used'), nextval('shop.unused')`);
  expect(await clean()).toBe(true);
  expect(await read("select (select count(*)::int from shop.books), (select count(*)::int from shop.pages)")).toEqual([
    [0, 0],
  ]);
  expect(await read("select nextval('shop.used'), nextval('shop.unused')")).toEqual([["2", "7"]]);
  expect(await read("insert into shop.books (title) values ('Emma') returning id")).toEqual([["1"]]);
  expect(await read("select name from shop.settings")).toEqual([["kept"]]);
});

test("cleans a database many times", async () => {
  for (let use = 0; use < 5; use += 1) {
    await run(`insert into shop.books (title, setting) values ('Emma', 'kept')`);
    expect(await clean()).toBe(true);
  }
  expect(await clean()).toBe(true);
});

test.each([
  ["another table", "create table shop.more (id int)"],
  ["another column", "alter table shop.books add column isbn text"],
  ["a missing table", "drop table shop.pages"],
  ["another name", "alter table shop.books rename to texts"],
  ["a comment", "comment on table shop.books is 'of a test'"],
  ["another default", "alter table shop.books alter column title set default 'Emma'"],
  ["an index", "create index on shop.books (title)"],
  ["other privileges", "grant select on shop.books to public"],
  ["a sequence with other steps", "alter sequence shop.used increment 3"],
  ["another row", "insert into shop.settings values ('more')"],
  ["an equal row in place of another", "delete from shop.settings; insert into shop.settings values ('kept')"],
  ["a missing row", "delete from shop.settings"],
  ["a changed row", "update shop.settings set name = 'other'"],
  ["a large object", "select lo_create(0)"],
])("refuses %s and changes nothing", async (_, change) => {
  await run("insert into shop.books (title) values ('Emma')");
  await run(change);
  expect(await clean()).toBe(false);
  if (change.includes("rename")) return;
  expect(await read("select title from shop.books")).toEqual([["Emma"]]);
});

test("refuses a database that someone is connected to", async () => {
  await withClient(database.dsn, async (client) => {
    await client.query("select 1");
    expect(await clean()).toBe(false);
  });
});
