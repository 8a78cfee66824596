import type { ServerResponse } from "node:http";
import { appError, toProblem } from "@appdb/contract/errors";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type HostedDatabase, makeDatabase, makeHostedDatabase, openDatabaseWithPod } from "../../testing/databases.ts";
import { openFakePod, sendJson } from "../../testing/fake-pod.ts";
import { openServer, type TestServer } from "../../testing/open-server.ts";
import { makePeople } from "../../testing/people.ts";

let server: TestServer;
beforeAll(async () => {
  server = await openServer();
});
afterAll(() => server[Symbol.asyncDispose]());

const TABLE = { path: "docs", columns: [], rows: 1, errors: 0, bytes: 8_192 };

const paramsOf = (setup: HostedDatabase, table = "docs") => ({ org: setup.org.name, db: "main", table });

describe("tables and rows", () => {
  test("come from the database's pod as JSON, with exact numbers", async () => {
    await using setup = await openDatabaseWithPod(server);
    const { pod } = setup;
    pod.answer = (asked, response) => {
      if (asked.route === "GET /v1/tables") return sendJson(response, { tables: [TABLE] });
      if (asked.route === "GET /v1/tables/reports%2Fdocs")
        return sendJson(response, { ...TABLE, path: "reports/docs" });
      response.writeHead(200, { "content-type": "text/html" }).end('{"rows":[{"n":9223372036854775807}],"next":null}');
    };
    const ask = (name: "tableList" | "tableShow" | "rowList", table?: string, query = {}) =>
      server.ask(name, { as: setup.member, params: paramsOf(setup, table), query } as never);
    expect((await ask("tableList")).json).toEqual({ tables: [TABLE] });
    expect((await ask("tableShow", "reports/docs")).json).toMatchObject({ path: "reports/docs" });
    const rows = await ask("rowList", "docs", { limit: "7", cursor: "a&b" });
    expect(rows.text).toBe('{"rows":[{"n":9223372036854775807}],"next":null}');
    expect(rows.headers.get("content-type")).toBe("application/json; charset=utf-8");
    expect(pod.asked.at(-1)?.route).toBe("GET /v1/tables/docs/rows?limit=7&cursor=a%26b");
  });

  test("are inserted once with their idempotency key", async () => {
    await using setup = await openDatabaseWithPod(server);
    setup.pod.answer = (_asked, response) => sendJson(response, { n: 1 });
    const body = '{"n": 9223372036854775807}';
    const headers = { "idempotency-key": "k1", "x-api-key-of-mine": "hidden" };
    const answer = await server.ask("rowInsert", { as: setup.member, params: paramsOf(setup), body, headers } as never);
    expect([answer.status, answer.text]).toEqual([200, '{"n":1}']);
    const [asked] = setup.pod.asked;
    expect(asked).toMatchObject({ route: "POST /v1/tables/docs/rows", body, headers: { "idempotency-key": "k1" } });
    expect(JSON.stringify(asked?.headers)).not.toMatch(new RegExp(`hidden|${setup.member.token}`));
  });

  test("that the pod refuses are refused with its own error", async () => {
    await using setup = await openDatabaseWithPod(server);
    const refusal = appError("disk_full", { detail: "The disk is full: 10.00 GB are used.", hint: "Raise disk_gb." });
    setup.pod.answer = (_asked, response) => sendJson(response, toProblem(refusal), 507);
    const answer = await server.ask("rowInsert", { as: setup.member, params: paramsOf(setup), body: {} } as never);
    expect(answer.json).toMatchObject({ code: "disk_full", status: 507, hint: "Raise disk_gb." });
  });
});

describe("a database", () => {
  test.each(["STOPPED", "FAILED", "PROVISIONING", "DELETING"] as const)(
    "that is %s is not asked, and the error gives a next step",
    async (state) => {
      const setup = await makePeople(server);
      await makeDatabase(server, setup.org, { state });
      const uri = `cloud://${setup.org.name}:main`;
      const params = { org: setup.org.name, db: "main", table: "docs" };
      for (const [route, verb] of [
        ["tableList", "read"],
        ["rowInsert", "written"],
      ] as const) {
        const body = route === "rowInsert" ? {} : undefined;
        const answer = await server.ask(route, { as: setup.member, params, body } as never);
        expect(answer.json).toMatchObject({
          code: "database_not_available",
          detail: `${uri} is ${state}; it must be AVAILABLE to be ${verb}.`,
          hint: expect.stringContaining(uri),
        });
      }
    },
  );

  test("whose pod does not answer gives the hint to check its status", async () => {
    const setup = await makeHostedDatabase(server);
    const ask = () => server.ask("tableList", { as: setup.member, params: paramsOf(setup) } as never);
    const silent = { code: "database_not_reached", status: 503, hint: expect.stringContaining("cli db status") };
    expect((await ask()).json).toMatchObject(silent);
    await using pod = await openFakePod(server, { id: setup.database_id, org_id: setup.org.id });
    for (const answer of [
      (response: ServerResponse) => response.end("no JSON"),
      (response: ServerResponse) => response.destroy(),
      (response: ServerResponse) => sendJson(response, { code: "unauthorized", detail: "x" }, 401),
      (response: ServerResponse) => response.writeHead(502).end("<html>"),
    ]) {
      pod.answer = (_asked, response) => void answer(response);
      expect((await ask()).json).toMatchObject(silent);
    }
  });
});
