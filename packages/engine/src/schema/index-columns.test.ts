import { aColumn, aManifest, anIndex, aTable } from "@appdb/testkit/manifest-builder";
import { expect, test } from "vitest";
import { emptyCatalog } from "../catalog/load-catalog.ts";
import { MAX_INDEX_COLUMNS } from "./index-columns.ts";
import { planSchema } from "./plan-schema.ts";

const NAMES = Array.from({ length: 40 }, (_none, at) => `c${at}`);

function plan(indexed: readonly string[], key: readonly string[] = [], name: string | null = null) {
  const columns = NAMES.map((name) => aColumn(name, "int", { primary_key: key.includes(name) }));
  const indexes = indexed.length === 0 ? [] : [anIndex(indexed, name)];
  const table = aTable("wide", columns, { indexes, primary_key: [...key] });
  return planSchema({ manifest: aManifest({ tables: [table] }), catalog: emptyCatalog(), target: "main" });
}

test("an index over the maximum of columns is planned", () => {
  expect(plan(NAMES.slice(0, MAX_INDEX_COLUMNS)).operations).not.toEqual([]);
  expect(plan([], NAMES.slice(0, MAX_INDEX_COLUMNS)).operations).not.toEqual([]);
});

test("a wider index is refused with its columns and the maximum", () => {
  expect(() => plan(NAMES)).toThrowError(
    expect.objectContaining({
      code: "app_invalid",
      message: expect.stringContaining("Index on (c0, c1, c2, ...) of table 'wide' has 40 columns. The maximum is 32."),
      hint: "Name at most 32 columns, those by which you search first.",
      meta: { table: "wide", columns: 40, max: 32 },
    }),
  );
  expect(() => plan(NAMES, [], "all")).toThrow("Index 'all' of table 'wide' has 40 columns.");
});

test("repetitions of a column count", () => {
  expect(() => plan(new Array<string>(100).fill("c0"))).toThrow("Index on (c0, c0, c0, ...) of table 'wide' has 100");
});

test("a wider primary key is refused", () => {
  expect(() => plan([], NAMES)).toThrow("The primary key of table 'wide' has 40 columns. The maximum is 32.");
});
