import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type ColumnType, columnTypeSchema, displayType } from "./types.ts";

/** Source text in app.py, form in the manifest, and printed form; python/tests/test_parametrised_types.py uses them
 *  too. */
const CASES = JSON.parse(
  readFileSync(join(import.meta.dirname, "../../../python/tests/displayed_types.json"), "utf8"),
) as [string, ColumnType, string][];

test.each(CASES)("%s prints the same as in Python", (_written, type, printed) => {
  const parsed = columnTypeSchema.parse(type);
  expect(displayType(parsed, printed.endsWith("] | None") || printed === "Binary | None")).toBe(printed);
});

test("a type prints the same with reordered schema keys", () => {
  for (const [, type, printed] of CASES) {
    expect(displayType(reversed(type) as ColumnType, false)).toBe(printed.replace(/(^Binary|\]) \| None$/, "$1"));
  }
});

test("a schema without a short form is printed as dots", () => {
  const schemas = [
    {
      type: "object",
      properties: { a: { type: "integer", minimum: 1 } },
      required: ["a"],
      additionalProperties: false,
    },
    { type: ["string", "integer"] },
    { anyOf: [{ type: "string" }, { const: 1 }] },
    { type: "array", prefixItems: [{ type: "string" }], minItems: 0, maxItems: 1 },
    { enum: [1.5] },
    { const: 1 },
  ];
  for (const schema of schemas) expect(displayType({ kind: "json", schema }, true)).toBe("Json[...] | None");
});

test.each([
  { kind: "array" },
  { kind: "array", dtype: "float32" },
  { kind: "array", dtype: "float16", shape: null },
  { kind: "array", dtype: "int8", shape: [] },
  { kind: "string", schema: {} },
  { kind: "int", dtype: "int8", shape: null },
])("%j is not a type", (type) => {
  expect(columnTypeSchema.safeParse(type).success).toBe(false);
});

function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, item]) => [key, reversed(item)]),
  );
}
