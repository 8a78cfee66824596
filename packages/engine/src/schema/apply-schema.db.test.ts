import type { Manifest, ManifestTable } from "@appdb/contract/manifest";
import type { SchemaPlan } from "@appdb/contract/plan";
import { eventually } from "@appdb/testkit/eventually";
import {
  aColumn,
  aComputed,
  aFunction,
  aManifest,
  anIndex,
  aTable,
  aUuid7Key,
  call,
  col,
  lit,
  udf,
} from "@appdb/testkit/manifest-builder";
import { openTestCatalog, type TestCatalog } from "@appdb/testkit/test-catalog";
import { afterEach, beforeEach, expect, test } from "vitest";
import { loadCatalog } from "../catalog/load-catalog.ts";
import { keyIndexName } from "../catalog/sql-names.ts";
import type { SqlPool } from "../ports.ts";
import { planInspected } from "./inspect-plan.ts";

let tested: TestCatalog;
let sql: SqlPool;

beforeEach(async () => {
  tested = await openTestCatalog();
  sql = tested.sql;
});

afterEach(async () => {
  await tested[Symbol.asyncDispose]();
});

async function plan(manifest: Manifest, target = "main"): Promise<SchemaPlan> {
  return (await planInspected(sql, { manifest, catalog: await loadCatalog(sql), target })).plan;
}

function apply(...args: Parameters<TestCatalog["apply"]>): ReturnType<TestCatalog["apply"]> {
  return tested.apply(...args);
}

function rows(text: string): ReturnType<TestCatalog["rows"]> {
  return tested.rows(text);
}

const title = col("title", "string");
const EVERYTHING: readonly ManifestTable[] = [
  aTable("docs", [
    aColumn("title", "string", { comment: "what it is called; it's 100% \\safe" }),
    aColumn("body", "string", { nullable: true }),
    aComputed("title_upper", call("string.upper", "string", title)),
    aComputed("excerpt", udf("app:excerpt", "string", title, lit('{"b":1,"a":[1e400,12345678901234567890]}', "json"))),
    aUuid7Key(),
  ]),
  aTable(
    "kinds",
    [
      aColumn("code", "string", { primary_key: true }),
      aColumn("number", "int", { primary_key: true }),
      aColumn("ratio", "float", { nullable: true }),
      aColumn("is_new", "bool", { nullable: true }),
      aColumn("made_at", "timestamp", { nullable: true }),
      aColumn("day", "date", { nullable: true }),
      aColumn("other", "uuid", { nullable: true }),
      aColumn("data", "json", { nullable: true, custom_metadata: { unit: "kg", n: [1, { deep: true }] } }),
    ],
    { has_default_idxs: true, comment: 'a "quoted" comment', custom_metadata: { owner: "me" } },
  ),
  aTable("keyless", [aColumn("select", "string"), aColumn("table", "int")], {
    indexes: [anIndex(["table"]), anIndex(["select", "table"], "both")],
  }),
];

test("creates everything that can be declared; a second plan is empty", async () => {
  const manifest = aManifest({ tables: [...EVERYTHING], functions: [aFunction("app:excerpt", "string")] });
  const first = await plan(manifest);
  expect(first.summary).toMatchObject({ create: 3, up_to_date: 0 });
  expect(first.in_agreement).toBe(false);
  const applied = await apply(manifest);
  expect(applied.jobs).toEqual([]);
  expect(applied.plan).toMatchObject({ status: "applied", in_agreement: true, catalog_version: 1 });
  const second = await plan(manifest);
  expect(second.in_agreement).toBe(true);
  expect(second.tables.flatMap((table) => table.ops)).toEqual([]);
  expect(second.catalog_version).toBe(applied.plan.catalog_version);
  expect(
    await rows("select obj_description('public.kinds'::regclass), col_description('public.docs'::regclass, 1)"),
  ).toEqual([['a "quoted" comment', "what it is called; it's 100% \\safe"]]);
});

const STORED = [aColumn("title", "string"), aColumn("n", "int", { nullable: true })];

function docs(columns = STORED, parts: Partial<ManifestTable> = {}): Manifest {
  return aManifest({ tables: [aTable("docs", columns, parts)], functions: [aFunction("app:excerpt", "string")] });
}

