import { aColumn, anIndex, aTable } from "@appdb/testkit/manifest-builder";
import { expect, test } from "vitest";
import { readersOf } from "./dependents.ts";

const COLUMNS = [aColumn("a", "int"), aColumn("b", "int")];

test("an index without a name reads its column", () => {
  expect(readersOf("b", aTable("docs", COLUMNS, { indexes: [anIndex(["b"])] }), [])).toEqual(["index btree over (b)"]);
});

test("an index that the table adds to each column does not read it", () => {
  const table = aTable("docs", COLUMNS, { indexes: [anIndex(["b"])], has_default_idxs: true });
  expect(readersOf("b", table, [])).toEqual([]);
});
