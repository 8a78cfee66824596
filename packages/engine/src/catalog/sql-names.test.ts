import { expect, test } from "vitest";
import { columnLabel, conditionColumn, shownNames, viewColumnName } from "./sql-names.ts";

test("hidden columns that make or say the rows of a view have its name for people", () => {
  const hidden = [viewColumnName("words", null), conditionColumn("words"), viewColumnName("words", "(rows 2)")];
  expect(shownNames(hidden)).toEqual(["words"]);
  expect(hidden.map((column) => columnLabel("docs", column))).toEqual(["View words", "View words", "View words"]);
});

test("columns of views and tables have the names of both", () => {
  expect(columnLabel("docs", viewColumnName("cheap", "label"))).toBe("Column cheap.label");
  expect(columnLabel("docs", "title")).toBe("Column docs.title");
});
