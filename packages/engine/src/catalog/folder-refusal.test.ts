import { expect, test } from "vitest";
import { folderRefusal } from "./folder-refusal.ts";

const TABLES = [{ folder: "public" }, { folder: "far/below" }];

test.each([
  ["public", "far", "main/far"],
  ["far", "below", "main/far/below"],
])("names a folder in %s where a table is expected", (folder, name, text) => {
  expect(folderRefusal(TABLES, { folder, name, text })).toMatchObject({
    code: "table_not_found",
    message: `${text} is a folder, not a table.`,
    hint: `List its tables: cli ls ${text}`,
  });
});

test.each([
  ["public", "fa"],
  ["far", "belo"],
  ["public", "public"],
])("says nothing about %s/%s, which is not a folder", (folder, name) => {
  expect(folderRefusal(TABLES, { folder, name, text: "" })).toBeUndefined();
});
