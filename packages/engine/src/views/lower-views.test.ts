import type { Expr } from "@appdb/contract/expressions";
import type { ManifestQuery, ManifestTable } from "@appdb/contract/manifest";
import { aColumn, aComputed, aManifest, anIndex, aTable, call, col, lit, udf } from "@appdb/testkit/manifest-builder";
import { expect, test } from "vitest";
import { isSameExpr } from "../catalog/compare.ts";
import { asMade, madeRowsIn } from "../expressions/made-rows.ts";
import { lowerViews } from "./lower-views.ts";

const DOCS = aTable("docs", [
  aColumn("id", "int", { primary_key: true }),
  aColumn("title", "string"),
  aColumn("n", "int", { nullable: true }),
]);

const over = (base: string, expr: Expr | null = null): Partial<ManifestTable> => ({
  primary_key: [],
  view: { base, filter: expr === null ? null : { text: "its condition", expr }, columns: null },
});

const OVER_DOCS = { base: "docs", filter: null, columns: null };

const words = (base: string, arg: Expr, filter: Expr | null = null): Partial<ManifestTable> => ({
  primary_key: [],
  view: {
    base,
    filter: filter === null ? null : { text: "its condition", expr: filter },
    columns: null,
    iterator: {
      fn: "app:words",
      is_udf: true,
      args: [arg],
      kwargs: {},
      text: "words(title)",
      outputs: [{ name: "word", type: { kind: "string" }, nullable: true, is_stored: true }],
    },
  },
});

const SMALL = call("op.lt", "bool", col("n", "int"), lit("3", "int"));
const LOUD = aComputed("loud", call("string.upper", "string", col("title", "string")));

const lowered = (...tables: ManifestTable[]) => lowerViews(aManifest({ tables: [DOCS, ...tables] }));
const columnsOf = (table: string, ...tables: ManifestTable[]) =>
  lowered(...tables).tables.find(({ name }) => name === table)?.columns ?? [];

test("views are in any order, and one over itself or over nothing is refused at its line", () => {
  const inner = aTable("inner", [LOUD], over("docs", SMALL));
  const outer = aTable("outer", [aComputed("more", col("loud", "string"))], over("inner"));
  expect(lowered(outer, inner).views.map(({ name }) => name)).toEqual(["inner", "outer"]);
  expect(() => lowered(aTable("a", [], over("b")), aTable("b", [], over("a")))).toThrow(
    "app.py:1: The view 'a' is over itself.",
  );
  expect(() => lowered(aTable("a", [], over("a")))).toThrow("The view 'a' is over itself.");
  const chain = Array.from({ length: 40 }, (_none, at) =>
    aTable(`v${at}`, [], over(at === 39 ? "docs" : `v${at + 1}`)),
  );
  expect(() => lowered(...chain)).toThrow("is below more than 32 other views");
  expect(() => lowered(aTable("a", [], over("gone")))).toThrow("is over 'gone', which the file does not declare");
});

test("a view that names a column that nothing declares is refused at its line", () => {
  const showing = (base: string, columns: readonly string[]) =>
    aTable("v", [LOUD], { primary_key: [], view: { base, filter: null, columns: [...columns] } });
  expect(lowered(showing("docs", ["title", "n"])).views.map(({ name }) => name)).toEqual(["v"]);
  expect(() => lowered(showing("docs", ["title", "gone"]))).toThrow(
    "app.py:1: The view 'v' shows 'gone', which 'docs' does not have.",
  );
  const parts = aTable("parts", [], words("docs", col("title", "string")));
  expect(lowered(parts, showing("parts", ["word", "pos", "title"])).views.length).toBeGreaterThan(0);
  expect(() => lowered(parts, showing("parts", ["__proto__"]))).toThrow(
    "shows '__proto__', which 'parts' does not have",
  );
  const selected = aTable("v", [LOUD], { primary_key: [], view: { ...OVER_DOCS, selected: ["loud", "constructor"] } });
  expect(() => lowered(selected)).toThrow("The view 'v' selects 'constructor', which it does not declare.");
});

