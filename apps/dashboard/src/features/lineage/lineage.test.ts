import type { DataTable } from "@appdb/contract/routes/data-api";
import { dataColumn, dataTable } from "@appdb/contract/testing/tables";
import { expect, test } from "vitest";
import { findDependencies, namesIn, pathOf, placeTables } from "./lineage.ts";

const column = (name: string, value: string | null = null) =>
  dataColumn(name, "String", { is_computed: value !== null, value });

const table = (path: string, viewOf: string | null, columns: DataTable["columns"]) =>
  dataTable(path, { columns, view_of: viewOf });

const tables = [
  table("docs", null, [column("title"), column("shout", "title.upper() + '!'"), column("size", "len(shout)")]),
  table("good", "docs", [column("title"), column("shout", "title.upper() + '!'"), column("label", "shout + title")]),
  table("other", null, [column("title")]),
];

test("names of an expression are columns, and not texts, members or functions", () => {
  expect(namesIn(`format("{0}: x", name, meta.key) + upper(titel) + 'it\\'s a'`)).toEqual(["name", "meta", "titel"]);
  expect(namesIn("größe * 2 + cents")).toEqual(["größe", "cents"]);
});

test("columns depend on columns of their table, and of the base of a view", () => {
  const shown = findDependencies(tables).map(
    ({ from, to }) => `${from.table}.${from.column} -> ${to.table}.${to.column}`,
  );
  expect(shown).toEqual([
    "docs.title -> docs.shout",
    "docs.shout -> docs.size",
    "docs.title -> good.title",
    "docs.shout -> good.shout",
    "good.shout -> good.label",
    "good.title -> good.label",
  ]);
});

test("a view is to the right of its table, and boxes do not overlap", () => {
  const picture = placeTables(tables);
  const [docs, good, other] = picture.tables;
  if (docs === undefined || good === undefined || other === undefined) throw new TypeError("a table has no place");
  expect(good.x).toBeGreaterThan(docs.x);
  expect(other.x).toBe(docs.x);
  expect(other.y).toBeGreaterThan(docs.y + docs.height);
  expect(picture.height).toBeGreaterThan(other.y + other.height);
});

test("every dependency has a line between its columns", () => {
  const picture = placeTables(tables);
  for (const dependency of findDependencies(tables))
    expect(pathOf(dependency, picture)).toMatch(/^M[\d. -]+C[\d. -]+$/);
  const unknown = { from: { table: "gone", column: "a" }, to: { table: "docs", column: "title" } };
  expect(pathOf(unknown, picture)).toBe("");
});
