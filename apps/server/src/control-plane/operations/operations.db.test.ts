import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { beginOperation, endOperation, startOperation } from "../../operations/run-operation.ts";
import { openServer, type TestServer } from "../../testing/open-server.ts";
import { makePeople, type TestPeople } from "../../testing/people.ts";
import { type Scenario, testScenarios } from "../../testing/scenarios.ts";

interface OperationSetup extends TestPeople {
  /** Requested by the member, cancellable. */
  readonly own: string;
  /** Requested by the system, not cancellable. */
  readonly fixed: string;
}

let server: TestServer;
beforeAll(async () => {
  server = await openServer();
});
afterAll(() => server[Symbol.asyncDispose]());

async function openSetup(at: TestServer): Promise<OperationSetup> {
  const setup = await makePeople(at);
  const start = (userId: string | null, isCancellable: boolean, target: string) =>
    at.deps.db.transaction().execute(async (tx) => {
      const { id } = await tx
        .insertInto("control.databases")
        .values({ org_id: setup.org.id, name: target })
        .returning("id")
        .executeTakeFirstOrThrow();
      const operation = await startOperation(
        { tx, recordEvent: at.deps.recordEvent },
        {
          org_id: setup.org.id,
          database_id: id,
          kind: "database.provision",
          target,
          is_cancellable: isCancellable,
          actor: "somebody",
          ip_address: null,
          client: null,
          principal: userId === null ? undefined : ({ user_id: userId, key: null } as never),
        },
      );
      if (operation === undefined) throw new Error("It was not started.");
      return operation;
    });
  return { ...setup, own: await start(setup.member.id, true, "own"), fixed: await start(null, false, "fixed") };
}

const own = (setup: OperationSetup) => ({ id: setup.own });
const fixed = (setup: OperationSetup) => ({ id: setup.fixed });
const ROWS: Scenario<OperationSetup>[] = [
  { as: "guest", route: "operationList", status: 401, excludes: ["own"] },
  {
    as: "outsider",
    route: "operationList",
    status: 404,
    includes: ["organization_not_found"],
    excludes: ["provision"],
  },
  ...(["member", "admin", "owner"] as const).flatMap((as): Scenario<OperationSetup>[] => [
    { as, route: "operationList", status: 200, includes: ["own", "fixed", '"state":"pending"'] },
    { as, route: "operationShow", params: own, status: 200, includes: ['"kind":"database.provision"'] },
  ]),
  { as: "guest", route: "operationShow", params: own, status: 401 },
  { as: "outsider", route: "operationShow", params: own, status: 404, includes: ["organization_not_found"] },
  {
    as: "outsider",
    named: "outsider, through their own organization",
    route: "operationShow",
    params: (setup) => ({ org: setup.other_org.name, id: setup.own }),
    status: 404,
    includes: ["operation_not_found"],
    excludes: ["provision"],
  },
  { as: "member", named: "member, nonsense", route: "operationShow", params: { id: "x' or 1=1" }, status: 404 },
  { as: "member", route: "operationShow", params: own, query: { wait_ms: "99999999" }, status: 422 },
  { as: "guest", route: "operationCancel", params: own, status: 401 },
  { as: "outsider", route: "operationCancel", params: own, status: 404 },
  { as: "member", named: "member, own", route: "operationCancel", params: own, status: 200, includes: ['"cancelled"'] },
  { as: "admin", named: "admin, another's", route: "operationCancel", params: own, status: 200 },
  { as: "owner", named: "owner, another's", route: "operationCancel", params: own, status: 200 },
  { as: "member", named: "member, the system's", route: "operationCancel", params: fixed, status: 403 },
  {
    as: "owner",
    named: "owner, one that stays",
    route: "operationCancel",
    params: fixed,
    status: 409,
    includes: ["operation_not_cancellable", "cannot be cancelled"],
  },
];

describe("who may do what with operations", () => {
  testScenarios(() => server, openSetup, ROWS);
});

