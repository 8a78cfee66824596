import type { DataTable } from "@appdb/contract/routes/data-api";
import { expect, test } from "vitest";
import { curlCommand, sampleRow } from "./sample-row.ts";

const column = (name: string, type: string, more: Partial<DataTable["columns"][number]> = {}) => ({
  name,
  type,
  is_key: false,
  is_computed: false,
  value: null,
  comment: null,
  ...more,
});

test("a sample row has the stored columns with values of their types", () => {
  const table: DataTable = {
    view_of: null,
    rows_by: null,
    comment: null,
    indexes: [],
    path: "docs",
    rows: 0,
    is_rows_estimated: false,
    errors: 0,
    bytes: 0,
    columns: [
      column("id", "UUID", { is_key: true }),
      column("title", "String"),
      column("note", "String | None"),
      column("count", "Int"),
      column("at", "Timestamp"),
      column("meta", "Json[{'a': Int}]"),
      column("picture", "Image[(32, 32)]"),
      column("upper", "String", { is_computed: true, value: "upper(title)" }),
    ],
  };
  expect(JSON.parse(sampleRow(table))).toEqual({
    title: "",
    note: null,
    count: 0,
    at: "2026-01-31T12:00:00Z",
    meta: {},
    picture: "https://example.com/file",
  });
});

test("a quote in a row does not end the command's quotes", () => {
  expect(curlCommand("https://x/rows", `{"title": "it's"}`)).toContain(`-d '{"title": "it'\\''s"}'`);
});
