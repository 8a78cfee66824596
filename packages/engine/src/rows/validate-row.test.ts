import type { Expr } from "@appdb/contract/expressions";
import { expect, test } from "vitest";
import type { CatalogColumn, CatalogTable } from "../catalog/catalog.ts";
import { layOutRow } from "../compute/row-layout.ts";
import { compileJsonChecks } from "../kinds/json-checks.ts";
import { compileRowReader } from "./validate-row.ts";

const column = (id: number, name: string, parts: Partial<CatalogColumn> = {}): CatalogColumn => ({
  id,
  name,
  type: { kind: "string" },
  nullable: false,
  primary_key: false,
  computed: null,
  state: "ready",
  comment: null,
  custom_metadata: null,
  stale: false,
  ...parts,
});

const TITLE = { node: "column", name: "title", type: { kind: "string" }, nullable: false } as const;
const UPPER = {
  node: "call",
  fn: "string.upper",
  args: [TITLE],
  kwargs: {},
  type: { kind: "string" },
  nullable: false,
} as const;

const NOW: Expr = {
  node: "call",
  fn: "timestamp.now",
  args: [],
  kwargs: {},
  type: { kind: "timestamp" },
  nullable: false,
};

function literal(value: string, kind: "string" | "int"): Expr {
  return { node: "literal", value, type: { kind }, nullable: false };
}

const TABLE: CatalogTable = {
  id: 1,
  folder: "public",
  name: "docs",
  version: 1,
  model: "Docs",
  comment: null,
  custom_metadata: null,
  primary_key: [],
  has_default_idxs: false,
  identity: "_row",
  has_rows: false,
  columns: [
    column(1, "title"),
    column(2, "body", { nullable: true }),
    column(3, "count", { type: { kind: "int" } }),
    column(4, "a/b~c", { nullable: true, type: { kind: "bool" } }),
    column(5, "secret", { nullable: true }),
    column(7, "state", { default: { text: "'new'", expr: literal("new", "string") } }),
    column(8, "rank", { nullable: true, type: { kind: "int" }, default: { text: "7", expr: literal("7", "int") } }),
    column(9, "at", { type: { kind: "timestamp" }, default: { text: "now()", expr: NOW } }),
    column(6, "loud", { computed: { text: "upper(title)", expr: { ...UPPER, args: [TITLE] } } }),
  ],
  indexes: [],
};

const layout = layOutRow(TABLE);
const read = compileRowReader(
  layout,
  ["title", "body", "count", "a/b~c", "state", "rank"],
  await compileJsonChecks([]),
  {
    uuid7: () => "an id",
    uuid4: () => "an id",
    now: () => "2026-01-02T03:04:05Z",
  },
);

function refusal(body: string): { message: string; hint: string; errors: { pointer: string; detail: string }[] } {
  try {
    read(body);
  } catch (error) {
    return error as ReturnType<typeof refusal>;
  }
  throw new Error("the body was taken");
}

test("a row has a slot for each column and its identity, initially null", () => {
  expect(read('{"count": 3, "title": "x"}')).toEqual([
    "x",
    null,
    3,
    null,
    null,
    "new",
    7,
    "2026-01-02T03:04:05Z",
    null,
    null,
  ]);
  expect(layout.slots.map((slot) => slot.name)).toEqual([
    "title",
    "body",
    "count",
    "a/b~c",
    "secret",
    "state",
    "rank",
    "at",
    "loud",
    "_row",
  ]);
});

test("a sent value replaces the default; null is allowed where declared", () => {
  const row = read('{"title": "x", "count": 3, "state": "open", "rank": null}');
  expect(row.slice(5, 7)).toEqual(["open", null]);
  expect(refusal('{"title": "x", "count": 3, "state": null}').errors).toEqual([
    { pointer: "/state", detail: 'The field "state" must not be null.' },
  ]);
});

test("reports all invalid fields at once, each with its pointer", () => {
  const { errors, message } = refusal('{"titel": "x", "body": 5, "count": null, "a/b~c": "yes", "loud": "X"}');
  expect(message).toContain("6 values");
  expect(errors).toEqual([
    { pointer: "/titel", detail: 'The route takes no field "titel". Did you mean "title"?' },
    { pointer: "/body", detail: "Expected a string, got 5." },
    { pointer: "/count", detail: 'The field "count" must not be null.' },
    { pointer: "/a~1b~0c", detail: 'Expected a boolean (true or false), got "yes".' },
    { pointer: "/loud", detail: '"loud" is computed by the service; omit it.' },
    { pointer: "/title", detail: 'The field "title" is required.' },
  ]);
});

test("a single error is in the detail, and the hint lists inputs", () => {
  const { message, hint } = refusal('{"title": "x", "count": 9223372036854775808}');
  expect(message).toMatch(/^count: 9223372036854775808 is beyond the range of Int/);
  expect(hint).toBe("The route takes: title, body?, count, a/b~c?, state?, rank?");
});

test("names a column that is not an input of the route", () => {
  expect(refusal('{"title": "x", "count": 1, "secret": "s"}').errors).toEqual([
    { pointer: "/secret", detail: '"secret" is a column of docs, but not an input of this route.' },
  ]);
});

test("reports the first of many wrong values and shortens long names", () => {
  const names = Array.from({ length: 1_000 }, (_none, at) => `"x${at}":1`);
  const { message, errors } = refusal(`{"${"n".repeat(100_000)}":1,${names.join(",")}}`);
  expect(message).toBe("More than 20 values are invalid; `errors` lists the first 20.");
  expect(errors).toHaveLength(20);
  expect(errors[19]?.pointer).toBe("/x18");
  expect(errors[0]?.pointer).toMatch(/^\/n{996}\.\.\.$/);
  expect(errors[0]?.detail.length).toBe(1_000);
});

test("names of Object.prototype members are ordinary field names", () => {
  for (const name of ["__proto__", "constructor", "toString"]) {
    expect(refusal(`{"title": "x", "count": 1, "${name}": {"title": 1}}`).errors).toMatchObject([
      { pointer: `/${name}` },
    ]);
  }
  expect(refusal("{}").errors.map((error) => error.pointer)).toEqual(["/title", "/count"]);
});
