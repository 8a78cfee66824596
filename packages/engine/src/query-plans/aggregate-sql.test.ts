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
    ["id"],
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
  expect(aggregateSql({ ...of, fn: "sum" }, "x", [])).toBe("sum(appdb.in_order(x))");
  expect(aggregateSql({ ...of, fn: "mean" }, "x", [])).toBe("avg(appdb.in_order(x))");
});

test("a list keeps the row order and skips nulls", () => {
  expect(aggregate("make_list")).toBe("coalesce(json_agg(x order by id) filter (where x is not null), '[]'::json)");
});

test("an application aggregate never becomes SQL", () => {
  expect(() => aggregate("app:total", true)).toThrow("Python computes app:total");
});