describe("an operation", () => {
  const deps = (tx: Parameters<Parameters<ReturnType<TestServer["deps"]["db"]["transaction"]>["execute"]>[0]>[0]) => ({
    tx,
    recordEvent: server.deps.recordEvent,
  });

  test("is ended once, by concurrent requests", async () => {
    const setup = await openSetup(server);
    const { db } = server.deps;
    const end = () => db.transaction().execute((tx) => endOperation(deps(tx), setup.own, { state: "succeeded" }));
    expect(await db.transaction().execute((tx) => beginOperation(tx, setup.own))).toBe(true);
    expect((await Promise.all([end(), end(), end()])).sort()).toEqual([false, false, true]);
    expect(await db.transaction().execute((tx) => beginOperation(tx, setup.own))).toBe(false);
    const { json } = await server.ask("eventList", { as: setup.member, params: { org: setup.org.name } });
    const outcomes = json.items.filter((event: { operation_id: string }) => event.operation_id === setup.own);
    expect(outcomes.map((event: { outcome: string }) => event.outcome)).toEqual(["succeeded", "pending"]);
  });

  test("that was cancelled is not started or ended", async () => {
    const setup = await openSetup(server);
    const { db } = server.deps;
    const params = { org: setup.org.name, id: setup.own };
    expect((await server.ask("operationCancel", { as: setup.member, params })).json.state).toBe("cancelled");
    expect(await db.transaction().execute((tx) => beginOperation(tx, setup.own))).toBe(false);
    const failed = { state: "failed", error: { code: "x", detail: "y", hint: null } } as const;
    expect(await db.transaction().execute((tx) => endOperation(deps(tx), setup.own, failed))).toBe(false);
    const again = await server.ask("operationCancel", { as: setup.member, params });
    expect([again.status, again.json.code]).toEqual([409, "operation_not_cancellable"]);
  });

  test("can be awaited at another server than the one that ends it", async () => {
    const setup = await openSetup(server);
    await using other = await openServer({ beside: server });
    const params = { org: setup.org.name, id: setup.own };
    const waited = other.ask("operationShow", { as: setup.member, params, query: { wait_ms: "30000" } } as never);
    const failed = { state: "failed", error: { code: "disk_full", detail: "The disk is full.", hint: null } } as const;
    await server.deps.db.transaction().execute((tx) => endOperation(deps(tx), setup.own, failed));
    expect((await waited).json).toMatchObject({ state: "failed", error: { code: "disk_full", hint: null } });
  });

  test("that is still open is answered when the wait is over, and when the server stops", async () => {
    const setup = await openSetup(server);
    const params = { org: setup.org.name, id: setup.own };
    const short = await server.ask("operationShow", { as: setup.member, params, query: { wait_ms: "20" } } as never);
    expect(short.json.state).toBe("pending");
    const other = await openServer({ beside: server });
    const { notifications } = other.deps;
    const { listen } = notifications;
    const listening = new Promise<void>((resolve) => {
      const told: typeof listen = async (...given) => {
        const stop = await listen(...given);
        resolve();
        return stop;
      };
      Object.assign(notifications, { listen: told });
    });
    const waited = other.ask("operationShow", { as: setup.member, params, query: { wait_ms: "30000" } } as never);
    await listening;
    await other[Symbol.asyncDispose]();
    expect(await waited).toMatchObject({ status: 200, json: { state: "pending" } });
  });

  test("lists are paged, newest first", async () => {
    const setup = await openSetup(server);
    const page = (query: Record<string, string>) =>
      server.ask("operationList", { as: setup.member, params: { org: setup.org.name }, query } as never);
    const first = await page({ limit: "1" });
    expect(first.json.items[0].id).toBe(setup.fixed);
    const second = await page({ limit: "1", cursor: first.json.next });
    expect(second.json).toMatchObject({ items: [{ id: setup.own }], next: null });
    for (const cursor of ["x", Buffer.from('["","nonsense"]').toString("base64url")]) {
      expect((await page({ cursor })).json.code).toBe("invalid_cursor");
    }
  });
});
