import type { Expr } from "@appdb/contract/expressions";
import { createFakeUdfRunner } from "@appdb/testkit/fake-udf-runner";
import { call, col, lit, udf } from "@appdb/testkit/manifest-builder";
import { expect, test } from "vitest";
import type { BoundQuery } from "../bound-queries/bind-query.ts";
import { findWatchPoints } from "../live/watch-points.ts";
import { computeFileValues, withFileValues } from "./file-values.ts";

const LIGHT = "app:light";
const FUNCTIONS = new Map([[LIGHT, { id: LIGHT, module: "app", name: "light", digest: "" }]]);
const picture: Expr = { node: "parameter", name: "picture", type: { kind: "image" }, nullable: false };
const least: Expr = { node: "parameter", name: "least", type: { kind: "int" }, nullable: false };
const light = udf(LIGHT, "int", picture);

function boundOf(where: Expr): BoundQuery {
  const parameters = [picture, least].map((parameter) => {
    const { name, type } = parameter as Extract<Expr, { node: "parameter" }>;
    return { name, type, nullable: false, kind: "positional", is_batched: false } as const;
  });
  const from = { table: "photos", as: "photos" };
  const query = {
    from,
    where,
    joins: [],
    group_by: [],
    select: [],
    order_by: [],
    limit: null,
    offset: null,
    tail: null,
  };
  const table = { alias: "photos", table: { id: 1, columns: [], identity: "id" } };
  return { id: "app:q", name: "q", parameters, query, tables: [table] } as unknown as BoundQuery;
}

test("a function of a file becomes a parameter, once", () => {
  const where = call(
    "op.and",
    "bool",
    call("op.gt", "bool", col("photos.n", "int"), light),
    call("op.gt", "bool", light, least),
  );
  const { bound, files, reasons } = withFileValues(boundOf(where), FUNCTIONS);
  expect(files?.steps.map(({ name }) => name)).toEqual(["#file0"]);
  expect(files?.inputs.map(({ name }) => name)).toEqual(["$picture"]);
  expect(bound.parameters.map(({ name }) => name)).toEqual(["picture", "least", "#file0"]);
  const value = { node: "parameter", name: "#file0", type: { kind: "int" }, nullable: true };
  expect(bound.query.where).toMatchObject({ args: [{ args: [{ node: "column" }, value] }, { args: [value, least] }] });
  expect(reasons).toMatchObject([{ clause: "file", what: expect.stringContaining(LIGHT) }]);
});

test.each([
  ["a property that SQL reads", call("op.gt", "bool", call("image.width", "int", picture), least)],
  ["a function of a row", call("op.gt", "bool", udf(LIGHT, "int", col("photos.picture", "image")), least)],
  ["a function of other parameters", call("op.gt", "bool", udf(LIGHT, "int", least), lit(1, "int"))],
])("%s stays", (_what, where) => {
  const bound = boundOf(where);
  expect(withFileValues(bound, FUNCTIONS)).toEqual({ bound, files: null, reasons: [] });
});

test("the values are added to the arguments, and a failure names the query", async () => {
  const { files } = withFileValues(boundOf(call("op.gt", "bool", light, least)), FUNCTIONS);
  if (files === null) throw new TypeError("The query has no values of files.");
  const args = new Map<string, string | number>([
    ["picture", "{}"],
    ["least", 1],
  ]);
  const works = createFakeUdfRunner({ "#file0": () => 7 });
  expect([...(await computeFileValues(files, "q", args, { udf: () => works }))]).toContainEqual(["#file0", 7]);
  const fails = createFakeUdfRunner({
    "#file0": () => {
      throw new Error("dark");
    },
  });
  await expect(computeFileValues(files, "q", args, { udf: () => fails })).rejects.toThrow("The query q, parameters");
});

test("a live query that compares with such a value watches all rows", () => {
  const { bound } = withFileValues(boundOf(call("op.eq", "bool", col("photos.n", "int"), light)), FUNCTIONS);
  expect(findWatchPoints(bound, new Map([["picture", "{}"]]))).toMatchObject([{ only: null }]);
});
