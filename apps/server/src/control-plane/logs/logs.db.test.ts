import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ControlClient } from "@appdb/contract/clients/control-client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { endOperation, startOperation } from "../../operations/run-operation.ts";
import { databasePaths } from "../../pods/database-paths.ts";
import { type HostedDatabase, makeHostedDatabase } from "../../testing/databases.ts";
import { openServer, type TestServer } from "../../testing/open-server.ts";
import { type Scenario, testScenarios } from "../../testing/scenarios.ts";

interface LogSetup extends HostedDatabase {
  readonly operation_id: string;
  readonly log_file: string;
}

let server: TestServer;
beforeAll(async () => {
  server = await openServer();
});
afterAll(() => server[Symbol.asyncDispose]());

async function openSetup(at: TestServer): Promise<LogSetup> {
  const setup = await makeHostedDatabase(at);
  const operationId = await begin(setup);
  await say(operationId, 1, "building");
  const { log_folder: logFolder } = databasePaths(at.deps.config, setup.database_id);
  mkdirSync(logFolder, { recursive: true });
  const logFile = join(logFolder, "pod.log");
  writeFileSync(logFile, '{"level":30,"time":"2030-01-01T00:00:00.000Z","msg":"the pod starts"}\n');
  return { ...setup, operation_id: operationId, log_file: logFile };
}

const begin = (setup: HostedDatabase) =>
  server.deps.db.transaction().execute(async (tx) => {
    const id = await startOperation(
      { tx, recordEvent: server.deps.recordEvent },
      {
        org_id: setup.org.id,
        database_id: setup.database_id,
        kind: "database.update",
        target: "main",
        is_cancellable: true,
        actor: "ann",
        principal: undefined,
        ip_address: null,
        client: null,
      },
    );
    if (id === undefined) throw new Error("It was not started.");
    return id;
  });
const end = (id: string) =>
  server.deps.db
    .transaction()
    .execute((tx) => endOperation({ tx, recordEvent: server.deps.recordEvent }, id, { state: "succeeded" }));
const say = (operationId: string, number: number, line: string) =>
  server.deps.db
    .insertInto("control.operation_lines")
    .values({ operation_id: operationId, number, level: "info", line })
    .execute();

const OPERATION = (setup: LogSetup) => ({ id: setup.operation_id });
const ROWS: Scenario<LogSetup>[] = [
  { as: "guest", route: "databaseLogs", params: { db: "main" }, status: 401 },
  { as: "outsider", route: "databaseLogs", params: { db: "main" }, status: 404, excludes: ["the pod starts"] },
  {
    as: "member",
    route: "databaseLogs",
    params: { db: "main" },
    status: 200,
    includes: ['{"number":0,"at":"2030-01-01T00:00:00.000Z","level":"info","line":"the pod starts"}\n'],
  },
  {
    as: "member",
    named: "member, builds",
    route: "databaseLogs",
    params: { db: "main" },
    query: { source: "build" },
    status: 200,
    includes: ["building"],
  },
  { as: "member", named: "member, of a missing database", route: "databaseLogs", params: { db: "other" }, status: 404 },
  {
    as: "member",
    named: "member, too much",
    route: "databaseLogs",
    params: { db: "main" },
    query: { tail: "99999999" },
    status: 422,
  },
  { as: "guest", route: "operationLog", params: OPERATION, status: 401 },
  { as: "outsider", route: "operationLog", params: OPERATION, status: 404, excludes: ["building"] },
  {
    as: "outsider",
    named: "outsider, through their own organization",
    route: "operationLog",
    params: (setup) => ({ org: setup.other_org.name, id: setup.operation_id }),
    status: 404,
    excludes: ["building"],
  },
  { as: "member", route: "operationLog", params: OPERATION, status: 200, includes: ["building"] },
  {
    as: "member",
    named: "member, after the last line",
    route: "operationLog",
    params: OPERATION,
    query: { after: "1" },
    status: 200,
    excludes: ["building"],
  },
];

describe("who may read logs", () => {
  testScenarios(() => server, openSetup, ROWS);
});

/** Follows a log like the CLI, and collects the lines. */
function follow(setup: LogSetup, name: "databaseLogs" | "operationLog", query: object) {
  const stop = new AbortController();
  const seen: string[] = [];
  const client: ControlClient = server.client(setup.member);
  const params = { org: setup.org.name, db: "main", id: setup.operation_id };
  const ended = (async () => {
    for await (const { line } of client.lines(
      name,
      { params, query: { ...query, follow: "1" } } as never,
      stop.signal,
    )) {
      seen.push(line);
    }
  })();
  return { seen, ended, leave: () => stop.abort() };
}

describe("a log that is followed", () => {
  test("of an operation continues until the operation ends", async () => {
    const setup = await openSetup(server);
    const log = follow(setup, "operationLog", {});
    await expect.poll(() => log.seen).toEqual(["building"]);
    await say(setup.operation_id, 2, "installed numpy");
    await expect.poll(() => log.seen).toEqual(["building", "installed numpy"]);
    await say(setup.operation_id, 3, "the last one");
    await end(setup.operation_id);
    await log.ended;
    expect(log.seen).toEqual(["building", "installed numpy", "the last one"]);
  });

  test("of an ended operation ends at once, whatever its length", async () => {
    const setup = await openSetup(server);
    await server.deps.pool.query(
      "insert into control.operation_lines (operation_id, number, level, line) select $1, n, 'info', 'line ' || n from generate_series(2, 1500) n",
      [setup.operation_id],
    );
    await end(setup.operation_id);
    const log = follow(setup, "operationLog", { after: 10 });
    await log.ended;
    expect(log.seen).toEqual(Array.from({ length: 1_490 }, (_, at) => `line ${at + 11}`));
  });

  test("of builds continues with the next operation", async () => {
    const setup = await openSetup(server);
    await say(setup.operation_id, 2, "done");
    const log = follow(setup, "databaseLogs", { source: "build", tail: 1 });
    await expect.poll(() => log.seen).toEqual(["done"]);
    await end(setup.operation_id);
    const next = await begin(setup);
    await say(next, 1, "again");
    await expect.poll(() => log.seen).toEqual(["done", "again"]);
    log.leave();
    await log.ended;
  });

  test("of a pod shows its output", async () => {
    const setup = await openSetup(server);
    const log = follow(setup, "databaseLogs", { since_s: 60 });
    await expect.poll(() => log.seen).toEqual(["the pod starts"]);
    appendFileSync(setup.log_file, '{"level":30,"time":"2030-01-01T00:00:01.000Z","msg":"ready"}\n');
    await expect.poll(() => log.seen).toEqual(["the pod starts", "ready"]);
    log.leave();
    await log.ended;
  });

  test("breaks off when the server stops, without an end marker", async () => {
    await using other = await openServer({ beside: server });
    const setup = await openSetup(server);
    const client = other.client(setup.member);
    const params = { org: setup.org.name, id: setup.operation_id };
    const lines = client.lines(
      "operationLog",
      { params, query: { follow: "1" } } as never,
      new AbortController().signal,
    );
    const reader = lines[Symbol.asyncIterator]();
    await reader.next();
    const rest = reader.next();
    await Promise.all([expect(rest).rejects.toMatchObject({ code: "server_unreachable" }), other.app.close()]);
  });
});
