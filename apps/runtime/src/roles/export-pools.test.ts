import { expect, test } from "vitest";
import { ExportPools } from "./export-pools.ts";

test.each([
  [{ env: "MISSING" }, /^The variable MISSING is not set/],
  [{ env: "EMPTY" }, /^The variable EMPTY is not set/],
  [{ env: "OTHER" }, /^The variable OTHER is not a PostgreSQL URL/],
  [{ url: "postgresql://u:hunter2@ho st/db" }, /^The URL of the export is not a PostgreSQL URL/],
])("reports an invalid database URL without its text: %j", async (to, words) => {
  await using pools = new ExportPools({ EMPTY: "", OTHER: "mysql://u:hunter2@host/db" }, "own");
  let told: unknown;
  try {
    pools.connect(to);
  } catch (error) {
    told = error;
  }
  expect(told).toMatchObject({ code: "config_invalid", message: expect.stringMatching(words) });
  expect((told as Error).cause).toBeUndefined();
  expect(JSON.stringify(told) + String(told)).not.toContain("hunter2");
});

test("one database has one pool regardless of the name's form", async () => {
  const url = "postgresql://u@host/db";
  await using pools = new ExportPools({ OTHER: url }, "own");
  expect(pools.connect({ env: "OTHER" })).toBe(pools.connect({ url }));
});

test.each([
  [{ url: "postgresql:///main?host=/tmp/appdb-0-0123456789ab&user=postgres&password=hunter2" }, /names no TCP host/],
  [{ env: "SOCKET" }, /^The variable SOCKET names no TCP host/],
  [{ url: "postgresql://u:hunter2@127.0.0.1/db" }, /names this machine or a private network/],
  [{ url: "postgresql://u:hunter2@db.example.com/db?options=-c%20x" }, /has the unsupported parameter options/],
])("a hosted service does not export to %j", async (to, words) => {
  await using pools = new ExportPools({ SOCKET: "postgresql://u:hunter2@%2Ftmp/db" }, "public");
  let told: unknown;
  try {
    pools.connect(to);
  } catch (error) {
    told = error;
  }
  expect(told).toMatchObject({ code: "config_invalid", message: expect.stringMatching(words) });
  expect(JSON.stringify(told) + String(told)).not.toContain("hunter2");
});