test("a manifest is lowered once, and a lowered one stays as it is", () => {
  const manifest = aManifest({ tables: [DOCS, aTable("v", [LOUD], over("docs", SMALL))] });
  const first = lowerViews(manifest);
  expect(lowerViews(manifest)).toBe(first);
  expect(lowerViews(first)).toBe(first);
  expect(lowerViews(aManifest({ tables: [DOCS] })).tables).toEqual([DOCS]);
});

test.each<{ what: string; expr: Expr; isStored: boolean }>([
  { what: "a comparison with a constant", expr: SMALL, isStored: false },
  { what: "an is-null test", expr: call("op.is_null", "bool", col("n", "int", true)), isStored: false },
  { what: "two comparisons", expr: call("op.and", "bool", SMALL, call("op.not", "bool", SMALL)), isStored: false },
  {
    what: "kinds that differ",
    expr: call("op.lt", "bool", col("n", "int"), lit(2.5, "float")),
    isStored: true,
  },
  {
    what: "arithmetic",
    expr: call("op.eq", "bool", call("op.mod", "int", col("n", "int"), lit("2", "int")), lit("0", "int")),
    isStored: true,
  },
  { what: "a function", expr: udf("app:is_fine", "bool", col("title", "string")), isStored: true },
])("a condition of $what is stored: $isStored", ({ expr, isStored }) => {
  const columns = columnsOf("docs", aTable("v", [LOUD], over("docs", expr)));
  expect(columns.some(({ name }) => name === "v.(rows)")).toBe(isStored);
  const loud = columns.find(({ name }) => name === "v.loud")?.computed?.expr;
  expect(loud).toMatchObject({ fn: "op.when", args: [isStored ? { node: "column", name: "v.(rows)" } : expr, {}] });
});

test("names of a renamed view's columns, condition and indexes carry the previous ones", () => {
  const view = aTable("now", [aComputed("big", LOUD.computed?.expr ?? SMALL, { renamed_from: "loud" })], {
    ...over("docs", call("op.not", "bool", udf("app:f", "bool", col("n", "int")))),
    renamed_from: "before",
    indexes: [anIndex(["big"], "by_big"), anIndex(["big", "title"])],
  });
  const [table] = lowered(view).tables;
  expect(table?.columns.slice(3).map(({ name, renamed_from: was }) => [name, was])).toEqual([
    ["now.(rows)", "before.(rows)"],
    ["now.big", "before.loud"],
  ]);
  expect(table?.indexes.map(({ name, renamed_from: was, columns }) => [name, was, columns])).toEqual([
    ["now.by_big", "before.by_big", ["now.big"]],
    [null, undefined, ["now.big", "title"]],
  ]);
});

test("hidden columns of a view with a long name have a dot, fit, and differ", () => {
  const long = "v".repeat(63);
  const stored = call("op.eq", "bool", call("op.mod", "int", col("n", "int"), lit("2", "int")), lit("0", "int"));
  const names = columnsOf("docs", aTable(long, [LOUD], over("docs", stored))).map(({ name }) => name);
  const hidden = names.slice(3);
  expect(new Set(hidden).size).toBe(2);
  for (const name of hidden) expect([name.includes("."), Buffer.byteLength(name) <= 63]).toEqual([true, true]);
});

test.each([
  ["a constant Int that a Float represents", lit("50", "int"), false],
  ["one that no Float represents", lit("9007199254740993", "int"), true],
  ["an Int column", col("n", "int"), true],
] as const)("a Float compared with %s", (_what, other, isStored) => {
  const docs = aTable("docs", [
    aColumn("id", "int", { primary_key: true }),
    aColumn("f", "float"),
    aColumn("n", "int"),
  ]);
  for (const condition of [
    call("op.gt", "bool", col("f", "float"), other),
    call("op.eq", "bool", other, col("f", "float")),
  ]) {
    const { tables } = lowerViews(aManifest({ tables: [docs, aTable("v", [], over("docs", condition))] }));
    expect(tables[0]?.columns.some(({ name }) => name === "v.(rows)")).toBe(isStored);
  }
});

