import { eventually } from "@appdb/testkit/eventually";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { enqueueProvisionMain } from "../queue/jobs.ts";
import { openServer, type TestServer } from "../testing/open-server.ts";
import { makeOrg, makePerson, type TestPerson } from "../testing/people.ts";
import { createTestMachine } from "../testing/test-machine.ts";
import { findMissingMains, provisionMain } from "./provision-main.ts";
import { startReconciler } from "./reconciler.ts";

let server: TestServer;
let owner: TestPerson;
beforeEach(async () => {
  server = await openServer();
  owner = await makePerson(server);
});
afterEach(() => server[Symbol.asyncDispose]());

const reconcile = (at = server) =>
  startReconciler({
    ...at.deps,
    pool_options: at.deps.pool.options,
    allow_private: false,
    machine: createTestMachine(server.home),
  });

/** The visible results for every organization. */
async function made() {
  const { rows } = await server.deps.pool.query(`
    select o.name as org, d.state as database, p.state as operation,
      (select array_agg(e.outcome order by e.id) from control.events e where e.operation_id = p.id) as events
    from control.organizations o left join control.databases d on d.org_id = o.id and d.name = 'main'
    left join control.operations p on p.database_id = d.id order by o.name`);
  return rows;
}
const done = (org: string) => ({
  org,
  database: "AVAILABLE",
  operation: "succeeded",
  events: ["pending", "succeeded"],
});

describe("main of an organization", () => {
  test("is requested with the organization, in one transaction", async () => {
    const create = () => server.ask("orgCreate", { as: owner, body: { name: "acme" } } as never);
    expect((await create()).status).toBe(201);
    expect((await create()).status).toBe(409);
    const { rows } = await server.deps.pool.query("select name from control.jobs");
    expect(rows).toEqual([{ name: "provision-main" }]);
    await using _reconciler = await reconcile();
    await eventually(async () => expect(await made()).toEqual([done("acme")]));
    const databases = await server.ask("databaseList", { as: owner, params: { org: "acme" } });
    expect(databases.json.items).toMatchObject([{ uri: "cloud://acme:main", state: "AVAILABLE" }]);
    const operations = await server.ask("operationList", { as: owner, params: { org: "acme" } });
    expect(operations.json.items).toMatchObject([
      { kind: "database.provision", target: "cloud://acme:main", state: "succeeded", actor: "system" },
    ]);
  });

  test("is made for any organization that lacks it, once, by concurrent reconcilers", async () => {
    for (const name of ["a", "b", "c"]) await makeOrg(server, owner, name);
    await using other = await openServer({ beside: server });
    await using _one = await reconcile();
    await using _two = await reconcile(other);
    await eventually(async () => expect(await made()).toEqual([done("a"), done("b"), done("c")]));
    expect(await findMissingMains(server.deps.db)).toBe(0);
  });

  test("is made once by concurrent jobs", async () => {
    const org = await makeOrg(server, owner, "acme");
    await Promise.all([1, 2, 3].map(() => provisionMain(server.deps, org.id)));
    await provisionMain(server.deps, org.id);
    await using _reconciler = await reconcile();
    await eventually(async () => expect(await made()).toEqual([done("acme")]));
  });

  test("is not made above the quota", async () => {
    const org = await makeOrg(server, owner, "acme");
    const names = ["a", "b", "c"].map((name) => ({ org_id: org.id, name }));
    await server.deps.db.insertInto("control.databases").values(names).execute();
    expect(await findMissingMains(server.deps.db)).toBe(0);
    await provisionMain(server.deps, org.id);
    expect(await made()).toEqual([{ org: "acme", database: null, operation: null, events: null }]);
    await provisionMain(server.deps, "00000000-0000-0000-0000-000000000000");
  });

  test("is made after PostgreSQL closed a connection", async () => {
    await using _reconciler = await reconcile();
    const org = await makeOrg(server, owner, "acme");
    await server.deps.pool.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()",
    );
    await eventually(() => enqueueProvisionMain(server.deps.db, org.id));
    await eventually(async () => expect(await made()).toEqual([done("acme")]), { timeout_ms: 25_000 });
  });
});