const ADDITIVE: readonly [string, Manifest][] = [
  ["a nullable column", docs([...STORED, aColumn("extra", "json", { nullable: true })])],
  ["a column that is not null, while the table is empty", docs([...STORED, aColumn("extra", "date")])],
  ["a computed column", docs([...STORED, aComputed("up", call("string.upper", "string", title))])],
  ["an index", docs(STORED, { indexes: [anIndex(["n"])] })],
  ["a named index over two columns", docs(STORED, { indexes: [anIndex(["title", "n"], "both")] })],
  ["default indexes", docs(STORED, { has_default_idxs: true })],
  [
    "a column that may be null now",
    docs([aColumn("title", "string", { nullable: true }), aColumn("n", "int", { nullable: true })]),
  ],
  [
    "a column that may not be null now, while the table is empty",
    docs([aColumn("title", "string"), aColumn("n", "int")]),
  ],
  [
    "a column's comment",
    docs([aColumn("title", "string", { comment: "x'); drop table docs; --" }), ...STORED.slice(1)]),
  ],
  [
    "a column's metadata",
    docs([aColumn("title", "string", { custom_metadata: [1, null, { a: "'" }] }), ...STORED.slice(1)]),
  ],
  ["a table's comment and metadata", docs(STORED, { comment: "about", custom_metadata: { k: "v" } })],
  ["a second table", aManifest({ tables: [...docs().tables, aTable("more", [aUuid7Key("key")])] })],
];

test.each(ADDITIVE)("adding %s is safe, and a second plan is empty", async (_what, manifest) => {
  await apply(docs());
  const planned = await plan(manifest);
  expect(planned.in_agreement).toBe(false);
  expect(planned.tables.flatMap((table) => table.ops).map((op) => op.severity)).not.toContain("destructive");
  await apply(manifest);
  const after = await plan(manifest);
  expect(after.tables.flatMap((table) => table.ops)).toEqual([]);
  expect(after.in_agreement).toBe(true);
});

test.each(ADDITIVE.filter(([what]) => what !== "a second table"))(
  "removing %s again leaves no difference either",
  async (_what, manifest) => {
    await apply(manifest);
    await apply(docs(), { allow_destructive: true });
    expect((await plan(docs())).in_agreement).toBe(true);
  },
);

test("the order of columns, tables, indexes and literal keys is ignored", async () => {
  const literal = (text: string) => aComputed("made", udf("app:excerpt", "string", lit(text, "json")));
  const other = aTable("zebra", [aColumn("a", "int")]);
  const first = aTable("docs", [...STORED, literal('{"a":1,"b":{"x":1,"y":[1,2]}}')], {
    indexes: [anIndex(["n"]), anIndex(["title"])],
  });
  const second = aTable("docs", [literal('{ "b": {"y":[1,2], "x":1}, "a":1 }'), ...[...STORED].reverse()], {
    indexes: [anIndex(["title"]), anIndex(["n"])],
  });
  await apply(aManifest({ tables: [first, other] }));
  expect((await plan(aManifest({ tables: [other, second] }))).in_agreement).toBe(true);
  const changed = aTable("docs", [...STORED, literal('{"a":12345678901234567891,"b":{"x":1,"y":[1,2]}}')]);
  expect((await plan(aManifest({ tables: [changed] }))).in_agreement).toBe(false);
});

test("distinguishes integers beyond 2^53 in a literal", async () => {
  const of = (n: string) => docs([...STORED, aComputed("made", udf("app:excerpt", "string", lit(`[${n}]`, "json")))]);
  await apply(of("12345678901234567890"));
  expect((await plan(of("12345678901234567891"))).tables[0]?.ops[0]?.details.changes).toEqual(["value"]);
});

const UNSUPPORTED: readonly [string, RegExp, readonly ManifestTable["columns"][number][]][] = [
  ["a column of another type", /from String to Int/, [aColumn("title", "int"), ...STORED.slice(1)]],
  [
    "a column without a value for the rows there are",
    /has 1 row without a value/,
    [...STORED, aColumn("extra", "int")],
  ],
  ["null forbidden where rows are", /no longer be allowed/, [aColumn("title", "string"), aColumn("n", "int")]],
  ["another key", /a key cannot change/, [aColumn("title", "string", { primary_key: true }), ...STORED.slice(1)]],
  [
    "a stored column that becomes computed",
    /replaced by computed/,
    [aComputed("title", lit("x", "string")), ...STORED.slice(1)],
  ],
];

test.each(UNSUPPORTED)("%s is impossible, and nothing is changed", async (_what, words, columns) => {
  await apply(docs());
  await sql.query({ text: "insert into docs (_row, title) values (uuidv7(), 'one')" });
  const before = await loadCatalog(sql);
  const manifest = aManifest({ tables: [aTable("docs", columns), aTable("another", STORED)] });
  expect((await plan(manifest)).tables[0]?.resolution).toBe("unsupported");
  await expect(apply(manifest)).rejects.toMatchObject({
    code: "schema_unsupported",
    message: expect.stringMatching(words),
  });
  expect(await loadCatalog(sql)).toEqual(before);
  expect(await rows("select to_regclass('another')")).toEqual([[null]]);
});

