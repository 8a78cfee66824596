import { appError } from "@appdb/contract/errors";
import type { Expr } from "@appdb/contract/expressions";
import { printReference } from "@appdb/contract/media";
import { createFakeUdfRunner } from "@appdb/testkit/fake-udf-runner";
import { expect, test } from "vitest";
import type { MediaFiles, UdfAggregation, UdfGraph, UdfRunner } from "../ports.ts";
import { withMedia } from "./media-runner.ts";

const IMAGE = { kind: "image" } as const;
const PICTURE = { name: "picture", type: IMAGE, nullable: false } as const;
const CELL = printReference({ url: "s3://bucket/a.png" });

/** One step that reads the picture. */
const GRAPH: UdfGraph = {
  key: "g",
  inputs: [PICTURE],
  steps: [{ name: "thumb", type: IMAGE, nullable: true, expr: { node: "column", ...PICTURE } }],
  functions: [],
};
const DENIED = appError("media_denied", { detail: "The store refused access.", hint: "Check AWS_ACCESS_KEY_ID." });

function mediaThat(does: Partial<MediaFiles>): MediaFiles {
  return does as MediaFiles;
}

test("a store that refuses to read or to store names its variables in the cell's error", async () => {
  const refuse = async () => {
    throw DENIED;
  };
  const made = createFakeUdfRunner({ thumb: () => JSON.stringify({ path: "/scratch/new.png" }) });
  const locate = async () => JSON.stringify({ path: "/cache/a.png" });
  for (const media of [mediaThat({ locate: refuse }), mediaThat({ locate, store: refuse })]) {
    const { values, errors } = await withMedia(made, media).run(GRAPH, [CELL]);
    expect(values).toEqual([null]);
    expect(errors?.thumb).toMatchObject({
      type: "media_denied",
      message: "The store refused access. Check AWS_ACCESS_KEY_ID.",
    });
  }
});

test("a function that changes its input fails, and columns that read the input have no value", async () => {
  const STRING = { kind: "string" } as const;
  const args: Expr[] = [{ node: "column", ...PICTURE }];
  const call = { node: "udf", function: "udfs:card", args, kwargs: {} } as const;
  const steps: UdfGraph["steps"] = [
    { name: "picture", type: IMAGE, nullable: false, expr: { node: "column", ...PICTURE } },
    { name: "card", type: STRING, nullable: true, expr: { ...call, type: STRING, nullable: true } },
  ];
  const graph: UdfGraph = { key: "c", inputs: [PICTURE], steps, functions: [{ id: "udfs:card" } as never] };
  const given = JSON.stringify({ path: "/store/a.png" });
  const runner = createFakeUdfRunner({ picture: () => given, card: () => "x" });
  const media = mediaThat({ locate: async () => given, isUnchanged: async () => false });
  const { values, errors } = await withMedia(runner, media).run(graph, [CELL]);
  expect(values).toEqual([null, null]);
  expect(errors).toMatchObject({
    picture: { kind: "skipped" },
    card: { kind: "raised", function: "udfs:card", message: expect.stringContaining("changed or removed its input") },
  });
});

test("a result that is the given file keeps its cell", async () => {
  const given = JSON.stringify({ path: "/cache/a.png" });
  const runner = createFakeUdfRunner({ thumb: ({ picture = null }) => picture });
  const media = mediaThat({ locate: async () => given, keep: async (cell) => cell });
  const { values } = await withMedia(runner, media).run(GRAPH, [CELL]);
  expect(values).toEqual([CELL]);
});

test("a result that is its input keeps its object, whatever the worker says of it", async () => {
  const given = JSON.stringify({ path: "/store/a.png" });
  const checked = { width: 4, height: "4", mode: "a\0b", name: "n\0m", url: "s3://other/b.png", key: "k" };
  const runner = createFakeUdfRunner({ thumb: () => JSON.stringify({ path: "/store/a.png", checked }) });
  const media = mediaThat({ locate: async () => given, isUnchanged: async () => true });
  const { errors, values } = await withMedia(runner, media).run(GRAPH, [CELL]);
  expect(errors).toBeNull();
  expect(values.map((cell) => JSON.parse(String(cell)))).toEqual([{ url: "s3://bucket/a.png", width: 4, name: "nm" }]);
});

test("an aggregate that changes a file has no value for the groups of its rows", async () => {
  const folded = new Map([1, 2, 3].map((group) => [group, { value: `of ${group}`, error: null }] as const));
  const runner: UdfRunner = {
    ...createFakeUdfRunner({}),
    fold: async () => ({
      add: async () => [],
      finish: async () => folded,
      [Symbol.asyncDispose]: async () => undefined,
    }),
  };
  const compared: string[] = [];
  const media = mediaThat({
    locate: async (cell) => `at ${cell}`,
    async isUnchanged(file) {
      compared.push(file);
      return file !== "at shared";
    },
  });
  const aggregation: UdfAggregation = {
    function: { id: "udfs:Last" } as never,
    result: { kind: "string" },
    inputs: GRAPH.inputs,
    args: [],
    functions: [],
    is_sorted: false,
    is_window: false,
    constants: {},
  };
  const fold = await withMedia(runner, media).fold(aggregation);
  await fold.add([1, 2, 3], [["own", "shared", null]]);
  await fold.add([3, 3], [["shared", "third"]]);
  const many = Array.from({ length: 10_000 }, (_, at) => `many ${at}`);
  await fold.add(
    many.map(() => 1),
    [many],
  );
  expect(compared).toEqual([]);
  await fold.add(
    many.map(() => 1),
    [many.map((name) => `${name} again`)],
  );
  // the first ones are compared meanwhile, and no longer held
  expect(compared).toHaveLength(10_003);
  const result = await fold.finish([]);
  const changed = {
    kind: "raised",
    function: "udfs:Last",
    message: expect.stringContaining("changed or removed its input"),
  };
  expect([...result]).toEqual([
    [1, { value: "of 1", error: null }],
    [2, { value: null, error: expect.objectContaining(changed) }],
    [3, { value: null, error: expect.objectContaining(changed) }],
  ]);
  expect(compared).toHaveLength(20_003);
});
