import { eventually } from "@appdb/testkit/eventually";
import { sql } from "kysely";
import { afterEach, beforeEach, expect, test } from "vitest";
import { AT_ONCE } from "../../queue/shares.ts";
import { openServer, type TestServer } from "../../testing/open-server.ts";
import { openTestReconciler, type TestReconciler } from "../../testing/test-reconciler.ts";
import { openTestService, type TestService } from "../../testing/test-service.ts";

let server: TestServer;
let setup: TestReconciler;
beforeEach(async () => {
  server = await openServer();
  setup = await openTestReconciler(server);
});
afterEach(() => server[Symbol.asyncDispose]());

/** A service whose first instance has an open stream. */
async function openStreaming(name: string): Promise<TestService> {
  const service = await openTestService(setup, name);
  await service.settles("AVAILABLE");
  setup.machine.pods.say(service.pod(1), { in_flight: 1 });
  return service;
}

/**
 * Streams are cut a minute after their instance began to drain, and a busy machine updates many services for longer. The
 * start is in the past: the reconciler cuts those with one in the future of its statement.
 */
const keepStreams = async () => {
  await sql`update control.pods set draining_since = now() - interval '5 seconds' where draining_since is not null`.execute(
    server.deps.db,
  );
};

const countLocked = async () => {
  const { rows } = await sql`select from control.jobs where lease is not null`.execute(server.deps.db);
  return rows.length;
};

test("updates with open streams occupy no worker, and instances serve until their streams end", {
  timeout: 180_000,
}, async () => {
  await using _reconciler = await setup.start();
  await setup.settles("AVAILABLE");
  const { pods } = setup.machine;
  const streaming: TestService[] = [];
  for (let at = 0; at < AT_ONCE.services; at += 1) streaming.push(await openStreaming(`s${at}`));
  const other = await openTestService(setup, "other");
  await other.settles("AVAILABLE");
  for (const service of streaming) await service.ask("update");
  // they are updated at once, and a busy machine takes long for all
  const patient = { timeout_ms: 90_000 };
  for (const service of streaming) {
    const isUpdated = { observed: { instance: 2 }, open: 0 };
    await eventually(async () => {
      await keepStreams();
      expect(await service.see()).toMatchObject(isUpdated);
    }, patient);
    await eventually(() => expect(pods.isDraining(service.pod(1))).toBe(true));
  }
  // all streams are open, and no job waits for one
  expect(pods.running()).toEqual(expect.arrayContaining(streaming.map((service) => service.pod(1))));
  await eventually(async () => {
    await keepStreams();
    expect(await countLocked()).toBe(0);
  }, patient);
  await other.ask("update");
  await other.settles("AVAILABLE");
  expect(pods.running()).toEqual(expect.arrayContaining(streaming.map((service) => service.pod(1))));
  for (const service of streaming) pods.say(service.pod(1), { in_flight: 0 });
  for (const service of streaming) {
    expect(await service.settles("AVAILABLE")).toMatchObject({ pods: [{ id: service.pod(2) }] });
  }
});

test("an endless stream is cut after its time, even by another reconciler", async () => {
  const first = await setup.start();
  await setup.settles("AVAILABLE");
  const service = await openStreaming("ingest");
  await service.ask("update");
  await eventually(() => expect(setup.machine.pods.isDraining(service.pod(1))).toBe(true));
  await first.stop("keep pods");
  await sql`update control.pods set draining_since = now() - interval '61 seconds' where draining_since is not null`.execute(
    server.deps.db,
  );
  expect(setup.machine.pods.running()).toContain(service.pod(1));
  await using _second = await setup.start();
  expect(await service.settles("AVAILABLE")).toMatchObject({ pods: [{ id: service.pod(2) }] });
  expect(setup.machine.pods.running().sort()).toEqual([setup.pod, service.pod(2)].sort());
});

test("stopping a database with open streams occupies no worker, and ends after their time", async () => {
  await using _reconciler = await setup.start();
  await setup.settles("AVAILABLE");
  const service = await openStreaming("ingest");
  await setup.ask("stop");
  await eventually(() => expect(setup.machine.pods.isDraining(service.pod(1))).toBe(true));
  await eventually(async () => expect(await countLocked()).toBe(0));
  expect(await setup.see()).toMatchObject({ state: "STOPPING", open: 1, jobs: 1 });
  expect(setup.machine.pods.running()).toContain(service.pod(1));
  await sql`update control.operations set started_at = now() - interval '21 seconds' where state = 'running'`.execute(
    server.deps.db,
  );
  await setup.settles("STOPPED");
  expect(setup.machine.pods.running()).toEqual([]);
});
