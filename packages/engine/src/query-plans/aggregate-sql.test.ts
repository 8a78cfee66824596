import { expect, test } from "vitest";
import { aggregateSql } from "./aggregate-sql.ts";

const aggregate = (fn: string, isUdf = false) =>
  aggregateSql(
    {
      node: "aggregate",
      fn,
      is_udf: isUdf,
      args: [{ node: "column", name: "docs.n", type: { kind: "int" }, nullable: true }],
      kwargs: {},
      type: { kind: "int" },
      nullable: true,
    },
    "x",
    { order: ["id"] },
  );

test("a sum of Ints is cast to Int, so that an overflow raises", () => {
  expect(aggregate("sum")).toBe("sum(x)::int8");
});

test("Floats are added in a fixed order", () => {
  const args = [{ node: "column" as const, name: "docs.x", type: { kind: "float" as const }, nullable: true }];
  const of = {
    node: "aggregate" as const,
    is_udf: false,
    args,
    kwargs: {},
    type: { kind: "float" as const },
    nullable: true,
  };
  expect(aggregateSql({ ...of, fn: "sum" }, "x", { order: [] })).toBe("sum(appdb.in_order(x))");
  expect(aggregateSql({ ...of, fn: "mean" }, "x", { order: [] })).toBe("avg(appdb.in_order(x))");
});

test("a window of Ints is cast to Int as a whole", () => {
  const args = [{ node: "column" as const, name: "docs.n", type: { kind: "int" as const }, nullable: true }];
  const type = { kind: "int" as const };
  const of = {
    node: "window" as const,
    is_udf: false,
    args,
    kwargs: {},
    group_by: [],
    order_by: [],
    type,
    nullable: true,
  };
  const over = "over (order by t)";
  expect(aggregateSql({ ...of, fn: "sum" }, "x", { over })).toBe("sum(x) over (order by t)::int8");
  expect(aggregateSql({ ...of, fn: "count", args: [] }, undefined, { over })).toBe("count(*) over (order by t)");
});

test("a list keeps the row order and skips nulls", () => {
  expect(aggregate("make_list")).toBe("coalesce(json_agg(x order by id) filter (where x is not null), '[]'::json)");
});

test("an application aggregate never becomes SQL", () => {
  expect(() => aggregate("app:total", true)).toThrow("Python computes app:total");
});
