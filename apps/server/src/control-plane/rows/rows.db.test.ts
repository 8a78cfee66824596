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

const TABLE = {
  path: "docs",
  view_of: null,
  rows_by: null,
  comment: null,
  columns: [],
  indexes: [],
  rows: 1,
  is_rows_estimated: false,
  errors: 0,
  bytes: 8_192,
};

const paramsOf = (setup: HostedDatabase, table = "docs") => ({ org: setup.org.name, db: "main", table });

describe("tables and rows", () => {
  test("come from the database's pod as JSON, with exact numbers", async () => {
    await using setup = await openDatabaseWithPod(server);
    const { pod } = setup;
    pod.answer = (asked, response) => {
      if (asked.route === "GET /v1/tables") return sendJson(response, { tables: [TABLE], folders: [] });
      if (asked.route === "GET /v1/tables/reports%2Fdocs")
        return sendJson(response, { ...TABLE, path: "reports/docs" });
      response.writeHead(200, { "content-type": "text/html" }).end('{"rows":[{"n":9223372036854775807}],"next":null}');
    };
    const ask = (name: "tableList" | "tableShow" | "rowList", table?: string, query = {}) =>
      server.ask(name, { as: setup.member, params: paramsOf(setup, table), query } as never);
    expect((await ask("tableList")).json).toEqual({ folders: [], tables: [TABLE] });
    expect((await ask("tableShow", "reports/docs")).json).toMatchObject({ path: "reports/docs" });
    const rows = await ask("rowList", "docs", { limit: "7", cursor: "a&b" });
    expect(rows.text).toBe('{"rows":[{"n":9223372036854775807}],"next":null}');
    expect(rows.headers.get("content-type")).toBe("application/json; charset=utf-8");
    expect(pod.asked.at(-1)?.route).toBe("GET /v1/tables/docs/rows?limit=7&cursor=a%26b");
  });

  test("of any length pass through as bytes", async () => {
    await using setup = await openDatabaseWithPod(server);
    const comment = "x".repeat(40_000_000);
    setup.pod.answer = (_asked, response) => sendJson(response, { tables: [{ ...TABLE, comment }], folders: [] });
    const ask = () => server.ask("tableList", { as: setup.member, params: paramsOf(setup) } as never);
    const answers = await Promise.all(Array.from({ length: 6 }, ask));
    for (const { status, text } of answers) expect([status, text.length > comment.length]).toEqual([200, true]);
  });

  test("of a query stream through in the form that the client accepts, and no runtime reaches the pod", async () => {
    await using setup = await openDatabaseWithPod(server);
    setup.pod.answer = (_asked, response) => {
      response.writeHead(200, { "content-type": "application/msgpack" }).end(Buffer.from([0x81, 0xa1, 0x78, 0xc3]));
    };
    const column = { node: "column", name: "title", of: "docs", type: { kind: "string" }, nullable: false };
    const query = {
      from: { table: "docs", as: "docs" },
      joins: [],
      where: null,
      group_by: [],
      select: [{ name: "title", expr: column }],
      distinct: false,
      order_by: [],
      limit: null,
      offset: null,
      tail: null,
      sample: null,
    };
    const ask = (body: object) =>
      server.ask("queryRun", {
        as: setup.member,
        params: paramsOf(setup),
        query: { rows: "arrow" },
        body,
        headers: { accept: "application/msgpack" },
      } as never);
    const answer = await ask({ query });
    expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "application/msgpack"]);
    expect(setup.pod.asked.at(-1)).toMatchObject({
      route: "POST /v1/query?rows=arrow",
      headers: { accept: "application/msgpack" },
    });
    const runtime = { python: "python3", python_source: "test", project_root: "/", library_paths: [], env: {} };
    expect((await ask({ query, runtime })).json).toMatchObject({
      code: "invalid_request",
      errors: [{ pointer: "/runtime" }],
    });
    expect(setup.pod.asked).toHaveLength(1);
    const part = (value: string) => ({ node: "literal", value, type: { kind: "string" }, nullable: false });
    const args = [part('{"s'), part('tore":"s3://bucket","key":"aa/x"}')];
    const forged = { node: "call", fn: "op.add", args, kwargs: {}, type: { kind: "document" }, nullable: false };
    expect((await ask({ query: { ...query, select: [{ name: "file", expr: forged }] } })).json).toMatchObject({
      code: "invalid_request",
      errors: [{ pointer: "/query/select/0/expr", detail: expect.stringContaining("which + does not make") }],
    });
    expect(setup.pod.asked).toHaveLength(1);
  });

  test("of SQL stream through, and a refused statement keeps its line", async () => {
    await using setup = await openDatabaseWithPod(server);
    setup.pod.answer = (_asked, response) => {
      response.writeHead(200, { "content-type": "application/x-ndjson" }).end('{"rows":[[9223372036854775807]]}\n');
    };
    const ask = () =>
      server.ask("sqlRun", { as: setup.member, params: paramsOf(setup), body: { sql: "select 1", limit: 5 } } as never);
    const answer = await ask();
    expect([answer.status, answer.text]).toEqual([200, '{"rows":[[9223372036854775807]]}\n']);
    expect(setup.pod.asked.at(-1)).toMatchObject({ route: "POST /v1/sql?rows=plain" });
    expect(JSON.parse(String(setup.pod.asked.at(-1)?.body))).toEqual({ sql: "select 1", folder: "", limit: 5 });
    const problem = { type: "x", title: "x", status: 422, code: "sql_refused", detail: "No.", meta: { line: 2 } };
    setup.pod.answer = (_asked, response) => {
      response.writeHead(422, { "content-type": "application/problem+json" }).end(JSON.stringify(problem));
    };
    expect((await ask()).json).toMatchObject({ code: "sql_refused", detail: "No.", meta: { line: 2 } });
  });

  test("are inserted once with their idempotency key", async () => {
    await using setup = await openDatabaseWithPod(server);
    setup.pod.answer = (_asked, response) => sendJson(response, { n: 1 });
    const body = '{"n": 9223372036854775807}';
    const headers = { "idempotency-key": "k1", "x-api-key-of-mine": "hidden", "x-sender": "hidden" };
    const answer = await server.ask("rowInsert", { as: setup.member, params: paramsOf(setup), body, headers } as never);
    expect([answer.status, answer.text]).toEqual([200, '{"n":1}']);
    const [asked] = setup.pod.asked;
    const route = "POST /v1/tables/docs/rows?on_error=abort&return_rows=1";
    // the person's id, whose requests take turns with those of others
    const sender = expect.stringMatching(/^[\w-]{10,}$/);
    expect(asked).toMatchObject({ route, body, headers: { "idempotency-key": "k1", "x-sender": sender } });
    expect(JSON.stringify(asked?.headers)).not.toMatch(new RegExp(`hidden|${setup.member.token}`));
  });

  test("are returned with the number of failed cells", async () => {
    await using setup = await openDatabaseWithPod(server);
    setup.pod.answer = (_asked, response) => {
      response.writeHead(200, { "content-type": "application/json", "x-cell-errors": "m;rows=1" }).end('[{"m":null}]');
    };
    const answer = await server.ask("rowInsert", {
      as: setup.member,
      params: paramsOf(setup),
      body: '[{"n":0}]',
    } as never);
    expect([answer.text, answer.headers.get("x-cell-errors")]).toEqual(['[{"m":null}]', "m;rows=1"]);
  });

  test("are computed by the pod for callers that may write", async () => {
    await using setup = await openDatabaseWithPod(server);
    setup.pod.answer = (_asked, response) => sendJson(response, [{ n: 1 }]);
    const body = '[{"n": 9223372036854775807}]';
    const query = { outputs: "n,loud", on_error: "ignore" };
    const ask = (as: object) =>
      server.ask("rowCompute", { as, params: paramsOf(setup, "reports/docs"), body, query } as never);
    const answer = await ask(setup.member);
    expect([answer.status, answer.text]).toEqual([200, '[{"n":1}]']);
    const route = "POST /v1/tables/reports%2Fdocs/compute?on_error=ignore&outputs=n%2Cloud";
    expect(setup.pod.asked).toEqual([expect.objectContaining({ route, body })]);
    expect((await ask(setup.outsider)).status).toBeGreaterThanOrEqual(400);
    expect(setup.pod.asked).toHaveLength(1);
  });

  test("are updated and deleted by the pod, with the digits of the request", async () => {
    await using setup = await openDatabaseWithPod(server);
    const written = { inserted: 0, updated: 1, deleted: 0, errors: 0 };
    setup.pod.answer = (_asked, response) => sendJson(response, written);
    const body = '{"rows": [{"id": 9223372036854775807}]}';
    for (const [name, route] of [
      ["rowUpdate", "PATCH /v1/tables/docs/rows"],
      ["rowDelete", "POST /v1/tables/docs/rows/delete"],
    ] as const) {
      const answer = await server.ask(name, { as: setup.member, params: paramsOf(setup), body } as never);
      expect([answer.status, answer.json]).toEqual([200, written]);
      expect(setup.pod.asked.at(-1)).toMatchObject({ route, body });
    }
  });

  test("that the pod refuses are refused with its own error", async () => {
    await using setup = await openDatabaseWithPod(server);
    const refusal = appError("disk_full", { detail: "The disk is full: 10.00 GB are used.", hint: "Raise disk_gb." });
    setup.pod.answer = (_asked, response) => sendJson(response, toProblem(refusal), 507);
    const answer = await server.ask("rowInsert", { as: setup.member, params: paramsOf(setup), body: {} } as never);
    expect(answer.json).toMatchObject({ code: "disk_full", status: 507, hint: "Raise disk_gb." });
    // its members' matter, not the operator's
    const logged = server.log.lines.filter(({ fields }) => "code" in fields && fields.code === "disk_full");
    expect(logged).toEqual([expect.objectContaining({ level: "info", message: "request refused" })]);
  });
});

