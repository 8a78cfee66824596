import { expect, test } from "vitest";
import { exprSchema } from "./expressions.ts";
import { MEDIA_KINDS } from "./types.ts";

const JSON_TYPE = { type: { kind: "json" }, nullable: false } as const;
const list = (items: unknown) => ({ node: "list", items, ...JSON_TYPE });
const column = { node: "column", name: "title", ...JSON_TYPE };
const nested = (inner: unknown, levels: number) =>
  Array.from({ length: levels }).reduce<unknown>((node) => list([node]), inner);

/** The problems of an expression: the path and the message of each. */
function problemsOf(expr: unknown) {
  const { error } = exprSchema.safeParse(expr);
  return error?.issues.map(({ message, path }) => [path.join("/"), message]);
}

test.each([
  ["a column", column],
  [
    "nodes in entries and arguments",
    {
      node: "call",
      fn: "string.upper",
      args: [{ node: "dict", entries: [{ key: "a", value: column }], ...JSON_TYPE }],
      kwargs: { of: column },
      ...JSON_TYPE,
    },
  ],
  ["a slice", { node: "path", base: column, steps: [{ slice: [1, null, 2] }, { key: "node" }], ...JSON_TYPE }],
  ["a long list", list(Array(1_000).fill(column))],
  ["many levels", nested(column, 298)],
])("accepts %s unchanged", (_what, expr) => {
  expect(exprSchema.parse(expr)).toEqual(expr);
});

test.each<[string, unknown, string]>([
  ["a wrong member", list([column, { ...column, name: 3 }]), "items/1/name"],
  ["a wrong argument", { node: "call", fn: "x", args: [], kwargs: { a: list([3]) }, ...JSON_TYPE }, "kwargs/a/items/0"],
  ["an unknown node", nested({ node: "none" }, 2), "items/0/items/0/node"],
  ["no object", 3, ""],
  ["lists in lists", list([[[[0]]]]), "items/0"],
])("reports the place of %s", (_what, expr, path) => {
  expect(problemsOf(expr)).toEqual([[path, expect.any(String)]]);
});

test.each(MEDIA_KINDS)("refuses a literal %s that names a file, and accepts null", (kind) => {
  const literal = (value: unknown) => ({ node: "literal", value, type: { kind }, nullable: true });
  for (const value of ["/etc/passwd", "file:///etc/passwd", "http://127.0.0.1/", '{"url":"file:///etc/passwd"}']) {
    const message = "is a file as a constant; only columns and parameters hold files";
    expect(problemsOf(list([literal(value)]))).toEqual([["items/0", message]]);
  }
  expect(problemsOf(literal(null))).toBeUndefined();
});

test.each(MEDIA_KINDS)("refuses a %s that no function makes", (kind) => {
  const typed = { type: { kind }, nullable: true };
  const [args, kwargs] = [[column, column], {}];
  const value = { fn: "max", is_udf: false, args, kwargs };
  for (const node of [
    { node: "call", fn: "op.add", args, kwargs },
    { node: "call", fn: "op.cast", args, kwargs },
    { node: "call", fn: "string.upper", args, kwargs },
    { node: "path", base: column, steps: [{ key: "a" }] },
    { node: "dict", entries: [] },
    { node: "list", items: [] },
    { node: "cell_error", column: "title", part: "message" },
    { node: "aggregate", ...value },
    { node: "window", ...value, group_by: [], order_by: [] },
    { node: "similarity", column: "title", index: null, metric: "ip", value: column },
  ]) {
    const message = expect.stringMatching(new RegExp(`^has the type ${kind}, which .+ does not make$`));
    expect(problemsOf(list([{ ...node, ...typed }]))).toEqual([["items/0", message]]);
  }
});

test("accepts files of the functions that make them, and refuses other kinds", () => {
  const call = (fn: string, kind: string) => ({
    node: "call",
    fn,
    args: [column],
    kwargs: {},
    type: { kind },
    nullable: true,
  });
  for (const made of [
    call("image.resize", "image"),
    call("video.extract_audio", "audio"),
    call("op.reread", "video"),
  ]) {
    expect(problemsOf(made)).toBeUndefined();
  }
  expect(problemsOf(call("image.resize", "document"))).toHaveLength(1);
  expect(problemsOf(call("video.extract_audio", "video"))).toHaveLength(1);
});

// Each problem used to be copied at each level.
test("reports one problem of a tree that is deep, wide and wrong", () => {
  expect(problemsOf(nested(list(Array(200_000).fill(0)), 250))).toHaveLength(1);
  expect(problemsOf(nested(list(Array(50_000).fill({ node: "column" })), 250))).toHaveLength(1);
});

test("refuses trees of any depth", () => {
  expect(problemsOf(nested(column, 100_000))).toEqual([["", "nests deeper than 300 levels"]]);
});

const item = (depth: number) => ({ node: "item", depth, ...JSON_TYPE });
const map = (source: unknown, body: unknown) => ({
  node: "call",
  fn: "map",
  args: [source, body],
  kwargs: {},
  ...JSON_TYPE,
});

test("accepts elements inside of their mapping functions", () => {
  expect(problemsOf(map(column, list([item(0), map(item(0), list([item(0), item(1)]))])))).toBeUndefined();
});

test.each<[string, unknown, string]>([
  ["alone", item(0), ""],
  ["in the list itself", map(item(0), item(0)), "args/0"],
  ["of too many functions", map(column, item(1)), "args/1"],
  ["in another function", { ...map(column, item(0)), fn: "x" }, "args/1"],
])("refuses an element %s", (_what, expr, path) => {
  expect(problemsOf(expr)).toEqual([[path, "reads an element outside of map, filter and sort"]]);
});
