import type { ServerResponse } from "node:http";
import { eventually } from "@appdb/testkit/eventually";
import { afterAll, beforeAll, expect, test } from "vitest";
import { makeHostedDatabase, openDatabaseWithPod } from "../../testing/databases.ts";
import { openServer, type TestServer } from "../../testing/open-server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await openServer();
});
afterAll(() => server[Symbol.asyncDispose]());

const SESSION = {
  event: "session",
  session: "0123",
  user: "psql_1",
  password: "secret of the session",
  database: "main",
  ends_at: "2026-11-20T10:00:00.000Z",
};

const begin = (response: ServerResponse, line: object = SESSION) => {
  response.writeHead(200, { "content-type": "application/x-ndjson" });
  response.write(`${JSON.stringify(line)}\n`);
};

test("a session comes from the pod, and the audit log says who opened which", async () => {
  await using setup = await openDatabaseWithPod(server);
  setup.pod.answer = (_asked, response) => {
    begin(response);
    response.end('{"event":"ended","reason":"idle"}\n{"event":"done"}\n');
  };
  const params = { org: setup.org.name, db: "main" };
  for (const name of ["psqlRead", "psqlWrite"] as const) {
    const answer = await server.ask(name, { as: setup.member, params, body: { folder: "reports" } } as never);
    expect(
      answer.text
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line)),
    ).toEqual([SESSION, { event: "ended", reason: "idle" }]);
  }
  const caller = expect.stringMatching(/^person ./);
  expect(setup.pod.asked.map(({ body, route }) => [route, JSON.parse(body)])).toEqual([
    ["POST /v1/psql", { folder: "reports", caller }],
    ["POST /v1/psql/write", { folder: "reports", caller }],
  ]);
  const events = await server.ask("eventList", { as: setup.member, params: { org: setup.org.name } } as never);
  expect(events.text).toContain('"database.psql"');
  expect(events.text).toContain('"database.psql_write"');
  expect(events.text).not.toContain(SESSION.password);
});

test("other organizations see no database, and lines that match no contract do not pass", async () => {
  await using setup = await openDatabaseWithPod(server);
  const other = await makeHostedDatabase(server);
  const params = { org: setup.org.name, db: "main" };
  for (const name of ["psqlRead", "psqlWrite", "psqlConnect"] as const) {
    const given = { as: other.member, params: { ...params, session: "0123" }, body: name === "psqlConnect" ? "x" : {} };
    expect((await server.ask(name, given as never)).status).toBe(404);
  }
  setup.pod.answer = (_asked, response) => begin(response, { event: "session", user: 5 });
  const answer = await server.ask("psqlRead", { as: setup.member, params, body: {} } as never);
  expect(answer.json).toMatchObject({ code: "database_not_reached" });
});

test("a refusal of the pod is the answer, and a session beyond the organization's is refused", async () => {
  await using setup = await openDatabaseWithPod(server);
  const params = { org: setup.org.name, db: "main" };
  const problem = { type: "x", title: "x", status: 503, code: "overloaded", detail: "3 sessions." };
  setup.pod.answer = (_asked, response) => {
    response.writeHead(503, { "content-type": "application/problem+json" }).end(JSON.stringify(problem));
  };
  const ask = () => server.ask("psqlRead", { as: setup.member, params, body: {} } as never);
  expect((await ask()).json).toMatchObject({ code: "overloaded", detail: "3 sessions." });
  const open: ServerResponse[] = [];
  setup.pod.answer = (_asked, response) => {
    begin(response);
    open.push(response);
  };
  const held = Array.from({ length: 9 }, ask);
  await eventually(() => expect(open).toHaveLength(9));
  expect((await ask()).json).toMatchObject({ code: "overloaded", detail: expect.stringContaining("9 sessions") });
  for (const response of open) response.end();
  await Promise.all(held);
});
