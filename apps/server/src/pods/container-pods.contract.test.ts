import { startTestEngine, whyNoEngine } from "@appdb/testkit/container-engine";
import { eventually } from "@appdb/testkit/eventually";
import { afterAll, expect, test } from "vitest";
import { makeFiles, NO_PACKAGES } from "../testing/databases.ts";
import { openServer } from "../testing/open-server.ts";
import { makeOrg, makePerson } from "../testing/people.ts";
import { askPod, startPods } from "../testing/real-pods.ts";
import { databasePlaces } from "./database-places.ts";
import { findPodToken } from "./pod-token.ts";

const START_MS = 30_000;
const APP = `import appdb as db
import os
from appdb.functions import uuid7

Base = db.model_base()


@db.udf
def seen(text: str) -> str:
    return f"{text}: {sorted(os.listdir('/proc'))[:2]} {os.path.exists('/.pod')}"


class Docs(Base, name="docs"):
    id = db.Column(value=uuid7(), primary_key=True)
    title: db.String
    title_seen = seen(title)
`;

const why = whyNoEngine();
if (why !== undefined) test.skip(`containers: ${why}`);
else {
  const engine = await startTestEngine();
  afterAll(() => engine[Symbol.asyncDispose]());

  test("databases of two organizations live in containers, with tables and rows whose functions see nothing of their pod", {
    timeout: 180_000,
  }, async () => {
    await using server = await openServer();
    await using pods = await startPods(server, { driver: "container", engine_socket: engine.socket });
    for (const name of ["acme", "other"]) {
      const owner = await makePerson(server);
      const org = await makeOrg(server, owner, name);
      const params = { org: name, db: "data" };
      const files = await makeFiles(server, org, { "app.py": APP });
      const body = { settings: {}, files, environment: NO_PACKAGES, expected_generation: 0 };
      const asked = await server.ask("databaseUpdate", { as: owner, params, body } as never);
      expect(asked.status, asked.text).toBe(202);
      const becomes = (state: string) =>
        eventually(
          async () => {
            const { json } = await server.ask("databaseShow", { as: owner, params });
            expect(json).toMatchObject({ state, operation: null });
            return json;
          },
          { timeout_ms: START_MS },
        );
      const made = await becomes("AVAILABLE");
      const { socket } = databasePlaces(pods.machine.place, made.id);
      const pod = async (method: string, path: string, sent?: unknown) => {
        const token = (await findPodToken(server.deps, made.id))?.reveal();
        return await askPod(socket, { authorization: `Bearer ${token}` }, method, path, sent);
      };
      const app = { app_file: "app.py", files: made.project.digest, folders: [] };
      const version = JSON.parse(await pod("POST", "/v1/schema/plan", app)).plan.catalog_version;
      const apply = { ...app, catalog_version: version, allow_destructive: false };
      expect(await pod("POST", "/v1/schema/apply", apply)).toContain('"done"');
      expect(await pod("POST", "/v1/tables/docs/rows", { title: name })).toContain(`${name}: ['1', '2'] False`);
      for (const [verb, state] of [
        ["databaseStop", "STOPPED"],
        ["databaseStart", "AVAILABLE"],
      ] as const) {
        expect((await server.ask(verb, { as: owner, params })).status).toBe(202);
        await becomes(state);
      }
      expect(await pod("GET", "/v1/tables/docs/rows")).toContain(`${name}: ['1', '2'] False`);
    }
  });
}
