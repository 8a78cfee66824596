import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { openTestBuilds } from "@appdb/python-runtime/images/testing/test-builds";
import { eventually } from "@appdb/testkit/eventually";
import { expect, test } from "vitest";
import { SERVER_PATHS } from "../config/config.ts";
import { makeFiles, NO_PACKAGES } from "../testing/databases.ts";
import { openServer } from "../testing/open-server.ts";
import { makeOrg, makePerson } from "../testing/people.ts";
import { askPod, startPods } from "../testing/real-pods.ts";
import { databasePaths, databasePod } from "./database-paths.ts";
import { findPodToken } from "./pod-token.ts";

const START_MS = 40_000;
const APP = `import appdb as db
import tiny
from appdb.functions import uuid7

Base = db.model_base()


@db.udf
def shout(text: str) -> str:
    return tiny.shout(text)


class Docs(Base, name="docs"):
    id = db.Column(value=uuid7(), primary_key=True)
    title: db.String
    title_upper = shout(title)
`;

test("a database survives a failed build, sleeps, wakes, is undeleted, and is removed completely", {
  timeout: 240_000,
}, async () => {
  await using builds = await openTestBuilds();
  builds.publish({ name: "tiny", files: { "tiny.py": "def shout(text):\n    return text.upper() + '!'\n" } });
  await using server = await openServer({ env: { SERVICE_PODS: "process" } });
  const owner = await makePerson(server);
  const org = await makeOrg(server, owner, "acme");
  const params = { org: "acme", db: "data" };
  const ask = async (
    name:
      | "databaseUpdate"
      | "databaseBuildImage"
      | "databaseStop"
      | "databaseStart"
      | "databaseDelete"
      | "databaseUndelete",
    more: object = {},
  ) => {
    const answer = await server.ask(name, { as: owner, params, ...more } as never);
    expect(answer.status, answer.text).toBe(202);
  };
  const becomes = (state: string) =>
    eventually(
      async () => {
        const { json } = await server.ask("databaseShow", { as: owner, params });
        expect(json).toMatchObject({ state, operation: null });
        return json;
      },
      { timeout_ms: START_MS },
    );
  const texts: Record<string, string> = { "app.py": APP, ...builds.requirements("tiny") };
  {
    await using pods = await startPods(server);
    const files = await makeFiles(server, org, texts);
    const requirements = [{ path: "requirements.txt", text: texts["requirements.txt"] ?? "" }];
    const environment = { ...NO_PACKAGES, source: "requirements.txt", files: requirements };
    const misspelt = builds.requirements("tinny")["requirements.txt"] ?? "";
    const wrong = { ...environment, files: [{ path: "requirements.txt", text: misspelt }] };
    await ask("databaseUpdate", { body: { settings: {}, files: [], environment: wrong, expected_generation: 0 } });
    expect((await becomes("FAILED")).failure).toMatchObject({
      detail: expect.stringContaining("tinny"),
      hint: expect.stringMatching(/: cli db build-image cloud:\/\/acme:data$/),
    });
    await ask("databaseBuildImage", { body: { settings: {}, files, environment } });
    const made = await becomes("AVAILABLE");
    expect(made).toMatchObject({
      image: { packages: 1, source: "requirements.txt" },
      last_build: { state: "succeeded" },
    });
    const places = databasePaths(pods.machine.paths, made.id);
    const { data_folder: dataFolder, files_folder: filesFolder, run_folder: runFolder } = places;
    const { api } = await pods.machine.driver.endpoints(databasePod(made.id));
    const pod = async (method: string, path: string, body?: unknown) => {
      const token = (await findPodToken(server.deps, made.id))?.reveal();
      return await askPod(api, { authorization: `Bearer ${token}` }, method, path, body);
    };
    const app = { app_file: "app.py", files: made.project.digest, folders: [] };
    const planned = await pod("POST", "/v1/schema/plan", app);
    expect(planned).toContain('"plan"');
    const version = JSON.parse(planned).plan.catalog_version;
    expect(
      await pod("POST", "/v1/schema/apply", { ...app, catalog_version: version, allow_destructive: false }),
    ).toContain('"done"');
    expect(await pod("POST", "/v1/tables/docs/rows", { title: "kept" })).toContain("KEPT!");
    await ask("databaseStop");
    expect((await becomes("STOPPED")).pods).toEqual([]);
    const asleep = server.deps.db.selectFrom("control.databases").select("needed_trees").where("id", "=", made.id);
    expect(await asleep.executeTakeFirst()).toEqual({ needed_trees: [made.project.digest] });
    await ask("databaseStart");
    await becomes("AVAILABLE");
    expect(await pod("GET", "/v1/tables/docs/rows")).toContain("KEPT!");
    await ask("databaseDelete");
    await becomes("DELETING");
    await ask("databaseUndelete");
    await becomes("STOPPED");
    await ask("databaseStart");
    await becomes("AVAILABLE");
    expect(await pod("GET", "/v1/tables/docs/rows")).toContain("KEPT!");
    await ask("databaseDelete", { query: { now: "1" } });
    await eventually(async () => expect((await server.ask("databaseShow", { as: owner, params })).status).toBe(404), {
      timeout_ms: START_MS,
    });
    expect([dataFolder, filesFolder, runFolder].filter(existsSync)).toEqual([]);
    expect(readdirSync(join(server.home, SERVER_PATHS.pods)).filter((name) => name.includes(made.id))).toEqual([]);
  }
});
