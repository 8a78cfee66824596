import type { DataTable } from "@appdb/contract/routes/data-api";
import { dataColumn } from "@appdb/contract/testing/tables";
import { expect, test } from "vitest";
import { curlCommand, sampleRow } from "./sample-row.ts";

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
    is_broken: false,
    columns: [
      dataColumn("id", "UUID", { is_key: true }),
      dataColumn("title", "String"),
      dataColumn("note", "String | None"),
      dataColumn("count", "Int"),
      dataColumn("at", "Timestamp"),
      dataColumn("meta", "Json[{'a': Int}]"),
      dataColumn("picture", "Image[(32, 32)]"),
      dataColumn("upper", "String", { is_computed: true, value: "upper(title)" }),
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
