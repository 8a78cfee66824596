import { afterAll, beforeAll, expect, test } from "vitest";
import {
  type HostedDatabase,
  makeDatabase,
  makeHostedDatabase,
  NO_PACKAGES,
  RESOURCES,
} from "../../testing/databases.ts";
import { openServer, type TestServer } from "../../testing/open-server.ts";
import { organizationLimit } from "./resource-sums.ts";

const ENV = {
  SERVICE_MAX_CPU: "4",
  SERVICE_MAX_MEMORY_MB: "8192",
  SERVICE_MAX_DISK_GB: "100",
  SERVICE_ORG_CPU: "4",
  SERVICE_ORG_MEMORY_MB: "6144",
  SERVICE_ORG_DISK_GB: "60",
  SERVICE_DATABASE_QUOTA: "10",
};

let server: TestServer;
beforeAll(async () => {
  server = await openServer({ env: ENV });
});
afterAll(() => server[Symbol.asyncDispose]());

const plan = (setup: HostedDatabase, db: string, settings: object) =>
  server.ask("databasePlan", {
    as: setup.member,
    params: { org: setup.org.name, db },
    body: { settings, files: [], environment: NO_PACKAGES },
  } as never);
const update = (setup: HostedDatabase, db: string, settings: object, expectedGeneration: number) =>
  server.ask("databaseUpdate", {
    as: setup.member,
    params: { org: setup.org.name, db },
    body: {
      settings,
      files: [],
      environment: NO_PACKAGES,
      expected_generation: expectedGeneration,
      allow_destructive: true,
    },
  } as never);

test("a database that requests more than is left is refused, with used, requested and maximum", async () => {
  const setup = await makeHostedDatabase(server);
  for (const answer of [
    await plan(setup, "extra", { cpu: 3.5, disk_gb: 51 }),
    await update(setup, "extra", { cpu: 3.5, disk_gb: 51 }, 0),
  ]) {
    expect(answer.json).toMatchObject({
      code: "resources_quota",
      status: 409,
      detail: expect.stringContaining(
        "cpu is 3.5, the other databases have 1; the maximum together is 4 (SERVICE_ORG_CPU of the server); disk_gb is 51",
      ),
      meta: { used: { cpu: 1, memory_mb: 1_024, disk_gb: 10 }, asked: { cpu: 3.5 }, most: { cpu: 4 } },
      errors: [{ pointer: "/settings/cpu" }, { pointer: "/settings/disk_gb" }],
    });
  }
  expect((await update(setup, "extra", { cpu: 3, disk_gb: 50 }, 0)).status).toBe(202);
});

test("two databases created at once do not exceed the sum together", async () => {
  const setup = await makeHostedDatabase(server);
  const answers = await Promise.all(["a", "b", "c"].map((name) => update(setup, name, { cpu: 2 }, 0)));
  expect(answers.map(({ status }) => status).sort()).toEqual([202, 409, 409]);
});

test("two databases that grow at once do not exceed the sum together", async () => {
  const setup = await makeHostedDatabase(server);
  await makeDatabase(server, setup.org, { name: "other" });
  const grow = ["main", "other"].map((name) => update(setup, name, { memory_mb: 4_096 }, 1));
  expect((await Promise.all(grow)).map(({ status }) => status).sort()).toEqual([202, 409]);
});

test("a sum granted by an older version stays, and may shrink", async () => {
  const setup = await makeHostedDatabase(server);
  const resources = { ...RESOURCES, cpu: 64, disk_gb: 500 };
  await makeDatabase(server, setup.org, { name: "large", desired: { resources } });
  expect((await update(setup, "large", { cpu: 4, disk_gb: 500, memory_mb: 2_048 }, 1)).status).toBe(202);
  expect((await update(setup, "main", { cpu: 2 }, 1)).json.code).toBe("resources_quota");
  expect((await update(setup, "main", { sleep_after: "1h" }, 1)).status).toBe(202);
});

test("another organization's databases do not count", async () => {
  const [setup, other] = [await makeHostedDatabase(server), await makeHostedDatabase(server)];
  expect((await update(setup, "extra", { cpu: 3 }, 0)).status).toBe(202);
  expect((await update(other, "extra", { cpu: 3 }, 0)).status).toBe(202);
});

test("by default an organization has room for its databases with default sizes", () => {
  const min = { cpu: 0.1, memory_mb: 256, disk_gb: 1, workers: 1 };
  const bounds = { least: min, most: { cpu: 2, memory_mb: 2_048, disk_gb: 100, workers: 16 } };
  expect(organizationLimit({ bounds, sums: {} }, 3)).toEqual({ cpu: 4, memory_mb: 4_096, disk_gb: 200 });
  expect(organizationLimit({ bounds, sums: { cpu: 1 } }, 50)).toEqual({ cpu: 1, memory_mb: 51_200, disk_gb: 500 });
});