test("a destructive change needs permission; unsupported ones are reported first", async () => {
  await apply(docs(STORED, { indexes: [anIndex(["n"])] }));
  await sql.query({ text: "insert into docs (_row, title) values (uuidv7(), 'one')" });
  const smaller = docs([aColumn("n", "int", { nullable: true })]);
  await expect(apply(smaller)).rejects.toMatchObject({
    code: "destructive_refused",
    hint: expect.stringContaining("--allow-destructive"),
    meta: { destructive: 2, plan: { status: "refused" } },
  });
  expect(await rows("select title from docs")).toEqual([["one"]]);
  const both = docs([aColumn("n", "string", { nullable: true })]);
  await expect(apply(both)).rejects.toMatchObject({ code: "schema_unsupported" });
  const { plan: done } = await apply(smaller, { allow_destructive: true });
  expect(done).toMatchObject({ status: "applied", in_agreement: true, summary: { destructive: 2 } });
  expect(await rows("select column_name from information_schema.columns where table_name = 'docs' order by 1")).toEqual(
    [["_errors"], ["_row"], ["n"]],
  );
});

test("tables that the file does not declare are extras and stay", async () => {
  await apply(aManifest({ tables: [...EVERYTHING] }));
  const other = await plan(docs(), "main");
  expect(other.extras).toEqual(["main/keyless", "main/kinds"]);
  expect((await plan(aManifest())).in_agreement).toBe(true);
});

test("folders separate tables with the same name", async () => {
  await apply(docs());
  await apply(docs([aColumn("other", "int")]), { target: "main/reports/2024" });
  expect((await plan(docs())).in_agreement).toBe(true);
  expect((await plan(docs(), "main/reports/2024")).tables[0]?.path).toBe("main/reports/2024/docs");
  expect(await rows(`select count(*) from "reports/2024".docs`)).toEqual([["0"]]);
});

test("names and comments that look like SQL are harmless", async () => {
  const nasty = `a"; drop table docs; --`;
  const manifest = aManifest({
    tables: [
      ...docs().tables,
      aTable(nasty, [aColumn(`b"'\\`, "string", { comment: `c' || "d" \\' \u0000 \ud800 é` }), aColumn("$1", "int")], {
        indexes: [anIndex([`b"'\\`], `i"x`)],
        comment: "E'\\\\'; select 1",
      }),
    ],
  });
  await apply(manifest);
  expect((await plan(manifest)).in_agreement).toBe(true);
  expect(await rows("select count(*) from docs")).toEqual([["0"]]);
  expect((await loadCatalog(sql)).tables.map((table) => table.name)).toContain(nasty);
});

test("long names get separate indexes, and tables can share index names", async () => {
  const long = "t".repeat(63);
  const manifest = aManifest({
    tables: [
      aTable(long, [aColumn("a", "string", { primary_key: true }), aColumn("b", "int")], {
        indexes: [anIndex(["a", "b"]), anIndex(["b"], "n".repeat(63)), anIndex(["b"], `${"n".repeat(62)}m`)],
      }),
      aTable("docs", [aColumn("a", "string", { primary_key: true })], { indexes: [anIndex(["a"], "key")] }),
      aTable("docs_key", [aColumn("a", "int")]),
      aTable("docs_pkey", [aColumn("a", "int")]),
    ],
  });
  await apply(manifest);
  expect((await plan(manifest)).in_agreement).toBe(true);
});

test("a key is unique over its whole value, for any length and content", async () => {
  await apply(aManifest({ tables: [aTable("keyed", [aColumn("key", "string", { primary_key: true })])] }));
  const insert = (key: string) =>
    sql.query({ text: "insert into keyed (_row, key) values (uuidv7(), $1)", values: [key] });
  const long = "é\\x41🙂".repeat(5_000);
  for (const key of [long, `${long}a`, "\\x41", "A", "\\\\x41", "a\\", "a\\\\", ""]) await insert(key);
  await expect(insert(long)).rejects.toMatchObject({ sqlstate: "23505", constraint: keyIndexName("keyed") });
  await expect(insert("\\x41")).rejects.toMatchObject({ sqlstate: "23505" });
});

test("a uuid7() key is the identity; other tables have _row", async () => {
  await apply(aManifest({ tables: [...EVERYTHING] }));
  const identities = (await loadCatalog(sql)).tables.map((table) => [table.name, table.identity]);
  expect(identities).toEqual([
    ["docs", "id"],
    ["keyless", "_row"],
    ["kinds", "_row"],
  ]);
  expect(
    await rows("select count(*) from information_schema.columns where column_name = '_row' and table_name = 'docs'"),
  ).toEqual([["0"]]);
});

