import type { ColumnType } from "@appdb/contract/types";
import { createFakeUdfRunner, type FakeStep } from "@appdb/testkit/fake-udf-runner";
import { col, udf } from "@appdb/testkit/manifest-builder";
import { expect, test } from "vitest";
import { compileJsonChecks } from "../kinds/json-checks.ts";
import type { UdfGraph, UdfResult } from "../ports.ts";
import { withJsonChecks } from "./checked-runner.ts";

const LIST: ColumnType = { kind: "json", schema: { type: "array", items: { type: "integer" } } };
const GRAPH: UdfGraph = {
  key: "graph",
  inputs: [{ name: "n", type: { kind: "int" }, nullable: false }],
  steps: [
    { name: "list", type: LIST, nullable: true, expr: { ...udf("m:f", "json", col("n", "int")), type: LIST } },
    { name: "reader", type: { kind: "int" }, nullable: true, expr: udf("m:g", "int", col("list", "json")) },
    { name: "other", type: { kind: "int" }, nullable: true, expr: udf("m:h", "int", col("n", "int")) },
    { name: "last", type: { kind: "int" }, nullable: true, expr: udf("m:g", "int", col("reader", "int")) },
  ],
  functions: [],
};

async function run(steps: Record<string, FakeStep>): Promise<UdfResult> {
  const checks = await compileJsonChecks(GRAPH.steps.map((step) => step.type));
  await using runner = withJsonChecks(createFakeUdfRunner(steps), checks);
  return await runner.run(GRAPH, [1]);
}

const rest = { reader: () => 2, other: () => 3, last: () => 4 };

test("a value that matches its schema stays as sent, with all digits", async () => {
  const result = await run({ list: () => "[12345678901234567890]", ...rest });
  expect(result).toEqual({ values: ["[12345678901234567890]", 2, 3, 4], errors: null });
});

test("schemas do not apply to null", async () => {
  expect((await run({ list: () => null, ...rest })).errors).toBeNull();
});

test("a computed value that violates its schema fails, and readers are skipped", async () => {
  const { values, errors } = await run({ list: () => '[1,"x"]', ...rest });
  expect(values).toEqual([null, null, 3, null]);
  expect(errors?.list).toMatchObject({ kind: "wrong_type", function: "m:f", type: "ValueError" });
  expect(errors?.list?.message).toMatch(/^\/1: Expected Int, got "x"/);
  expect(errors?.reader).toMatchObject({ kind: "skipped", function: "m:f" });
  expect(errors?.last).toMatchObject({ kind: "skipped", function: "m:f" });
  expect(errors?.other).toBeUndefined();
});

test("an error raised by a function stays the same", async () => {
  const raise = () => {
    throw new Error("no");
  };
  const { errors } = await run({ list: raise, ...rest });
  expect(errors).toEqual({ list: expect.objectContaining({ kind: "raised", message: "no" }) });
});
