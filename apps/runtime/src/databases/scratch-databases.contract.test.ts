import { spawn } from "node:child_process";
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
/** A process that only lives until it is killed. */
const startOwner = () => {
  const child = spawn(process.execPath, ["-e", "setInterval(() => undefined, 1000)"], { stdio: "ignore" });
  return { pid: child.pid ?? 0, kill: () => child.kill("SIGKILL") };
};

test("scratch databases are copies of each other and end with their process", { timeout: TIMEOUT }, async () => {
  const client = await tested.startDaemon();
  const app = await tested.readApp("test-tables");
  const create = (name: string, copyOf: string | null, pid = process.pid) =>
    client.call("scratchCreate", { body: { name, pid, copy_of: copyOf } });
  expect(await create("test-tables", null)).toEqual({ name: "test-tables" });
  await client.call("schemaApply", { body: { ...app, catalog_version: 0, allow_destructive: false } });
  const insert = (db: string, id: string) =>
    client.text("rowInsert", {
      params: { db, table: "docs" },
      query: { return_rows: "0" },
      sent: JSON.stringify([{ title: id, body: "words" }]),
    } as never);
  await create("test-1", "test-tables");
  await insert("test-1", "one");
  const owner = startOwner();
  await create("test-2", "test-tables", owner.pid);
  await insert("test-2", "two");
  const count = async (db: string) =>
    (await client.call("rowCount", { params: { db, table: "docs" }, query: {} } as never)).count;
  expect([await count("test-1"), await count("test-2"), await count("test-tables")]).toEqual([1, 1, 0]);
  expect((await client.call("databaseList", {})).databases).toEqual([]);
  owner.kill();
  await waitFor(() => !records().includes("test-2.json"));
  await client.call("scratchDelete", { body: { name: "test-1" } });
  await waitFor(() => !records().includes("test-1.json"));
  expect(existsSync(join(tested.home, HOME_PATHS.manifests, "test-1"))).toBe(false);
  await expect(count("test-1")).rejects.toMatchObject({ code: "table_not_found" });

  await expect(create("test-tables", null)).rejects.toMatchObject({ code: "database_exists" });
  await expect(create("test-3", "main")).rejects.toMatchObject({ code: "database_not_found" });
  await expect(create("test-3", null, owner.pid)).rejects.toMatchObject({ code: "invalid_request" });
  await expect(client.call("scratchDelete", { body: { name: "main" } })).rejects.toMatchObject({
    code: "database_not_found",
    hint: "Delete other databases with: cli db delete",
  });
  await client.call("scratchDelete", { body: { name: "test-tables" } });
  await waitFor(() => records().length === 0);
});

test("a new daemon deletes scratch databases of processes that have ended", { timeout: TIMEOUT }, async () => {
  const client = await tested.startDaemon();
  const owner = startOwner();
  await client.call("scratchCreate", { body: { name: "test-1", pid: owner.pid, copy_of: null } });
  await client.call("stop", {});
  await waitFor(() => tested.readDaemonFile() === undefined);
  owner.kill();
  const next = await tested.startDaemon();
  await waitFor(() => records().length === 0);
  await expect(next.call("tableList", { params: { db: "test-1" } } as never)).rejects.toMatchObject({
    code: "table_not_found",
  });
});
