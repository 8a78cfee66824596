import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { PodSpec } from "@appdb/pods/driver/pod-driver";
import { Secret } from "@appdb/system/secret";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createTestLayout } from "./contracts/test-layout.ts";
import { createFakePods } from "./fake-pod-driver.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "fake-pods-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const signal = new AbortController().signal;
const specOf = (told: object = {}): PodSpec => ({
  id: "db-1",
  labels: { organization_id: "o", database_id: "1", kind: "database" },
  args: ["pod.js"],
  input: new Secret(JSON.stringify({ run_folder: join(folder, "1", "run-db-1"), token: "t", ...told })),
  image: null,
  volumes: [],
  ports: ["api"],
  network: "none",
  limits: { cpu: 1, memory_mb: 100, tasks: 10 },
});

test("the fake driver meets the drivers' contract for pods", async () => {
  const { driver, starts } = createFakePods(folder, createTestLayout(folder));
  const first = await driver.ensure(specOf(), signal);
  expect(await driver.ensure(specOf(), signal)).toEqual(first);
  expect([first.state, starts("db-1")]).toEqual(["running", 1]);
  const second = await driver.ensure(specOf({ token: "u" }), signal);
  expect(second.spec_hash).not.toBe(first.spec_hash);
  expect(starts("db-1")).toBe(2);
  expect(await driver.list({ database_id: "1" })).toEqual([second]);
  expect(await driver.list({ database_id: "2" })).toEqual([]);
});

test("another fake driver on the folder has the same pods", async () => {
  await createFakePods(folder, createTestLayout(folder)).driver.ensure(specOf(), signal);
  const { askHealth, driver } = createFakePods(folder, createTestLayout(folder));
  const { api: endpoint } = await driver.endpoints({ id: "db-1", database_id: "1" });
  expect((await askHealth({ endpoint, token: new Secret("t") }))?.state).toBe("ready");
  expect(await askHealth({ endpoint, token: new Secret("another") })).toBeUndefined();
  await expect(driver.forget({ id: "db-1", database_id: "1" })).rejects.toMatchObject({ code: "pod_failed" });
  await driver.stop("db-1", 0);
  expect(await driver.inspect("db-1")).toMatchObject({ state: "exited", exit: { code: 0 } });
  expect(await askHealth({ endpoint, token: new Secret("t") })).toBeUndefined();
  await driver.forget({ id: "db-1", database_id: "1" });
  await driver.forget({ id: "db-1", database_id: "1" });
  expect(await driver.inspect("db-1")).toBeUndefined();
});