test("long texts can be stored in indexed columns", async () => {
  await apply(
    docs([aColumn("a", "string"), aColumn("b", "string")], { indexes: [anIndex(["a", "b"]), anIndex(["a"])] }),
  );
  const text = "🙂".repeat(10_000);
  await sql.query({ text: "insert into docs (_row, a, b) values (uuidv7(), $1, $1)", values: [text] });
  expect(await rows("select count(*) from docs")).toEqual([["1"]]);
});

test("of two updates with one plan, one wins; the other gets catalog_moved", async () => {
  await apply(docs());
  const { version } = await loadCatalog(sql);
  const results = await Promise.allSettled(
    ["x", "y", "z"].map((name) =>
      apply(docs([...STORED, aColumn(name, "int", { nullable: true })]), { catalog_version: version }),
    ),
  );
  expect(results.filter((result) => result.status === "fulfilled")).toHaveLength(1);
  const columns = (await loadCatalog(sql)).tables[0]?.columns.map((column) => column.name);
  expect(columns).toHaveLength(3);
  for (const result of results) {
    if (result.status !== "rejected") continue;
    expect(result.reason).toMatchObject({ code: "catalog_moved" });
    expect(String(result.reason)).toContain(`main/docs: column '${columns?.[2]}' was added.`);
  }
});

test("an outdated plan gets exactly the changes made since", async () => {
  await apply(docs());
  const { version } = await loadCatalog(sql);
  await apply(docs([...STORED, aColumn("x", "int", { nullable: true })]));
  await apply(docs([...STORED.slice(1)], { indexes: [] }), { allow_destructive: true });
  await apply(aManifest({ tables: [aTable("notes", [aColumn("n", "int")])] }), { target: "main/reports" });
  const refused = await apply(docs(), { catalog_version: version }).catch(String);
  expect(refused).toContain("main/docs: column 'x' was added; main/docs: ");
  expect(refused).toContain("column 'x' was dropped");
  expect(refused).toContain("main/reports/notes: the table was created. This update changed nothing.");
  const many = ["a", "b", "c", "d", "e", "f", "g"].map((name) => aColumn(name, "int", { nullable: true }));
  const late = (await loadCatalog(sql)).version;
  await apply(docs([...STORED.slice(1), ...many]));
  const told = await apply(docs(), { catalog_version: late }).catch(String);
  expect(told).toContain("main/docs: column 'e' was added; and 2 more.");
  expect(told).not.toContain("'x'");
});

test("an update waits for a writer without blocking readers for long", async () => {
  await apply(docs());
  let updating: Promise<unknown> | undefined;
  await sql.transaction(async (connection) => {
    await connection.query({ text: "insert into docs (_row, title) values (uuidv7(), 'slow')" });
    updating = apply(docs([...STORED, aColumn("extra", "int", { nullable: true })]));
    for (let read = 0; read < 3; read++) {
      const waiting =
        "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and wait_event = 'relation'";
      await eventually(async () => expect((await sql.query({ text: waiting })).rows).toHaveLength(1), {
        interval_ms: 5,
      });
      // a reader that waited for the writer, behind the update, would wait without end
      await sql.query({ text: "select count(*) from docs" });
    }
  });
  await updating;
  expect((await plan(docs([...STORED, aColumn("extra", "int", { nullable: true })]))).in_agreement).toBe(true);
});

test("a foreign table in the way is named, and nothing is created", async () => {
  await sql.query({ text: "create table docs (mine int)" });
  await expect(apply(aManifest({ tables: [aTable("first", STORED), ...docs().tables] }))).rejects.toMatchObject({
    code: "schema_unsupported",
  });
  expect(await rows("select to_regclass('first')")).toEqual([[null]]);
  expect((await loadCatalog(sql)).tables).toEqual([]);
});

test("listeners get the new version of the catalog", async () => {
  const heard: string[] = [];
  const stop = new AbortController();
  await sql.listen("appdb_catalog", (payload) => heard.push(payload), stop.signal);
  await apply(docs());
  await eventually(() => expect(heard).toEqual(["1"]));
  stop.abort();
});

test("a column added again does not inherit old cell errors", async () => {
  await apply(docs());
  await sql.query({
    text: `insert into docs (_row, title, _errors) values
      (uuidv7(), 'one', '{"n": "pending"}'), (uuidv7(), 'two', '{"n": "pending", "other": "pending"}')`,
  });
  await apply(docs([aColumn("title", "string")]), { allow_destructive: true });
  expect(await rows("select title, _errors::text from docs order by title")).toEqual([
    ["one", null],
    ["two", '{"other": "pending"}'],
  ]);
});
