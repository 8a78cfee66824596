import { type TableChange, tableChangeSchema } from "@appdb/contract/routes/table-changes";
import { expect, test } from "vitest";
import { emptyCatalog } from "../catalog/load-catalog.ts";
import { planChange } from "./plan-change.ts";

const plan =
  (change: object, folders: readonly string[] = ["reports/old"]) =>
  () =>
    planChange({
      change: tableChangeSchema.parse(change) as TableChange,
      database: "main",
      catalog: emptyCatalog(),
      folders,
      functions: [],
      resource_pools: [],
    });

const problem = (detail: string, hint: string) =>
  expect.objectContaining({ code: "table_not_found", message: detail, hint });

test.each(["reports", "reports/old"])("the folder %s moves, and is named where a table is expected", (folder) => {
  expect(plan({ change: "move_table", table: folder, to: "papers/new" })()).toEqual({
    kind: "move_folder",
    folder,
    to: "papers/new",
    inside: ["reports/old"],
    moved: [],
  });
  expect(plan({ change: "drop_table", table: folder })).toThrow(
    problem(`main/${folder} is a folder. A table or view is expected.`, `Drop the folder: cli drop-dir main/${folder}`),
  );
});

test("a new folder cannot have the name of a device, and one in an existing folder of such a name can be made", () => {
  const create = (folder: string, folders: readonly string[] = []) =>
    plan({ change: "create_folder", folder, if_exists: "error" }, folders);
  expect(create("con")).toThrow("'con' cannot be the name of a new folder");
  expect(create("reports/aux")).toThrow("'aux' cannot be the name of a new folder");
  expect(create("con/new", ["con"])()).toMatchObject({ kind: "create_folder", folder: "con/new" });
});

test("a path that is neither a table nor a folder does not exist", () => {
  const missing = problem("Table main/old does not exist.", "List the tables: cli ls main");
  expect(plan({ change: "move_table", table: "old", to: "papers" })).toThrow(missing);
  expect(plan({ change: "drop_table", table: "old" })).toThrow(missing);
});
