import type { ManifestTable } from "@appdb/contract/manifest";
import { useJobsBench } from "@appdb/testkit/jobs-bench";
import {
  aColumn,
  aComputed,
  aManifest,
  anIndex,
  aTable,
  aUuid7Key,
  call,
  col,
  lit,
} from "@appdb/testkit/manifest-builder";
import { expect, test } from "vitest";

const bench = useJobsBench();
const { rows, catalog, apply, finish, isInAgreement } = bench;
const execute = (text: string) => bench.execute({ text });

const of = (...tables: ManifestTable[]) => aManifest({ tables });

const BEFORE = aTable(
  "docs",
  [
    aColumn("code", "string", { primary_key: true }),
    aColumn("title", "string", { comment: "what it is called" }),
    aColumn("body", "string", { nullable: true }),
    aComputed("up", call("string.upper", "string", col("title", "string"))),
  ],
  { indexes: [anIndex(["title"]), anIndex(["body", "title"], "both")] },
);
const AFTER = aTable(
  "notes",
  [
    aColumn("slug", "string", { primary_key: true, renamed_from: "code" }),
    aColumn("headline", "string", { comment: "what it is called", renamed_from: "title" }),
    aColumn("body", "string", { nullable: true }),
    aComputed("loud", call("string.upper", "string", col("headline", "string")), { renamed_from: "up" }),
  ],
  { indexes: [anIndex(["headline"]), anIndex(["body", "headline"], "both")], renamed_from: "docs" },
);

test("a rename keeps rows, key, indexes, errors and ids, and recomputes nothing", async () => {
  await apply(of(BEFORE));
  await execute(`insert into docs (_row, code, title, up, _errors) values
    (uuidv7(), 'a', 'one', 'kept as it was', '{"up": {"type": "E"}, "title": "pending"}')`);
  const [before] = (await catalog()).tables;
  expect(await apply(of(AFTER))).toEqual([]);
  const [after] = (await catalog()).tables;
  expect(after?.id).toBe(before?.id);
  expect(after?.columns.map((column) => column.id)).toEqual(before?.columns.map((column) => column.id));
  expect(after?.primary_key).toEqual(["slug"]);
  expect(await rows("select slug, headline, loud, _errors::text from notes")).toEqual([
    ["a", "one", "kept as it was", '{"loud": {"type": "E"}, "headline": "pending"}'],
  ]);
  expect(await rows("select indexname from pg_indexes where schemaname = 'public' order by 1")).toEqual([
    ["notes(headline)"],
    ["notes.errors"],
    ["notes.idx.both"],
    ["notes.key"],
    ["notes.pkey"],
  ]);
  expect(after?.indexes.map((index) => index.sql_name)).toEqual(["notes(headline)", "notes.idx.both"]);
  expect(await isInAgreement(of(AFTER))).toBe(true);
});

test("a renamed file without renamed_from shows no difference either", async () => {
  await apply(of(BEFORE));
  await apply(of(AFTER));
  const forgotten = { ...AFTER, renamed_from: null, columns: AFTER.columns.map((c) => ({ ...c, renamed_from: null })) };
  expect(await isInAgreement(of(forgotten))).toBe(true);
});

test("a new table with renamed_from is current, and so are reused names", async () => {
  await apply(of(AFTER));
  expect(await isInAgreement(of(AFTER))).toBe(true);
  const withOld = { ...AFTER, columns: [...AFTER.columns, aColumn("title", "int", { nullable: true })] };
  await apply(of(withOld, BEFORE));
  expect(await isInAgreement(of(withOld, BEFORE))).toBe(true);
});