test("an iterator view is a table, whose base has a column that makes its rows", () => {
  const own = aComputed("loud", call("string.upper", "string", col("word", "string")));
  const both = aComputed("of", call("op.add", "string", col("word", "string"), col("title", "string")));
  const view = aTable("w", [own, both], words("docs", col("title", "string"), SMALL));
  const child = lowered(view).tables.find(({ name }) => name === "w");
  expect(child?.rows_of).toEqual({
    table: "docs",
    column: "w.(rows)",
    text: "words(title)",
    values: { of: "text of of" },
    columns: ["id", "title", "n"].map((name) => ({ name, column: name, up: 1 })),
  });
  expect(child?.columns.map(({ name, computed }) => [name, computed !== null])).toEqual([
    ["_base_row", false],
    ["pos", false],
    ["word", false],
    ["loud", true],
    ["of", false],
  ]);
  const made = madeRowsIn(columnsOf("docs", view).at(-1)?.computed?.expr ?? SMALL);
  expect(made?.outputs.map(({ name }) => name)).toEqual(["word"]);
  expect(made?.computed.map(({ name }) => name)).toEqual(["of", "loud"]);
  expect(made?.computed[0]?.expr).toMatchObject({ args: [{ name: "word", of: "(rows)" }, { name: "title" }] });
});

test("the column that makes rows has the same definition after a change of an own column, and another one otherwise", () => {
  const rows = (title: string, value: Expr): Expr => {
    const view = aTable("w", [aComputed("c", value)], words("docs", col(title, "string")));
    return columnsOf("docs", view).at(-1)?.computed?.expr ?? SMALL;
  };
  const upper = call("string.upper", "string", col("word", "string"));
  const lower = call("string.lower", "string", col("word", "string"));
  expect(isSameExpr(rows("title", upper), rows("title", lower))).toBe(true);
  const mixed = call("op.add", "string", col("word", "string"), col("title", "string"));
  const swapped = call("op.add", "string", col("title", "string"), col("word", "string"));
  expect(isSameExpr(rows("title", mixed), rows("title", swapped))).toBe(false);
  expect(isSameExpr(rows("title", mixed), rows("title", upper))).toBe(false);
});

test("a condition that is computed guards the rows of an iterator view, and has a column of its own", () => {
  const stored = call("op.eq", "bool", call("op.mod", "int", col("n", "int"), lit("2", "int")), lit("0", "int"));
  const view = aTable("x", [], { ...words("docs", col("title", "string"), stored), renamed_from: "w" });
  const [condition, rows] = columnsOf("docs", view).slice(3);
  expect(condition).toMatchObject({ name: "x.(if)", renamed_from: "w.(if)", type: { kind: "bool" }, view: "x" });
  expect(rows?.computed?.expr).toMatchObject({ fn: "op.when", args: [{ node: "column", name: "x.(if)" }, {}] });
});

test("rows of an iterator view have hidden copies of the columns that views over it read", () => {
  const w = aTable("w", [], words("docs", col("title", "string")));
  const filtered = aTable("x", [LOUD], over("w", SMALL));
  const deep = aTable("y", [LOUD], words("x", col("title", "string")));
  const all = [w, filtered, deep];
  const [rows, more] = columnsOf("docs", ...all).slice(3);
  expect(more).toBeUndefined();
  expect(madeRowsIn(rows?.computed?.expr ?? SMALL)?.computed.map(({ name, expr }) => [name, expr])).toMatchObject([
    ["docs.n", { node: "column", name: "n" }],
    ["docs.title", { node: "column", name: "title" }],
    ["x.loud", { fn: "op.when" }],
    ["y.(rows)", { fn: "op.when" }],
  ]);
  const copies = columnsOf("w", ...all).filter(({ is_hidden: isHidden, view }) => isHidden && view === undefined);
  expect(copies.map(({ name, computed }) => [name, computed])).toEqual([
    ["_base_row", null],
    ["docs.n", null],
    ["docs.title", null],
  ]);
  expect(columnsOf("y", ...all).map(({ name }) => name)).toEqual(["_base_row", "pos", "word", "loud"]);
  const shown = lowered(...all).views.find(({ name }) => name === "x")?.definition.columns;
  expect(shown?.map(({ name }) => name)).toEqual(["pos", "word", "id", "title", "n", "loud"]);
});

