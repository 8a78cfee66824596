import type { Expr } from "@appdb/contract/expressions";
import type { TypeKind } from "@appdb/contract/types";
import { expect, test } from "vitest";
import type { CatalogColumn, CatalogFunction, CatalogTable } from "../catalog/catalog.ts";
import { computedClosure, planCompute, planPython } from "./plan-compute.ts";
import { unnestRows } from "./unnest-rows.ts";

const typed = (kind: TypeKind) => ({ type: { kind }, nullable: false }) as const;
const col = (name: string, kind: TypeKind = "string"): Expr => ({ node: "column", name, ...typed(kind) });
const upper = (arg: Expr): Expr => ({ node: "call", fn: "string.upper", args: [arg], kwargs: {}, ...typed("string") });
const udf = (arg: Expr): Expr => ({ node: "udf", function: "udfs:f", args: [arg], kwargs: {}, ...typed("string") });

let lastId = 0;
const column = (name: string, expr: Expr | null): CatalogColumn => {
  lastId += 1;
  return {
    id: lastId,
    name,
    type: { kind: "string" },
    nullable: false,
    primary_key: false,
    computed: expr === null ? null : { text: name, expr },
    state: "ready",
    comment: null,
    custom_metadata: null,
    stale: false,
  };
};

const table = (...columns: CatalogColumn[]): CatalogTable => ({
  id: 1,
  folder: "public",
  name: "t",
  version: 1,
  model: "T",
  comment: null,
  custom_metadata: null,
  primary_key: [],
  has_default_idxs: false,
  identity: "_row",
  has_rows: false,
  columns,
  indexes: [],
});

const FUNCTIONS = new Map<string, CatalogFunction>([
  ["udfs:f", { id: "udfs:f", module: "udfs", name: "f", digest: "d" }],
]);

test("without functions, everything is SQL in dependency order", () => {
  const chained = table(
    column("c", upper(col("b"))),
    column("b", upper(col("a"))),
    column("a", upper(col("x"))),
    column("x", null),
  );
  const plan = planCompute(chained, FUNCTIONS, ["c", "b", "a"]);
  expect(plan.graph).toBeNull();
  expect(plan.sql.map((step) => step.column)).toEqual(["a", "b", "c"]);
  expect(plan.sql[1]?.expression).toMatch(/"a".*::text collate pg_catalog\.pg_unicode_fast$/);
});

test("inputs of a function go to Python; readers of its column stay SQL", () => {
  const mixed = table(
    column("x", null),
    column("y", null),
    column("before", upper(col("x"))),
    column("other", upper(col("y"))),
    column("made", udf(col("before"))),
    column("after", upper(col("made"))),
  );
  const plan = planCompute(mixed, FUNCTIONS, ["before", "other", "made", "after"]);
  expect(plan.graph?.inputs.map((input) => input.name)).toEqual(["x"]);
  expect(plan.graph?.steps.map((step) => step.name)).toEqual(["before", "made"]);
  expect(plan.graph?.functions).toEqual([{ id: "udfs:f", module: "udfs", name: "f" }]);
  expect(plan.sql.map((step) => step.column)).toEqual(["other", "after"]);
});

test("computed columns outside the request are read as stored", () => {
  const mixed = table(column("x", null), column("before", upper(col("x"))), column("made", udf(col("before"))));
  const plan = planCompute(mixed, FUNCTIONS, ["made"]);
  expect(plan.graph?.inputs).toEqual([{ name: "before", type: { kind: "string" }, nullable: true }]);
  expect(plan.sql).toEqual([]);
});

test("everything can run in Python, for rows that SQL refused", () => {
  const chained = table(column("x", null), column("a", upper(col("x"))), column("b", upper(col("a"))));
  expect(planPython(chained, FUNCTIONS, ["b", "a"])?.steps.map((step) => step.name)).toEqual(["a", "b"]);
  expect(planPython(chained, FUNCTIONS, [])).toBeNull();
});

test("equal graphs have equal keys, different ones do not", () => {
  const first = table(column("x", null), column("made", udf(col("x"))));
  const second = table(column("x", null), column("made", udf(upper(col("x")))));
  const key = (of: CatalogTable) => planCompute(of, FUNCTIONS, ["made"]).graph?.key;
  expect(key(first)).toBe(key(first));
  expect(key(first)).not.toBe(key(second));
});

test("an unknown function is refused by name", () => {
  const broken = table(column("x", null), column("made", udf(col("x"))));
  expect(() => planCompute(broken, new Map(), ["made"])).toThrow(
    expect.objectContaining({ code: "schema_mismatch", message: expect.stringContaining("udfs:f") }),
  );
});

test("dependencies of outputs are found through the chain", () => {
  const chained = table(
    column("x", null),
    column("a", upper(col("x"))),
    column("b", upper(col("a"))),
    column("z", upper(col("x"))),
  );
  expect([...computedClosure(chained, ["b", "x"])].sort()).toEqual(["a", "b"]);
});

test("column names cannot inject SQL", () => {
  const sql = unnestRows([{ name: 'a"; drop table t; --', type: { kind: "string" } }], []);
  expect(sql).toContain('"a""; drop table t; --"');
  expect(sql.replaceAll('"a""; drop table t; --"', "")).not.toContain("drop");
});

test("a reader of a cell error is computed in Python or reads stored errors", () => {
  const why: Expr = { node: "cell_error", column: "made", part: "type", ...typed("string") };
  const mixed = table(column("x", null), column("why", upper(why)), column("made", upper(col("x"))));
  const together = planCompute(mixed, FUNCTIONS, ["why", "made"]);
  expect(together.graph?.steps.map((step) => step.name)).toEqual(["made", "why"]);
  expect(together.graph?.inputs.map((input) => input.name)).toEqual(["x"]);
  const alone = planCompute(mixed, FUNCTIONS, ["why"]);
  expect(alone.graph?.inputs).toEqual([{ name: "_errors", type: { kind: "json" }, nullable: true }]);
  expect(alone.sql).toEqual([]);
});
