import { loadCatalog } from "@appdb/engine/catalog/load-catalog";
import type { SqlPool } from "@appdb/engine/ports";
import { readableTables } from "@appdb/engine/views/view-tables";
import { aColumn, aManifest, aTable } from "@appdb/testkit/manifest-builder";
import { openTestApplication } from "@appdb/testkit/test-application";
import { openTestCatalog } from "@appdb/testkit/test-catalog";
import { fastify } from "fastify";
import { expect, test } from "vitest";
import { dataHandlers } from "./data-handlers.ts";
import { describeTables } from "./data-tables.ts";

const APP = `
from typing import Iterator, TypedDict

import appdb as db

Base = db.model_base()

class Word(TypedDict):
    word: str

@db.iterator
def words(text: str) -> Iterator[Word]:
    for word in text.split():
        yield {"word": word}

class Doc(Base, name="docs"):
    id = db.Column(type=db.Int, primary_key=True)
    body: db.String

class W(Base, name="words", base=Doc, iterator=words(Doc.body)):
    up = word.upper()
    line = Doc.body + ": " + word
`;

test("own columns of an iterator view are computed, whether they read its base or not", async () => {
  await using tested = await openTestApplication(APP);
  const catalog = await loadCatalog(tested.sql);
  const views = readableTables(catalog).filter(({ name }) => name === "words");
  const [described] = await describeTables(tested.sql, catalog, views);
  expect(described?.columns.map(({ is_computed, name, value }) => [name, is_computed, value])).toEqual([
    ["id", false, null],
    ["pos", false, null],
    ["word", false, null],
    ["up", true, "upper(word)"],
    ["line", true, "body + ': ' + word"],
    ["body", false, null],
  ]);
});

test("callers who read the list of tables at once share two runs, and a later one sees a new table", async () => {
  await using tested = await openTestCatalog();
  const wide = Array.from({ length: 50 }, (_, at) => aColumn(`c${at}`, "string", { nullable: true }));
  const tables = [aTable("wide", [aColumn("id", "int"), ...wide], { primary_key: ["id"] })];
  await tested.apply(aManifest({ tables }));
  let catalogs = 0;
  const counted: SqlPool = new Proxy(tested.sql, {
    get: (target, name) => {
      if (name === "query") {
        return (statement: Parameters<SqlPool["query"]>[0]) => {
          if (statement.text.includes("from appdb.tables")) catalogs += 1;
          return target.query(statement);
        };
      }
      const value = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  const row_files = undefined as never;
  const handlers = dataHandlers(async () => ({ sql: counted, row_files, uri: "main" }));
  await using app = fastify();
  app.get("/tables", (_request, reply) => handlers.tableList({ params: {}, reply }));

  const one = await app.inject("/tables");
  const perRun = catalogs;
  expect(perRun).toBeGreaterThan(0);
  catalogs = 0;
  const answers = await Promise.all(Array.from({ length: 40 }, () => app.inject("/tables")));
  expect(catalogs).toBeLessThanOrEqual(3 * perRun);
  for (const { body, headers, statusCode } of answers) {
    expect(statusCode).toBe(200);
    expect(headers["content-type"]).toContain("application/json");
    expect(body).toBe(one.body);
  }
  await tested.apply(
    aManifest({ tables: [...tables, aTable("more", [aColumn("id", "int")], { primary_key: ["id"] })] }),
  );
  const { tables: listed } = (await app.inject("/tables")).json();
  expect(listed.map(({ path }: { readonly path: string }) => path)).toEqual(["more", "wide"]);
});

/** A pool that runs `between` once, behind the first load of the catalog. */
function interrupted(sql: SqlPool, between: () => Promise<void>): SqlPool {
  let isDone = false;
  return new Proxy(sql, {
    get: (target, name) => {
      if (name === "query") {
        return async (statement: Parameters<SqlPool["query"]>[0]) => {
          const result = await target.query(statement);
          if (!isDone && statement.text.includes("from appdb.tables")) {
            isDone = true;
            await between();
          }
          return result;
        };
      }
      const value = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

async function twoTables() {
  const tested = await openTestCatalog();
  const column = aColumn("id", "int");
  await tested.apply(aManifest({ tables: [aTable("docs", [column]), aTable("notes", [column])] }));
  return tested;
}

async function rename(sql: SqlPool): Promise<void> {
  await sql.transaction(async (connection) => {
    await connection.query({ text: "alter table docs rename to texts" });
    await connection.query({ text: "update appdb.tables set name = 'texts' where name = 'docs'" });
  });
}

test("a read whose table is renamed behind its look into the catalog reads again", async () => {
  for (const [table, outcome] of [
    ["docs", { code: "table_not_found" }],
    ["notes", { count: 0 }],
  ] as const) {
    await using tested = await twoTables();
    const sql = interrupted(tested.sql, () => rename(tested.sql));
    const { rowCount } = dataHandlers(async () => ({ sql, row_files: undefined as never, uri: "main" }));
    const counting = rowCount({ params: { table }, query: {}, reply: undefined as never });
    expect(await counting.catch((error: unknown) => error)).toMatchObject(outcome);
  }
});

test("a read of a table does not wait for the lock of another", async () => {
  await using tested = await twoTables();
  const { rowCount } = dataHandlers(async () => ({ sql: tested.sql, row_files: undefined as never, uri: "main" }));
  await tested.sql.transaction(async (connection) => {
    await connection.query({ text: "lock table notes in access exclusive mode" });
    const counted = await rowCount({ params: { table: "docs" }, query: {}, reply: undefined as never });
    expect(counted).toEqual({ count: 0 });
  });
});