describe("the file of a media cell", () => {
  const show = (setup: HostedDatabase, headers = {}) =>
    server.ask("fileShow", {
      as: setup.member,
      params: { org: setup.org.name, db: "main" },
      query: { token: "t&" },
      headers,
    } as never);

  test("comes from the database's pod, with its range", async () => {
    await using setup = await openDatabaseWithPod(server);
    setup.pod.answer = (_asked, response) => {
      const headers = { "content-type": "image/png", "content-range": "bytes 0-2/9", etag: '"e1"' };
      response.writeHead(206, { ...headers, "content-disposition": 'inline; filename="a.png"' }).end("abc");
    };
    const answer = await show(setup, { range: "bytes=0-2", cookie: "hidden=1" });
    expect([answer.status, answer.text]).toEqual([206, "abc"]);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      "content-type": "image/png",
      "content-range": "bytes 0-2/9",
      "content-disposition": 'inline; filename="a.png"',
      "content-security-policy": "sandbox; default-src 'none'; frame-ancestors 'none'",
      "cross-origin-resource-policy": "same-origin",
      "x-content-type-options": "nosniff",
      "cache-control": "private, no-cache",
    });
    const [asked] = setup.pod.asked;
    expect(asked).toMatchObject({ route: "GET /v1/file?token=t%26", headers: { range: "bytes=0-2" } });
    expect(JSON.stringify(asked?.headers)).not.toContain("hidden");
    expect((await show(setup, { "if-none-match": '"e1"' })).status).toBe(304);
  });

  test.each(["text/html", "image/svg+xml", "application/pdf", "text/plain; charset=utf-8", "x"])(
    "of the type %s is downloaded, whatever the pod says",
    async (type) => {
      await using setup = await openDatabaseWithPod(server);
      setup.pod.answer = (_asked, response) => {
        const headers = {
          "content-type": type,
          "content-disposition": "inline; filename=\"a.html\"; filename*=UTF-8''%C3%A4.html",
        };
        response
          .writeHead(200, { ...headers, "set-cookie": "session=x", "content-security-policy": "x" })
          .end("<script>");
      };
      const { headers, text } = await show(setup);
      expect(text).toBe("<script>");
      expect(headers.get("content-type")).toBe("application/octet-stream");
      expect(headers.get("content-disposition")).toMatch(/^attachment; filename="a\.html"/);
      expect(headers.get("content-security-policy")).toContain("sandbox");
      expect(headers.get("set-cookie")).toBeNull();
    },
  );

  test("that is lost gives the pod's reason, and none of another organization's is read", async () => {
    await using setup = await openDatabaseWithPod(server);
    const refusal = appError("media_not_found", { detail: "The file does not exist any more." });
    setup.pod.answer = (_asked, response) => sendJson(response, toProblem(refusal), 404);
    expect((await show(setup)).json).toMatchObject({ code: "media_not_found" });
    const stranger = await makePeople(server);
    const params = { org: setup.org.name, db: "main" };
    const theirs = await server.ask("fileShow", { as: stranger.member, params, query: { token: "t" } } as never);
    expect(theirs.json).toMatchObject({ code: "organization_not_found" });
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
