import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "@appdb/testkit/eventually";
import { afterEach, beforeEach, expect, test } from "vitest";
import { SERVER_PATHS } from "../config.ts";
import { type Reconciler, startReconciler } from "../reconciler/reconciler.ts";
import { openServer, type TestServer } from "../testing/open-server.ts";
import { makePerson } from "../testing/people.ts";
import { openMachine } from "./open-machine.ts";

const START_MS = 30_000;

let server: TestServer;
beforeEach(async () => {
  server = await openServer({ env: { SERVICE_DATABASE_QUOTA: "3" } });
});
afterEach(() => server[Symbol.asyncDispose]());

async function start(): Promise<Reconciler> {
  const { deps } = server;
  const machine = await openMachine({ ...deps, config: { ...deps.config, home: server.home } });
  return await startReconciler({ ...deps, machine, pool_options: deps.pool.options, allow_private: false });
}

test("an organization's main database answers, sleeps, wakes and ends with the server, which leaves no process", async () => {
  const reconciler = await start();
  try {
    const owner = await makePerson(server);
    const made = await server.ask("orgCreate", { as: owner, body: { name: "acme" } } as never);
    expect(made.status).toBe(201);
    const params = { org: "acme", db: "main" };
    const show = async () => (await server.ask("databaseShow", { as: owner, params })).json;
    const becomes = (state: string) =>
      eventually(async () => expect(await show()).toMatchObject({ state, operation: null }), { timeout_ms: START_MS });
    await becomes("AVAILABLE");
    const pods = join(server.home, SERVER_PATHS.pods);
    expect(readdirSync(pods).filter((name) => name.startsWith("db-"))).toHaveLength(1);
    await server.ask("databaseStop", { as: owner, params } as never);
    await becomes("STOPPED");
    expect(readdirSync(pods).filter((name) => name.startsWith("db-"))).toEqual([]);
    await server.ask("databaseStart", { as: owner, params } as never);
    await becomes("AVAILABLE");
    expect((await show()).pods).toMatchObject([{ kind: "database", state: "READY" }]);
  } finally {
    await reconciler.stop("end pods");
  }
  expect(existsSync(join(server.home, SERVER_PATHS.databases))).toBe(true);
});
