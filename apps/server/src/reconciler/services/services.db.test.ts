import { existsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { eventually } from "@appdb/testkit/eventually";
import { sql } from "kysely";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { databasePaths } from "../../pods/database-paths.ts";
import { serviceFolder, servicePaths } from "../../pods/service-paths.ts";
import { openServer, type TestServer } from "../../testing/open-server.ts";
import { makeKey } from "../../testing/people.ts";
import { openTestReconciler, type TestReconciler } from "../../testing/test-reconciler.ts";
import { openTestService } from "../../testing/test-service.ts";
import { failLostService } from "./fail-service.ts";
import { loadServiceSnapshot } from "./service-resource.ts";

const TREE = "c".repeat(64);
const HASH = "a".repeat(64);
const RESOURCES = { cpu: 2, memory_mb: 2_048, disk_gb: 20, workers: 3 };

let server: TestServer;
let setup: TestReconciler;
beforeEach(async () => {
  server = await openServer();
  setup = await openTestReconciler(server);
});
afterEach(() => server[Symbol.asyncDispose]());

describe("a service", () => {
  test("that is deployed serves its release with the organization's keys", async () => {
    await using _reconciler = await setup.start();
    await setup.settles("AVAILABLE");
    const service = await openTestService(setup);
    expect(await service.settles("AVAILABLE")).toMatchObject({
      observed: { release: 1, restarts: 0, instance: 1 },
      operations: ["service.update succeeded"],
      pods: [{ id: service.pod(1), state: "READY" }],
    });
    const told = setup.machine.pods.toldService(service.pod(1));
    const { run_folder: runFolder } = databasePaths(setup.machine.paths, setup.id);
    const folder = serviceFolder(setup.machine.paths, { id: service.id, database_id: setup.id });
    // the database's pod measures it, possibly as another user
    expect([dirname(folder), folder].map((path) => statSync(path).mode & 0o777)).toEqual([0o755, 0o755]);
    expect(told).toMatchObject({
      role: "service-pod",
      service: "ingest",
      instance: 1,
      database: "data",
      organization: setup.org.name,
      dsn: expect.stringMatching(/[?&]user=svc_[0-9a-f]{12}&password=[\w-]{43}$/),
      resources: { workers: 1 },
    });
    expect(told.token).not.toBe(setup.machine.pods.specOf(setup.pod).token);
    expect(told.run_folder).not.toBe(runFolder);
    expect(told.last_keys).toBeDefined();
    expect((await setup.see()).operations).toEqual(["database.provision succeeded"]);
  });

  test("that is updated always has a serving instance, and the previous one finishes its requests", async () => {
    await using _reconciler = await setup.start();
    await setup.settles("AVAILABLE");
    const service = await openTestService(setup);
    await service.settles("AVAILABLE");
    setup.machine.pods.say(service.pod(1), { in_flight: 1 });
    await service.ask("update", { tree: TREE, workers: 2 });
    const looked: unknown[] = [];
    await eventually(async () => {
      const seen = await service.see();
      const running = setup.machine.pods.running();
      looked.push(seen?.observed?.instance);
      expect(running).toContain(service.pod(seen?.observed?.instance ?? 0));
      expect(seen?.state).toMatch(/UPDATING|AVAILABLE/);
      expect(seen?.observed?.release).toBe(2);
    });
    // the operation ends when the new one serves; the previous one still answers
    expect(await service.see()).toMatchObject({ state: "AVAILABLE", open: 0, observed: { release: 2, instance: 2 } });
    expect(setup.machine.pods.running()).toEqual(expect.arrayContaining([service.pod(1), service.pod(2)]));
    expect(new Set(looked)).not.toContain(undefined);
    expect(setup.machine.pods.toldService(service.pod(2))).toMatchObject({
      limits: { workers: 2 },
      runtime: { project_root: expect.stringContaining(TREE) },
    });
    setup.machine.pods.say(service.pod(1), { in_flight: 0 });
    expect(await service.settles("AVAILABLE")).toMatchObject({ pods: [{ id: service.pod(2) }] });
    const { run_folder: runFolder, scratch_folder: scratchFolder } = servicePaths(
      setup.machine.paths,
      { id: service.id, database_id: setup.id },
      1,
    );
    expect([runFolder, scratchFolder].filter(existsSync)).toEqual([]);
  });

  test("keeps running when its new instance never serves, and shows the last log lines", async () => {
    await using _reconciler = await setup.start();
    await setup.settles("AVAILABLE");
    const service = await openTestService(setup);
    await service.settles("AVAILABLE");
    setup.machine.pods.behave({ start: "exits", output: "ModuleNotFoundError: No module named 'tiny'" });
    await service.ask("update", { tree: TREE });
    const seen = await service.settles("AVAILABLE");
    expect(seen).toMatchObject({
      observed: { release: 1, instance: 1 },
      desired: { release: 1, is_running: true },
      failure: null,
      operations: ["service.update succeeded", "service.update failed"],
      pods: [{ id: service.pod(1) }],
    });
    expect(seen.errors.at(-1)?.detail).toMatch(
      /data\/ingest did not start: it ended with code 1\..*\n.*No module named 'tiny'/,
    );
    expect(seen.errors.at(-1)?.hint).toMatch(/cli deploy <app_file> cloud:\/\/[\w-]+:\w+$/);
    // a rollback needs a release that has served
    const { rows } = await sql`select number, served_at is not null as has_served from control.releases
      where service_id = ${service.id} order by number`.execute(server.deps.db);
    expect(rows).toEqual([
      { number: 1, has_served: true },
      { number: 2, has_served: false },
    ]);
    setup.machine.pods.behave({});
    await service.ask("update", { environment: HASH });
    expect((await service.settles("AVAILABLE")).errors.at(-1)).toMatchObject({ code: "image_missing" });
    await service.ask("restart");
    expect(await service.settles("AVAILABLE")).toMatchObject({ observed: { release: 1, restarts: 1 } });
  });

  test("is FAILED when its first instance never serves, and serves once it is fixed", async () => {
    await using _reconciler = await setup.start();
    await setup.settles("AVAILABLE");
    setup.machine.pods.behave({ start: "exits", output: "SyntaxError: invalid syntax" });
    const service = await openTestService(setup);
    expect(await service.settles("FAILED")).toMatchObject({
      failure: { code: "pod_failed", detail: expect.stringContaining("SyntaxError") },
      observed: null,
      operations: ["service.update failed"],
      pods: [{ state: "FAILED" }],
    });
    setup.machine.pods.behave({});
    await service.ask("update");
    expect(await service.settles("AVAILABLE")).toMatchObject({ failure: null, pods: [{ state: "READY" }] });
  });

  test("is stopped, restarted with new secrets, and removed with its folder", async () => {
    await using _reconciler = await setup.start();
    await setup.settles("AVAILABLE");
    const service = await openTestService(setup);
    await service.settles("AVAILABLE");
    await service.ask("stop");
    expect(await service.settles("STOPPED")).toMatchObject({ observed: null, pods: [] });
    expect(setup.machine.pods.running()).toEqual([setup.pod]);
    const params = { org: setup.org.name, name: "OPENAI_API_KEY" };
    await server.ask("secretSet", { as: setup.owner, params, body: { value: "sk-1" } } as never);
    await service.ask("restart");
    const { observed } = await service.settles("AVAILABLE");
    expect(setup.machine.pods.toldService(service.pod(observed?.instance ?? 0)).runtime.env).toMatchObject({
      OPENAI_API_KEY: "sk-1",
    });
    expect(setup.machine.roles()).toEqual([service.id]);
    await service.ask("prune");
    await service.settles(undefined);
    expect(setup.machine.pods.running()).toEqual([setup.pod]);
    expect(setup.machine.roles()).toEqual([]);
    expect(existsSync(serviceFolder(setup.machine.paths, { id: service.id, database_id: setup.id }))).toBe(false);
    const { rows } = await sql`select kind, state from control.operations where kind = 'service.prune'`.execute(
      server.deps.db,
    );
    expect(rows).toEqual([{ kind: "service.prune", state: "succeeded" }]);
  });
});

describe("the services of a database", () => {
  test("has a new instance when its database has other memory", async () => {
    await using _reconciler = await setup.start();
    await setup.settles("AVAILABLE");
    const service = await openTestService(setup);
    await service.settles("AVAILABLE");
    const before = setup.machine.pods.toldService(service.pod(1)).limits;
    await setup.ask("update", { resources: RESOURCES });
    await setup.settles("AVAILABLE");
    await eventually(async () => expect(await service.see()).toMatchObject({ observed: { instance: 2, restarts: 1 } }));
    expect(await service.settles("AVAILABLE")).toMatchObject({ pods: [{ id: service.pod(2), state: "READY" }] });
    expect(setup.machine.pods.toldService(service.pod(2)).limits).not.toEqual(before);
    // what its services do not have does not renew them
    await setup.ask("update", { resources: { ...RESOURCES, disk_gb: 30 } });
    await setup.settles("AVAILABLE");
    expect(await service.settles("AVAILABLE")).toMatchObject({ observed: { instance: 2, restarts: 1 } });
  });

  test("that failed starts again when its database has other memory", async () => {
    await using _reconciler = await setup.start();
    await setup.settles("AVAILABLE");
    setup.machine.pods.behave({ start: "exits" });
    const service = await openTestService(setup);
    await service.settles("FAILED");
    setup.machine.pods.behave({});
    await setup.ask("update", { resources: RESOURCES });
    expect(await service.settles("AVAILABLE")).toMatchObject({ failure: null, pods: [{ state: "READY" }] });
  });

  test("stop before PostgreSQL and start with it, except stopped ones", async () => {
    await using _reconciler = await setup.start();
    await setup.settles("AVAILABLE");
    const [one, two] = [await openTestService(setup, "one"), await openTestService(setup, "two")];
    for (const service of [one, two]) await service.settles("AVAILABLE");
    await two.ask("stop");
    await two.settles("STOPPED");
    await setup.ask("restart");
    await setup.settles("AVAILABLE");
    expect(setup.machine.pods.starts(one.pod(1))).toBe(1);
    const before = setup.machine.pods.ends().length;
    setup.machine.pods.say(one.pod(1), { in_flight: 1 });
    await setup.ask("stop");
    await eventually(() => expect(setup.machine.pods.isDraining(one.pod(1))).toBe(true));
    expect(setup.machine.pods.ends().slice(before)).toEqual([]);
    // its running requests have ended
    setup.machine.pods.say(one.pod(1), { in_flight: 0 });
    await setup.settles("STOPPED");
    expect(setup.machine.pods.ends().slice(before)).toEqual([one.pod(1), setup.pod]);
    expect(await one.settles("STOPPED")).toMatchObject({ desired: { is_running: true }, observed: null, pods: [] });
    await setup.ask("start");
    await setup.settles("AVAILABLE");
    expect(await one.settles("AVAILABLE")).toMatchObject({ observed: { instance: 2 } });
    expect((await two.see())?.state).toBe("STOPPED");
    await setup.ask("delete", {}, { is_now: true });
    await setup.settles(undefined);
    await eventually(() => expect(setup.machine.pods.running()).toEqual([]));
  });

  test("start concurrently with it, serve after it, and end with one that fails permanently", async () => {
    await using _reconciler = await setup.start();
    await setup.settles("AVAILABLE");
    const { pods } = setup.machine;
    const service = await openTestService(setup);
    await service.settles("AVAILABLE");
    const startSilently = async (instance: number) => {
      await setup.ask("stop");
      await setup.settles("STOPPED");
      pods.behave({ start: "silent", times: 1 });
      await setup.ask("start");
      await eventually(() => expect(pods.running().sort()).toEqual([setup.pod, service.pod(instance)].sort()));
      expect([(await setup.see()).state, (await service.see())?.state]).toEqual(["STARTING", "STARTING"]);
    };
    await startSilently(2);
    pods.end(setup.pod);
    await setup.settles("AVAILABLE");
    expect(await service.settles("AVAILABLE")).toMatchObject({ observed: { instance: 2 } });
    expect(pods.starts(service.pod(2))).toBe(1);
    await startSilently(3);
    pods.behave({ start: "exits" });
    pods.end(setup.pod);
    await setup.settles("FAILED");
    expect(await service.settles("STOPPED")).toMatchObject({ desired: { is_running: true }, observed: null, pods: [] });
    await eventually(() => expect(pods.running()).toEqual([]));
  });

  test("keep it awake while they answer, and get key changes", async () => {
    await server.deps.db
      .updateTable("control.databases")
      .set({ desired: sql`jsonb_set(desired, '{settings,sleep_after}', '"90s"')` })
      .where("id", "=", setup.id)
      .execute();
    await using _reconciler = await setup.start();
    await setup.settles("AVAILABLE");
    const service = await openTestService(setup);
    await service.settles("AVAILABLE");
    const { last_keys: lastKeys } = setup.machine.pods.toldService(service.pod(1));
    await makeKey(server, setup.org, setup.owner, { name: "ci", grants: [] });
    await eventually(() => expect(setup.machine.pods.toldService(service.pod(1)).last_keys).not.toBe(lastKeys));
    setup.machine.pods.say(service.pod(1), { in_flight: 2 });
    setup.machine.pods.say(setup.pod, { busy: null, idle_ms: 3_600_000 });
    await eventually(async () => expect((await setup.see()).awake_because).toBe("2 requests run"));
    setup.machine.pods.say(service.pod(1), { in_flight: 0, idle_ms: 91_000 });
    expect(await setup.settles("STOPPED")).toMatchObject({ pods: [] });
  });
});

describe("the pod of a service", () => {
  test("is restarted unchanged; after repeated ends it is FAILED until a retry", async () => {
    await using _reconciler = await setup.start();
    await setup.settles("AVAILABLE");
    const service = await openTestService(setup);
    await service.settles("AVAILABLE");
    setup.machine.pods.end(service.pod(1));
    await eventually(() => expect(setup.machine.pods.starts(service.pod(1))).toBe(2));
    expect(await service.settles("AVAILABLE")).toMatchObject({
      observed: { instance: 1 },
      pods: [{ restarts: 1 }],
      events: [
        "service.update pending",
        "service.update succeeded",
        "service.lost failed",
        "service.recover succeeded",
      ],
    });
    expect((await setup.see()).state).toBe("AVAILABLE");
    const seen = await loadServiceSnapshot(server.deps.db, service.id);
    if (seen === undefined) throw new Error("The service does not exist.");
    const givenUp = { pod_id: service.pod(1), reason: "it ended with code 1" };
    expect(await failLostService({ ...server.deps, machine: setup.machine }, seen, givenUp)).toBe(true);
    expect(await service.settles("FAILED")).toMatchObject({
      failure: { code: "pod_failed", detail: expect.stringContaining("repeatedly") },
      pods: [{ id: service.pod(1), state: "FAILED" }],
    });
    await service.ask("retry");
    expect(await service.settles("AVAILABLE")).toMatchObject({ failure: null, pods: [{ id: service.pod(2) }] });
  });

  test("is restarted by the next server without a common version of the link", async () => {
    const first = await setup.start();
    await setup.settles("AVAILABLE");
    const service = await openTestService(setup);
    await service.settles("AVAILABLE");
    await first.stop("keep pods");
    setup.machine.pods.say(service.pod(1), { link_versions: [] });
    await using _second = await setup.start();
    await eventually(() => expect(setup.machine.pods.starts(service.pod(1))).toBe(2));
    expect(await service.settles("AVAILABLE")).toMatchObject({ observed: { instance: 1 } });
    expect(setup.machine.pods.starts(setup.pod)).toBe(1);
  });

  test("that is replaced as the server starts again leaves no row of its previous instance", async () => {
    const first = await setup.start();
    await setup.settles("AVAILABLE");
    const service = await openTestService(setup);
    await service.settles("AVAILABLE");
    await first.stop("end pods");
    await service.ask("update");
    const second = await setup.start();
    const { observed } = await service.settles("AVAILABLE");
    expect(observed?.instance).toBeGreaterThan(1);
    const serving = { id: service.pod(observed?.instance ?? 0), state: "READY" };
    await eventually(async () => expect((await service.see())?.pods).toMatchObject([serving]));
    // earlier versions left such rows
    await second.stop("keep pods");
    const left = { id: service.pod(1), database_id: setup.id, kind: "service", state: "NOT_READY" } as const;
    await server.deps.db.insertInto("control.pods").values(left).execute();
    await using _third = await setup.start();
    await eventually(async () => expect((await service.see())?.pods).toMatchObject([serving]));
  });

  test("survives a killed server, ends with a stopped one, and is started by the next", async () => {
    const first = await setup.start();
    await setup.settles("AVAILABLE");
    const service = await openTestService(setup);
    await service.settles("AVAILABLE");
    await first.stop("keep pods");
    const second = await setup.start();
    expect(await service.see()).toMatchObject({ state: "AVAILABLE" });
    expect(setup.machine.pods.starts(service.pod(1))).toBe(1);
    await second.stop("end pods");
    expect(setup.machine.pods.running()).toEqual([]);
    const third = await setup.start();
    await service.settles("AVAILABLE");
    await third.stop("keep pods");
    await server.deps.db.deleteFrom("control.services").execute();
    await using _fourth = await setup.start();
    await eventually(() => expect(setup.machine.pods.running()).toEqual([setup.pod]));
  });
});
