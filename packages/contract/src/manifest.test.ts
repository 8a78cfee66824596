import { expect, test } from "vitest";
import { manifestSchema } from "./manifest.ts";
import { wrongName } from "./manifest-names.ts";
import { VERSION } from "./version.ts";

const SOURCE = { file: "app.py", line: 3 };
const TITLE = { node: "column", name: "title", type: { kind: "string" }, nullable: false };

/** A manifest with one computed column, whose tree a test supplies. */
function aDocument(expr: unknown, more: Record<string, unknown> = {}): unknown {
  const column = { nullable: false, primary_key: false, comment: null, custom_metadata: null, source: SOURCE };
  const title = { ...column, name: "title", type: { kind: "string" }, computed: null };
  const shout = { ...column, name: "shout", type: { kind: "string" }, computed: { text: "shout", expr } };
  const table = { name: "docs", model: "Docs", comment: null, custom_metadata: null, columns: [title, shout] };
  return {
    manifest_version: 1,
    library_version: VERSION,
    python_version: "3.11.7",
    app_file: "app.py",
    functions: [],
    services: [],
    modules: [],
    tables: [{ ...table, primary_key: [], indexes: [], has_default_idxs: false, source: SOURCE }],
    ...more,
  };
}

const call = (fn: string) => ({
  node: "call",
  fn,
  args: [TITLE],
  kwargs: {},
  type: { kind: "string" },
  nullable: false,
});
const PLACE = ["tables", 0, "columns", 1, "computed", "expr"];

test("a manifest keeps its written form", () => {
  const document = aDocument(call("string.upper"));
  expect(manifestSchema.parse(document)).toMatchObject(document as object);
});

test.each([
  ["a member that nobody knows", aDocument(call("string.upper"), { views: [] }), []],
  ["another version", aDocument(call("string.upper"), { manifest_version: 2 }), ["manifest_version"]],
  ["a node of another kind", aDocument({ ...TITLE, node: "pivot" }), [...PLACE, "node"]],
  ["an operator that nobody knows", aDocument(call("op.xor")), [...PLACE, "fn"]],
  ["the operator of rows of a view", aDocument(call("op.rows")), [...PLACE, "fn"]],
  [
    "a type that nobody knows, deep in a tree",
    aDocument({ ...call("string.upper"), args: [{ ...TITLE, type: { kind: "picture" } }] }),
    [...PLACE, "args", 0, "type", "kind"],
  ],
])("refuses %s with its place", (_what, document, place) => {
  const { error } = manifestSchema.safeParse(document);
  expect(error?.issues.map((issue) => issue.path)).toEqual([place]);
});

type Changed = { name: string; columns: Record<string, unknown>[]; indexes: unknown[]; view?: unknown };

/** What a manifest says whose only table a test changes. */
function withTable(change: (table: Changed) => void) {
  const document = aDocument(call("string.upper")) as { tables: Changed[] };
  for (const table of document.tables) change(table);
  const { error } = manifestSchema.safeParse(document);
  return error === undefined ? "accepted" : wrongName(error);
}

const ITERATOR = { fn: "udfs:parts", is_udf: true, args: [], kwargs: {}, text: "parts()" };
const OF_DOCS = { base: "docs", filter: null, columns: null };
const BTREE = { kind: "btree", columns: ["title"], source: SOURCE };

/** How each part of a table gets a name. */
const NAMED = {
  "a table": (table: Changed, name: string) => Object.assign(table, { name }),
  "a view": (table: Changed, name: string) => Object.assign(table, { name, view: OF_DOCS }),
  "a column": (table: Changed, name: string) => Object.assign(table.columns[1] ?? {}, { name }),
  "an index": (table: Changed, name: string) => table.indexes.push({ ...BTREE, name }),
  "an output": (table: Changed, name: string) => {
    const output = { name, type: { kind: "string" }, nullable: false, is_stored: true };
    table.view = { ...OF_DOCS, iterator: { ...ITERATOR, outputs: [output] } };
  },
};
const PARTS = Object.entries(NAMED);

test.each(PARTS)("accepts the names of %s that the library accepts", (_what, give) => {
  for (const name of ["a", "title_2", "x".repeat(63), "first", "made", "new"]) {
    expect([name, withTable((table) => give(table, name))]).toEqual([name, "accepted"]);
  }
});

test.each(PARTS)("refuses a name of %s that the library refuses", (what, give) => {
  const wrong = ["", "\0", "a\0", "#shadow 1", "docs.title", "(rows)", 'a"b', "a.b; drop", "$1 \\ ' -- x", "Title"];
  for (const name of [...wrong, "é", "1a", "_row", "_errors", "_base_row", "_embedding_x", "x".repeat(64)]) {
    const refused = withTable((table) => give(table, name));
    expect([name, refused]).toEqual([
      name,
      expect.objectContaining({
        code: "app_invalid",
        message: expect.stringContaining(` cannot be the name of ${what}: `),
      }),
    ]);
  }
});

