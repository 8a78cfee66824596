import type { Expr } from "@appdb/contract/expressions";
import { expect, test } from "vitest";
import type { Catalog, CatalogColumn, CatalogTable } from "../catalog/catalog.ts";
import { layOutRow } from "../compute/row-layout.ts";
import { planTableVersion, schemaChanged, TRY_AGAIN, updateHint } from "./table-version.ts";

const text = { type: { kind: "string" }, nullable: false } as const;
const col = (name: string): Expr => ({ node: "column", name, ...text });
const call = (fn: string, ...args: Expr[]): Expr => ({ node: "call", fn, args, kwargs: {}, ...text });

const column = (id: number, name: string, expr: Expr | null, parts: Partial<CatalogColumn> = {}): CatalogColumn => ({
  id,
  name,
  type: { kind: "string" },
  nullable: false,
  primary_key: false,
  computed: expr === null ? null : { text: name, expr },
  state: "ready",
  comment: null,
  custom_metadata: null,
  stale: false,
  ...parts,
});

const KNOWN: CatalogTable = {
  id: 7,
  folder: "public",
  name: "docs",
  version: 1,
  model: "Docs",
  comment: null,
  custom_metadata: null,
  primary_key: [],
  has_default_idxs: false,
  identity: "_row",
  has_rows: true,
  columns: [
    column(1, "title", null),
    column(2, "loud", call("string.upper", col("title"))),
    column(3, "louder", call("string.upper", col("loud"))),
  ],
  indexes: [],
};

function plan(columns: readonly CatalogColumn[], parts: Partial<CatalogTable> = {}) {
  const catalog: Catalog = {
    version: 2,
    tables: [{ ...KNOWN, version: 2, columns, ...parts }],
    views: [],
    functions: new Map(),
  };
  return planTableVersion(layOutRow(KNOWN), catalog, { app_file: "app.py", target: "main/reports" });
}

test("a table whose version alone changed is written as before", () => {
  expect(plan(KNOWN.columns)).toMatchObject({ table_id: 7, version: 2, pending: [], has_key: false });
});

test("new nullable columns are ignored; new computed columns and readers are pending", () => {
  const added = [
    ...KNOWN.columns,
    column(4, "note", null, { nullable: true }),
    column(6, "late", call("string.upper", col("early"))),
    column(5, "early", call("string.lower", col("title"))),
  ];
  expect(plan(added).pending).toEqual([
    { name: "late", id: 6, reads: new Set(["early", "title"]) },
    { name: "early", id: 5, reads: new Set(["title"]) },
  ]);
});

test("a changed expression makes its column and readers pending; key order does not", () => {
  const [title, loud, louder] = KNOWN.columns;
  if (title === undefined || loud?.computed == null || louder === undefined) throw new Error("no columns");
  const changed = { ...loud, computed: { text: "lower", expr: call("string.lower", col("title")) } };
  expect(plan([title, changed, louder]).pending.map((one) => one.name)).toEqual(["loud", "louder"]);
  const expr = Object.fromEntries(Object.entries(loud.computed.expr).reverse()) as Expr;
  expect(plan([title, { ...loud, computed: { text: "loud", expr } }, louder]).pending).toEqual([]);
});

test.each<[string, readonly CatalogColumn[], RegExp]>([
  ["dropped", KNOWN.columns.slice(0, 2), /docs\.louder was dropped/],
  ["retyped", [column(1, "title", null, { type: { kind: "int" } }), ...KNOWN.columns.slice(1)], /String to Int/],
  ["stored", [...KNOWN.columns.slice(0, 2), column(3, "louder", null)], /now a stored column/],
  ["required", [...KNOWN.columns, column(9, "must", null)], /docs\.must was added and must not be null/],
])("a column that was %s is refused with the command to type", (_what, columns, message) => {
  expect(() => plan(columns)).toThrow(
    expect.objectContaining({
      code: "schema_changed",
      message: expect.stringMatching(message),
      hint: expect.stringMatching(/cli service update app\.py main\/reports.*it needs --allow-destructive\.$/),
    }),
  );
});

test("the hint names the restart of a service in a terminal, which hosted services cannot be", () => {
  const local = updateHint({ app_file: "app.py", target: "main" });
  expect(local).toMatch(/cli service update app\.py main\..*start cli service run again/);
  expect(updateHint({ app_file: "app.py", target: "cloud://acme:main" })).toMatch(/app\.py cloud:\/\/acme:main$/);
});

test("errors of people, who have no service, ask to try again", () => {
  const opened: string[] = [];
  const people = { app_file: "", target: "main", onStale: () => void opened.push("again") };
  const error = schemaChanged(people, "View it was dropped.", {});
  expect(error).toMatchObject({ code: "schema_changed", hint: TRY_AGAIN });
  expect(`${error}`).not.toContain("ervice");
  expect(opened).toEqual(["again"]);
});

test("refuses a table that was dropped, or dropped and created again", () => {
  expect(() => plan(KNOWN.columns, { id: 8 })).toThrow(expect.objectContaining({ code: "schema_changed" }));
});
