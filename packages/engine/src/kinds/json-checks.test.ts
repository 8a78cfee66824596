import { AppError } from "@appdb/contract/errors";
import type { ColumnType } from "@appdb/contract/types";
import { aColumn, aManifest, aTable } from "@appdb/testkit/manifest-builder";
import { expect, test } from "vitest";
import { ValueError } from "../values/value-error.ts";
import { compileJsonChecks, compileManifestChecks } from "./json-checks.ts";

const INT = { type: "integer" };
const closed = (properties: Record<string, unknown>, required = Object.keys(properties)) => {
  return { type: "object", properties, required, additionalProperties: false };
};

async function check(schema: Record<string, unknown>, value: unknown): Promise<ValueError | undefined> {
  const type: ColumnType = { kind: "json", schema };
  return (await compileJsonChecks([type])).of(type)?.(value);
}

const FIT: [Record<string, unknown>, unknown][] = [
  [closed({ a: INT }), { a: 1 }],
  [closed({ a: INT }), { a: 2 ** 60 }],
  [{ type: "array", items: { type: "number" } }, [2, 1.5]],
  [{ type: "array", prefixItems: [{ type: "string" }], items: INT, minItems: 1 }, ["a", 1, 2]],
  [{ type: "string", format: "date-time" }, "2024-01-02T03:04:05+02:00"],
  [{ type: "string", format: "uuid" }, "0189DCF9-7E8B-7000-8000-000000000000"],
  [{ type: "string", format: "email" }, "formats that no column has are not looked at"],
  [
    { $defs: { node: { type: "object", properties: { next: { $ref: "#/$defs/node" } } } }, $ref: "#/$defs/node" },
    { next: { next: {} } },
  ],
  [{ $id: "x", type: "object" }, {}],
];

test.each(FIT)("%j accepts %j", async (schema, value) => {
  expect(await check(schema, value)).toBeUndefined();
});

const MISFIT: [Record<string, unknown>, unknown, string, RegExp][] = [
  [closed({ a: INT }), {}, "", /The key "a" is missing/],
  [closed({ a: INT, b: INT, c: INT, d: INT }), { b: 1 }, "", /^The keys "a", "c" and "d" are missing\.$/],
  [closed({ o: closed({ k: INT, "l m": INT }) }), { o: {} }, "/o", /^The keys "k" and "l m" are missing\.$/],
  [{ type: "array", items: closed({ a: INT, b: INT }) }, [{ a: 1, b: 2 }, {}], "/1", /"a" and "b" are missing/],
  [closed({ a: INT }), { a: 1, "b/c~d": 2 }, "/b~1c~0d", /The key "b\/c~d" is not allowed here/],
  [closed({ a: INT }), { a: 1.5 }, "/a", /^Expected Int, got 1.5/],
  [closed({ a: { type: ["string", "null"] } }), { a: [1] }, "/a", /^Expected String \| None, got an array/],
  [closed({ o: closed({ k: INT }) }), { o: { k: "x" } }, "/o/k", /^Expected Int, got "x"/],
  [{ type: "array", items: INT }, [1, 2, "3"], "/2", /^Expected Int/],
  [{ type: "array", items: { anyOf: [INT, { type: "string" }] } }, [true], "/0", /^Expected Int \| String, got true/],
  [{ type: "array", prefixItems: [INT], minItems: 1, maxItems: 1 }, [], "", /fewer than 1 items/],
  [{ enum: ["a", "b"] }, "c", "", /^Expected Literal\['a', 'b'\], got "c"/],
  [{ type: "string", format: "date" }, "2023-02-29", "", /^Expected Date/],
  [{ type: "integer", minimum: 3 }, 2, "", /must be >= 3; it is 2/],
  [{ type: "string", pattern: "^a" }, "b", "", /must match pattern/],
];

test.each(MISFIT)("%j refuses %j at %j", async (schema, value, pointer, detail) => {
  const misfit = await check(schema, value);
  expect(misfit).toBeInstanceOf(ValueError);
  expect(misfit?.pointer).toBe(pointer);
  expect(misfit?.detail).toMatch(detail);
});

test("types without a schema need no check; an uncompiled one is an internal error", async () => {
  const checks = await compileJsonChecks([{ kind: "json" }, { kind: "int" }]);
  expect(checks.of({ kind: "json" })).toBeUndefined();
  expect(() => checks.of({ kind: "json", schema: INT })).toThrow(TypeError);
});

test.each([
  [{ type: "objekt" }, /schema is invalid/],
  [{ $ref: "https://example.com/other.json" }, /can't resolve reference/],
  [{ pattern: "(" }, /Invalid regular expression/],
  [{ $schema: "http://json-schema.org/draft-07/schema#" }, /no schema with key/],
  [{ $async: true, type: "object" }, /\$async/],
])("refuses a column with the invalid schema %j and names its line", async (schema, detail) => {
  const column = aColumn("doc", "json", { type: { kind: "json", schema }, source: { file: "app.py", line: 7 } });
  const error = await compileManifestChecks(aManifest({ tables: [aTable("docs", [column])] })).catch((e) => e);
  expect(error).toBeInstanceOf(AppError);
  expect(error.code).toBe("app_invalid");
  expect(error.message).toMatch(/app\.py:7: The schema of column docs\.doc cannot be used/);
  expect(error.message).toMatch(detail);
});
