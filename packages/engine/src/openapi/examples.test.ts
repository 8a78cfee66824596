import type { ManifestColumn } from "@appdb/contract/manifest";
import type { ColumnType } from "@appdb/contract/types";
import { aColumn, aTable } from "@appdb/testkit/manifest-builder";
import { expect, test } from "vitest";
import { layOutRow } from "../compute/row-layout.ts";
import { compileJsonChecks } from "../kinds/json-checks.ts";
import { compileRowReader } from "../rows/validate-row.ts";
import { examplesOf, FILE_SCHEMA, fileContent, objectSchema } from "./schemas.ts";

const text = { type: "string" };
const SCHEMAS = [
  { type: "array", items: { type: "integer" } },
  { type: "array", prefixItems: [text, { type: ["number", "null"] }], minItems: 2, maxItems: 2 },
  { type: "array", prefixItems: [text], items: { type: "boolean" }, minItems: 1 },
  { type: "object", properties: { a: text, b: { enum: ["x", 2] } }, required: ["a"], additionalProperties: false },
  { type: "object", additionalProperties: { type: "array", maxItems: 0 } },
  { anyOf: [{ type: "string", format: "date-time" }, { type: "null" }] },
  { type: "object", properties: { at: { type: "string", format: "date" }, id: { type: "string", format: "uuid" } } },
  { type: "integer", minimum: 7.5 },
];

const TYPES: ColumnType[] = [
  ...(["string", "int", "float", "bool", "timestamp", "date", "uuid", "json", "binary"] as const).map((kind) => ({
    kind,
  })),
  ...(["bool", "uint8", "int8", "int16", "int32", "int64", "float32", "float64", "string"] as const).map((dtype) => ({
    kind: "array" as const,
    dtype,
    shape: [2, null],
  })),
  { kind: "array", dtype: "int8", shape: null },
  { kind: "array", dtype: "float32", shape: [0] },
  ...SCHEMAS.map((schema) => ({ kind: "json" as const, schema })),
];

test("every type has an example, and a route takes a row of them", async () => {
  const columns = TYPES.map((type, at): ManifestColumn => ({ ...aColumn(`c${at}`, "string"), type }));
  const table = aTable("all", columns);
  const names = columns.map(({ name }) => name);
  const { properties } = objectSchema(new Map(columns.map((column) => [column.name, column])), names, "input");
  const body = Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => {
      const { examples } = schema as { examples?: unknown[] };
      expect(examples, name).toHaveLength(1);
      return [name, examples?.[0]];
    }),
  );
  const stored = columns.map((column, at) => ({ ...column, computed: null, id: at + 1, state: "ready" as const }));
  const layout = layOutRow({
    ...table,
    id: 1,
    folder: "public",
    version: 1,
    identity: "_row",
    columns: stored,
    indexes: [],
  });
  const read = compileRowReader(layout, names, await compileJsonChecks(TYPES), {
    uuid7: never,
    uuid4: never,
    now: never,
  });
  expect(() => read(JSON.stringify(body))).not.toThrow();
});

test("where none can be made up, or it would be too long to read, there is none", () => {
  expect(examplesOf({ kind: "array", dtype: "float32", shape: [384] })).toEqual({});
  expect(examplesOf({ kind: "json", schema: { type: "string", pattern: "^[0-9]+$" } })).toEqual({});
  const inner = { type: "object", properties: { a: { type: "string", minLength: 9 } }, required: ["a"] };
  expect(examplesOf({ kind: "json", schema: { type: "array", items: inner } })).toEqual({});
});

function never(): never {
  throw new Error("No column of this table has a generator.");
}

test("the bytes of a file have the format by which generators of clients know them", () => {
  expect(FILE_SCHEMA).toEqual({ type: "string", format: "binary", contentMediaType: "application/octet-stream" });
  expect(Object.keys(fileContent({ kind: "image" }))).toEqual(["image/*", "application/octet-stream"]);
});