test("says why names of the engine are refused", () => {
  const said = (what: keyof typeof NAMED, name: string) => String(withTable((table) => NAMED[what](table, name)));
  expect(said("a column", "_base_row")).toContain(
    "app.py:3: '_base_row' cannot be the name of a column: it is reserved.",
  );
  expect(said("a column", "ctid")).toContain("'ctid' cannot be the name of a column: it is reserved.");
  expect(said("an output", "pos")).toContain("'pos' cannot be the name of an output: it is the number of the row.");
  expect(said("an output", "a\0b")).toContain("'a\\u0000b'");
  expect(said("an output", "constructor")).toContain("it is reserved.");
  expect(said("an output", "__proto__")).toContain("'__proto__' cannot be the name of an output");
  expect(said("an index", "by-title")).toBe("accepted");
});

test.each([
  ["__proto__", true],
  ["constructor", true],
  ["constructor", false],
  ["__proto__.a", false],
  ["op.rows", true],
])("refuses an iterator called %s", (fn, is_udf) => {
  const output = { name: "word", type: { kind: "string" }, nullable: false, is_stored: true };
  const refused = withTable((table) => {
    table.view = { ...OF_DOCS, iterator: { ...ITERATOR, fn, is_udf, outputs: [output] } };
  });
  expect(refused).toMatchObject({
    code: "app_invalid",
    message: expect.stringContaining("cannot be the name of an iterator: it names no function."),
  });
});

test("refuses an output that an iterator has twice", () => {
  const output = { name: "word", type: { kind: "string" }, nullable: false, is_stored: true };
  const refused = withTable((table) => {
    table.view = { ...OF_DOCS, iterator: { ...ITERATOR, outputs: [output, output] } };
  });
  expect(refused).toMatchObject({
    code: "app_invalid",
    message: expect.stringContaining("'word' cannot be the name of an output: another output has it."),
  });
});

test.each([
  ["document.document_splitter", "image", true],
  ["document.document_splitter", "document", false],
  ["string.string_splitter", "document", false],
  ["json.constructor", "image", false],
])("an iterator makes only its files: %s, %s", (fn, kind, isAccepted) => {
  const document = aDocument(call("string.upper")) as { tables: Changed[] };
  const outputs = [{ name: "part", type: { kind }, nullable: true, is_stored: true }];
  for (const table of document.tables)
    table.view = { ...OF_DOCS, iterator: { ...ITERATOR, fn, is_udf: false, outputs } };
  const { error } = manifestSchema.safeParse(document);
  const problem = isAccepted ? [] : ["has a file as an output, which the iterator does not make"];
  expect(error?.issues.map(({ message }) => message) ?? []).toEqual(problem);
});

/** An expression of this many calls. */
function nested(levels: number): unknown {
  let expr: unknown = TITLE;
  for (let level = 1; level < levels; level++) expr = { ...call("string.upper"), args: [expr] };
  return expr;
}

test("refuses an expression that would nest deeper than parsers can call themselves", () => {
  expect(manifestSchema.safeParse(aDocument(nested(300))).success).toBe(true);
  for (const levels of [301, 60_000]) {
    const [issue] = manifestSchema.safeParse(aDocument(nested(levels))).error?.issues ?? [];
    expect(issue).toMatchObject({ path: PLACE, message: "nests deeper than 300 levels" });
  }
});

test("the hidden column of an embedding index keeps its name, and another hidden one does not", () => {
  const hidden = (name: string) =>
    withTable((table) => Object.assign(table.columns[1] ?? {}, { name, is_hidden: true }));
  expect(hidden(`_embedding_${"x".repeat(49)}_2`)).toBe("accepted");
  for (const name of ["_row", "_embedding_", "_embedding_a.b", "#shadow 1"]) {
    expect(hidden(name)).toMatchObject({ code: "app_invalid" });
  }
});

test("a wrong member of a manifest is not a wrong name", () => {
  expect(withTable((table) => Object.assign(table, { surprise: 1 }))).toBeUndefined();
});

const MADE = { column: "title", table: "docs", deeper: [], values: [], computed: [], outputs: [] };
const COMPUTE = {
  kind: "compute",
  path: "/docs",
  method: "post",
  table: "docs",
  inputs: ["title"],
  outputs: ["title"],
  source: SOURCE,
};

/** A service with one route. */
const withRoute = (route: unknown) =>
  aDocument(call("string.upper"), { services: [{ name: "api", prefix: "", routes: [route], source: SOURCE }] });

test.each([
  ["the view of a column", (table: Changed) => Object.assign(table.columns[0] ?? {}, { view: "docs" })],
  [
    "the rows of a table",
    (table: Changed) => Object.assign(table, { rows_of: { table: "docs", column: "a", text: "" } }),
  ],
  ["the former name of an index", ({ indexes }: Changed) => indexes.push({ ...BTREE, name: null, renamed_from: "a" })],
])("refuses %s, which only the engine writes", (_what, change) => {
  const document = aDocument(call("string.upper")) as { tables: Changed[] };
  for (const table of document.tables) change(table);
  expect(manifestSchema.safeParse(document).error?.issues.map(({ message }) => message)).toEqual([
    "is a member that only the engine writes",
  ]);
});

test("refuses a compute route whose response the engine would read as its own bytes", () => {
  const messages = (route: unknown) =>
    manifestSchema.safeParse(withRoute(route)).error?.issues.map(({ message }) => message);
  expect(messages(COMPUTE)).toBeUndefined();
  const forged = { ...COMPUTE, of_view: { name: "docs", member: null, names: {}, made: MADE } };
  expect(messages(forged)).toEqual(["is a member that only the engine writes"]);
});