test("an own column with the name of an output is refused", () => {
  const twice = aTable("w", [aComputed("word", lit("a", "string"))], words("docs", col("title", "string")));
  expect(() => lowered(twice)).toThrow("declares 'word', which its iterator gives");
});

function query(kind: "inner" | "left" | "right" | "full", on: Expr): ManifestQuery {
  const none = { where: null, group_by: [], distinct: false, order_by: [], limit: null, offset: null, tail: null };
  return {
    id: "app:q",
    parameters: [],
    source: { file: "app.py", line: 7 },
    query: {
      ...none,
      from: { table: "docs", as: "d" },
      joins: [{ kind, table: "w", as: "w", on }],
      select: [{ name: "word", expr: { ...col("word", "string"), of: "w" } as Expr }],
      sample: null,
    },
  } as unknown as ManifestQuery;
}

test("a view over rows of rows reads their own columns, which hide those of their names", () => {
  const w = aTable("w", [], words("docs", col("title", "string")));
  const x = aTable("x", [], words("w", col("word", "string")));
  const first = call("op.eq", "bool", col("pos", "int"), lit("0", "int"));
  const y = aTable("y", [aComputed("more", col("word", "string"))], over("x", first));
  const [view] = lowered(w, x, y).views;
  expect(view).toMatchObject({ name: "y", table: "x", definition: { member: first } });
  const z = aTable("z", [aComputed("more", col("word", "string"))], words("x", col("word", "string")));
  expect(lowered(w, x, z).tables.map(({ name }) => name)).toEqual(["docs", "w", "x", "z"]);
});

test("a join brings the base of an iterator view if its condition reads it", () => {
  const w = aTable("w", [], words("docs", col("title", "string")));
  const of = (alias: string, name: string): Expr => ({ ...col(name, "string"), of: alias }) as Expr;
  const joins = (kind: "inner" | "left" | "right" | "full", on: Expr) =>
    lowerViews(aManifest({ tables: [DOCS, w], queries: [query(kind, on)] })).queries[0]?.query.joins;
  const same = call("op.eq", "bool", of("d", "title"), of("w", "title"));
  expect(joins("left", same)).toMatchObject([
    { kind: "left", table: "w", as: "w", on: { args: [{ of: "d" }, { of: "w^1", name: "title" }] } },
    { kind: "left", table: "docs", as: "w^1", is_within: true },
  ]);
  expect(joins("inner", call("op.eq", "bool", of("d", "title"), of("w", "word")))).toHaveLength(1);
  expect(joins("right", same)?.map(({ kind, as }) => [kind, as])).toEqual([
    ["right", "w"],
    ["inner", "w^1"],
  ]);
  expect(joins("full", same)?.map(({ kind, as }) => [kind, as])).toEqual([
    ["full", "w"],
    ["left", "w^1"],
  ]);
});

test("a right or full join selects the rows of a view before it joins them", () => {
  const same = call("op.eq", "bool", { ...col("n", "int"), of: "d" } as Expr, { ...col("n", "int"), of: "w" } as Expr);
  const small = (kind: "inner" | "left" | "right" | "full") => {
    const manifest = aManifest({
      tables: [DOCS, aTable("w", [LOUD], over("docs", SMALL))],
      queries: [query(kind, same)],
    });
    return lowerViews(manifest).queries[0]?.query.joins[0];
  };
  const member = { args: [{ of: "w", name: "n" }, {}] };
  for (const kind of ["right", "full"] as const) {
    expect(small(kind)).toMatchObject({ table: "docs", as: "w", member, on: same });
  }
  expect(small("left")).toMatchObject({ table: "docs", as: "w", on: { fn: "op.and", args: [member, same] } });
  expect(small("left")).not.toHaveProperty("member");
});

test("columns of made rows are marked, and others are not", () => {
  const expr = call("op.add", "string", col("word", "string"), col("title", "string"));
  expect(asMade(expr, new Set(["word"]))).toMatchObject({ args: [{ of: "(rows)" }, { name: "title" }] });
  expect(madeRowsIn(expr)).toBeUndefined();
});
