import { expect, test } from "vitest";
import { manifestSchema } from "./manifest.ts";
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
  [
    "a type that nobody knows, deep in a tree",
    aDocument({ ...call("string.upper"), args: [{ ...TITLE, type: { kind: "picture" } }] }),
    [...PLACE, "args", 0, "type", "kind"],
  ],
])("refuses %s with its place", (_what, document, place) => {
  const { error } = manifestSchema.safeParse(document);
  expect(error?.issues.map((issue) => issue.path)).toEqual([place]);
});
