import { afterAll, beforeAll, expect, test } from "vitest";
import { type HostedDatabase, openDatabaseWithPod } from "../../testing/databases.ts";
import { sendJson } from "../../testing/fake-pod.ts";
import { openServer, type TestServer } from "../../testing/open-server.ts";
import { makeService } from "../../testing/services.ts";

let server: TestServer;
beforeAll(async () => {
  server = await openServer();
});
afterAll(() => server[Symbol.asyncDispose]());

const CHANGE = { change: "drop_table", table: "docs", force: true, if_not_exists: "error" };

function ask(setup: HostedDatabase, name: "tableChange" | "historyList" | "tableDefinition", more: object = {}) {
  const params = { org: setup.org.name, db: "main", table: "docs" };
  return server.ask(name, { as: setup.member, params, ...more } as never);
}

test("a change reaches the pod with the database's files, and is in the audit log", async () => {
  await using setup = await openDatabaseWithPod(server);
  setup.pod.answer = (_asked, response) => void response.end('{"event":"done","plan":{"tables":[]}}\n');
  const runtime = { python: "/bin/sh", python_source: "x", project_root: "/", library_paths: [], env: { A: "1" } };
  const answer = await ask(setup, "tableChange", { body: { change: CHANGE, runtime, project_root: "/home/ada" } });
  expect(answer.text).toContain('"event":"done"');
  const [asked] = setup.pod.asked;
  expect(asked?.route).toBe("POST /v1/changes");
  expect(JSON.parse(String(asked?.body))).toMatchObject({ change: CHANGE, runtime: null, project_root: null });
  const { items } = (await server.ask("eventList", { as: setup.member, params: { org: setup.org.name } } as never))
    .json;
  const told = items.filter(({ action }: { action: string }) => action === "table.change");
  expect(told.map(({ outcome }: { outcome: string }) => outcome)).toEqual(["succeeded", "pending"]);
  await ask(setup, "tableChange", { body: { change: CHANGE, dry_run: true } });
  const after = (await server.ask("eventList", { as: setup.member, params: { org: setup.org.name } } as never)).json;
  expect(after.items).toHaveLength(items.length);
});

test("a change sends the running services to the pod, which finds those that it breaks", async () => {
  await using setup = await openDatabaseWithPod(server);
  setup.pod.answer = (_asked, response) => void response.end('{"event":"done","plan":{"tables":[]}}\n');
  await makeService(server, setup, { name: "reports/ingest" });
  await makeService(server, setup, { name: "idle", state: "STOPPED" });
  await ask(setup, "tableChange", { body: { change: CHANGE, dry_run: true } });
  const { services } = JSON.parse(String(setup.pod.asked[0]?.body));
  expect(services).toMatchObject([{ service: "ingest", target: `cloud://${setup.org.name}:main/reports` }]);
  expect(services[0].manifest.tables).toBeInstanceOf(Array);
});

test("a change that the pod refuses is recorded as failed", async () => {
  await using setup = await openDatabaseWithPod(server);
  setup.pod.answer = (_asked, response) => void response.end('{"event":"error","problem":{"code":"has_dependents"}}\n');
  expect((await ask(setup, "tableChange", { body: { change: CHANGE } })).text).toContain("has_dependents");
  const { items } = (await server.ask("eventList", { as: setup.member, params: { org: setup.org.name } } as never))
    .json;
  expect(items[0]).toMatchObject({ action: "table.change", outcome: "failed" });
});

test("definitions and the history come from the pod", async () => {
  await using setup = await openDatabaseWithPod(server);
  const entry = { version: 1, changed_at: "2026-01-01T00:00:00Z", table: "docs", changes: ["x"], made_by: null };
  setup.pod.answer = (_asked, response) => sendJson(response, { entries: [entry] });
  expect((await ask(setup, "historyList", { query: { table: "docs", limit: "3" } })).json).toEqual({
    entries: [entry],
  });
  expect(setup.pod.asked.at(-1)?.route).toBe("GET /v1/history?table=docs&limit=3");
});