test("two columns and two tables swap their names, once", async () => {
  const swap = (first: string, second: string, isSwap: boolean) =>
    of(
      aTable("a", [aUuid7Key(), aColumn("x", first === "a" ? "string" : "int")], {
        renamed_from: isSwap ? "b" : null,
        indexes: [anIndex(["x"])],
      }),
      aTable("b", [aUuid7Key(), aColumn("x", second === "b" ? "int" : "string")], {
        renamed_from: isSwap ? "a" : null,
        indexes: [anIndex(["x"])],
      }),
    );
  await apply(swap("a", "b", false));
  await execute("insert into a (id, x) values (uuidv7(), 'text')");
  await apply(swap("b", "a", true));
  expect(await rows("select x from b")).toEqual([["text"]]);
  expect(await isInAgreement(swap("b", "a", true))).toBe(true);

  const columns = (isSwap: boolean) =>
    of(
      aTable("t", [
        aColumn("p", isSwap ? "int" : "string", { nullable: true, renamed_from: isSwap ? "q" : null }),
        aColumn("q", isSwap ? "string" : "int", { nullable: true, renamed_from: isSwap ? "p" : null }),
        aComputed("sum", call("op.add", "int", col(isSwap ? "p" : "q", "int", true), lit("1", "int"))),
      ]),
    );
  await apply(columns(false));
  await execute(`insert into t (_row, p, q, sum, _errors) values (uuidv7(), 'p', 7, 8, '{"p": "pending"}')`);
  expect(await apply(columns(true))).toEqual([]);
  expect(await rows("select p, q, sum, _errors::text from t")).toEqual([["7", "p", "8", '{"q": "pending"}']]);
  expect(await isInAgreement(columns(true))).toBe(true);
});

test("a chain of names moves by one in one update with other changes", async () => {
  await apply(of(aTable("t", [aColumn("a", "int"), aColumn("b", "int"), aColumn("c", "int")])));
  await execute("insert into t (_row, a, b, c) values (uuidv7(), 1, 2, 3)");
  const moved = of(
    aTable("t", [
      aColumn("a", "string", { nullable: true }),
      aColumn("b", "int", { renamed_from: "a", nullable: true }),
      aColumn("c", "int", { renamed_from: "b" }),
      aColumn("d", "int", { renamed_from: "c" }),
    ]),
  );
  // The file also declares a new `a`, so its values would be ambiguous.
  await expect(apply(moved)).rejects.toMatchObject({ code: "schema_unsupported" });
  const table = moved.tables[0] as ManifestTable;
  await apply(of({ ...table, columns: table.columns.slice(1) }));
  expect(await rows("select b, c, d from t")).toEqual([["1", "2", "3"]]);
  await apply(moved);
  expect(await rows("select a, b, c, d from t")).toEqual([[null, "1", "2", "3"]]);
});

test("a running fill continues under the new names", async () => {
  const table = (name: string, column: string, former: Partial<ManifestTable> = {}) =>
    of(
      aTable(
        name,
        [
          aColumn(column, "string", { renamed_from: former.renamed_from == null ? null : "title" }),
          aComputed("up", call("string.upper", "string", col(column, "string"))),
        ],
        former,
      ),
    );
  await apply(of(aTable("docs", [aColumn("title", "string")])));
  await execute("insert into docs select uuidv7(), 'title ' || n from generate_series(1, 20) n");
  const jobs = await apply(table("docs", "title"));
  await apply(table("papers", "headline", { renamed_from: "docs" }));
  await finish(jobs);
  expect(await rows("select count(*) from papers where up = upper(headline)")).toEqual([["20"]]);
  expect(await isInAgreement(table("papers", "headline", { renamed_from: "docs" }))).toBe(true);
});

test("a rename onto an existing table or column is refused by name", async () => {
  await apply(of(BEFORE, aTable("notes", [aColumn("n", "int")])));
  await expect(apply(of(AFTER))).rejects.toMatchObject({
    code: "schema_unsupported",
    message: expect.stringContaining("cannot be renamed from 'docs': 'notes' already exists, next to 'docs'"),
  });
  const both = {
    ...BEFORE,
    columns: BEFORE.columns.map((c) => (c.name === "body" ? { ...c, renamed_from: "title" } : c)),
  };
  await expect(apply(of(both))).rejects.toMatchObject({ code: "schema_unsupported" });
});
