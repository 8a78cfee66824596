import { existsSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "@appdb/testkit/eventually";
import { expect, test } from "vitest";
import { makeFiles, NO_PACKAGES } from "../testing/databases.ts";
import { openServer } from "../testing/open-server.ts";
import { makeOrg, makePerson } from "../testing/people.ts";
import { askPod, startPods } from "../testing/real-pods.ts";
import { databasePaths } from "./database-paths.ts";
import { servicePaths, servicePod } from "./service-paths.ts";

const START_MS = 40_000;
const APP = `import appdb as db
from appdb.functions import uuid7
from appdb.serving import Router

Base = db.model_base()


class Docs(Base, name="docs"):
    id = db.Column(value=uuid7(), primary_key=True)
    title: db.String


ingest = Router()
ingest.add_insert_route(Docs, path="/docs", inputs=[Docs.title], outputs=[Docs.title])
`;

test("a service checks keys, updates without downtime, sleeps with its database, and survives kill -9", {
  timeout: 240_000,
}, async () => {
  await using server = await openServer({ env: { SERVICE_PODS: "process" } });
  const owner = await makePerson(server);
  const org = await makeOrg(server, owner, "acme");
  const params = { org: "acme", db: "data", service: "ingest" };
  const ask = async (name: string, status: number, body?: object) => {
    const answer = await server.ask(name as "databaseStop", { as: owner, params, ...(body && { body }) } as never);
    expect(answer.status, answer.text).toBe(status);
    return answer.json;
  };
  const becomes = async (name: "databaseShow" | "serviceShow", state: string) =>
    await eventually(
      async () => {
        const { json } = await server.ask(name, { as: owner, params });
        expect(json).toMatchObject({ state, operation: null });
        return json;
      },
      { timeout_ms: START_MS },
    );
  await using pods = await startPods(server);
  const project = async (text: string) => ({
    settings: {},
    environment: NO_PACKAGES,
    files: await makeFiles(server, org, { "app.py": text }),
  });
  await ask("databaseUpdate", 202, { ...(await project(APP)), expected_generation: 0 });
  const database = await becomes("databaseShow", "AVAILABLE");
  const app = { app_file: "app.py", folders: [], file_digests: null };
  const planned = await ask("schemaPlan", 200, { ...app, files: null });
  const catalogVersion = planned.plan.catalog_version;
  await ask("schemaApply", 200, { ...app, catalog_version: catalogVersion, allow_destructive: false });
  const update = async () => {
    const request = { ...app, service: null };
    const { version } = await ask("servicePlan", 200, request);
    return await ask("serviceUpdate", 202, { ...request, expected_version: version, allow_destructive: false });
  };
  await update();
  const made = await becomes("serviceShow", "AVAILABLE");
  const placed = { id: made.id, database_id: database.id };
  const { api_key: apiKey } = await ask("keyCreate", 201, { name: "ci", grants: [] });
  const insert = async (instance: number, headers: Record<string, string>) => {
    const path = join(servicePaths(pods.machine.paths, placed, instance).run_folder, "http.sock");
    return await askPod({ kind: "socket", path }, headers, "POST", "/docs", { title: "Hello" });
  };
  expect(await insert(1, {})).toContain("unauthorized");
  // the key was created after the pod
  await eventually(async () => expect(await insert(1, { "x-api-key": apiKey })).toContain("Hello"));

  await ask("databaseUpdate", 202, { ...(await project(`${APP}\nsecond = 2\n`)), expected_generation: 1 });
  await becomes("databaseShow", "AVAILABLE");
  await update();
  expect((await becomes("serviceShow", "AVAILABLE")).release).toBe(2);
  expect(await insert(2, { "x-api-key": apiKey })).toContain("Hello");
  await eventually(() => expect(existsSync(servicePaths(pods.machine.paths, placed, 1).run_folder)).toBe(false));

  const { pid } = (await pods.machine.driver.inspect(servicePod(placed, 2).id)) ?? {};
  expect(pid).toBeGreaterThan(1);
  process.kill(pid ?? 0, "SIGKILL");
  await eventually(async () => expect(await insert(2, { "x-api-key": apiKey })).toContain("Hello"), {
    timeout_ms: START_MS,
  });
  await becomes("serviceShow", "AVAILABLE");

  await ask("databaseStop", 202);
  await becomes("databaseShow", "STOPPED");
  expect(await pods.machine.driver.list({ database_id: database.id })).toEqual([]);
  const { run_folder: runFolder } = databasePaths(pods.machine.paths, database.id);
  expect(existsSync(runFolder)).toBe(false);
  await ask("databaseStart", 202);
  await becomes("databaseShow", "AVAILABLE");
  await becomes("serviceShow", "AVAILABLE");
  // the service has its state of before the stop until its next instance starts
  await eventually(async () => expect(await insert(3, { "x-api-key": apiKey })).toContain("Hello"), {
    timeout_ms: START_MS,
  });
});
