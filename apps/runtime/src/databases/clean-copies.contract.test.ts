import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { HOME_PATHS } from "@appdb/contract/home";
import { afterEach, expect, test } from "vitest";
import { openTestHome, waitFor } from "../testing/test-home.ts";

const TIMEOUT = 180_000;
const tested = openTestHome();

afterEach(async () => {
  await tested[Symbol.asyncDispose]();
}, TIMEOUT);

const records = () => {
  const folder = join(tested.home, HOME_PATHS.scratch);
  return existsSync(folder) ? readdirSync(folder) : [];
};

test("a copy is cleaned for a next test, unless its tables changed", { timeout: TIMEOUT }, async () => {
  const client = await tested.startDaemon();
  const app = await tested.readApp("test-tables");
  const create = (name: string, copyOf: string | null) =>
    client.call("scratchCreate", { body: { name, pid: process.pid, copy_of: copyOf } });
  const remove = (name: string) => client.call("scratchDelete", { body: { name } });
  const insert = (db: string) =>
    client.text("rowInsert", {
      params: { db, table: "docs" },
      query: { return_rows: "0" },
      sent: JSON.stringify([{ title: "Emma", body: "words" }]),
    } as never);
  const count = async (db: string) =>
    (await client.call("rowCount", { params: { db, table: "docs" }, query: {} } as never)).count;
  const free = () => records().filter((name) => name.startsWith("test-free-"));
  await create("test-tables", null);
  await client.call("schemaApply", { body: { ...app, catalog_version: 0, allow_destructive: false } });
  await create("test-1", "test-tables");
  await insert("test-1");
  await remove("test-1");
  await waitFor(() => !records().includes("test-1.json"));
  const [kept] = free();
  await expect(count("test-1")).rejects.toMatchObject({ code: "table_not_found" });
  await create("test-2", "test-tables");
  expect(free()).not.toContain(kept);
  expect(await count("test-2")).toBe(0);
  await insert("test-2");
  expect(await count("test-2")).toBe(1);
  await client.call("tableChange", {
    params: { db: "test-2" },
    body: { change: { change: "create_folder", folder: "more" }, runtime: null, project_root: null },
  } as never);
  await remove("test-2");
  await waitFor(() => records().length === 1);
  expect(records()).toEqual(["test-tables.json"]);
  // a template that is deleted takes its clean copies along
  await create("test-3", "test-tables");
  expect(await count("test-3")).toBe(0);
  await remove("test-3");
  await remove("test-tables");
  await waitFor(() => records().length === 0);
});
