import { existsSync, mkdirSync } from "node:fs";
import { eventually } from "@appdb/testkit/eventually";
import { sql } from "kysely";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { databasePaths } from "../../pods/database-paths.ts";
import { findMemoryEnd } from "../../pods/find-memory-end.ts";
import { openServer, type TestServer } from "../../testing/open-server.ts";
import { openTestReconciler, type TestReconciler } from "../../testing/test-reconciler.ts";
import { startReconciler } from "../reconciler.ts";

let server: TestServer;
let setup: TestReconciler;
beforeEach(async () => {
  server = await openServer();
  setup = await openTestReconciler(server);
});
afterEach(() => server[Symbol.asyncDispose]());

test("a pod that ends between its first answer and the record that it serves is started again", async () => {
  const { machine, pod } = setup;
  const list = vi.spyOn(machine.driver, "list");
  const seenEnded = () =>
    list.mock.settledResults.filter(
      ({ type, value }) => type === "fulfilled" && value.some(({ id, state }) => id === pod && state === "exited"),
    ).length;
  let hasEnded = false;
  await using _reconciler = await startReconciler({
    ...server.deps,
    machine,
    pool_options: server.deps.pool.options,
    allow_private: false,
    async reconcileStepDone(step) {
      if (step !== "pod_ready" || hasEnded) return;
      hasEnded = true;
      machine.pods.end(pod);
      // the watch takes the end for a part of the start
      await eventually(() => expect(seenEnded()).toBeGreaterThan(2));
    },
  });
  await eventually(() => expect(machine.pods.starts(pod)).toBe(2));
  expect(await setup.settles("AVAILABLE")).toMatchObject({ restarts: 1, pods: [{ state: "READY" }] });
});

describe("a pod", () => {
  test("that ends is noticed within a second and restarted", async () => {
    await using _reconciler = await setup.start();
    await setup.settles("AVAILABLE");
    // wait until its health was seen
    await eventually(async () => expect((await setup.see()).awake_because).toBe("it never sleeps automatically"));
    setup.machine.pods.end(setup.pod);
    await eventually(async () => expect(setup.machine.pods.starts(setup.pod)).toBe(2));
    expect(await setup.settles("AVAILABLE")).toMatchObject({ restarts: 1 });
    const { rows } =
      await sql`select action, outcome from control.events where action like 'database.%' and operation_id is null
      order by id`.execute(server.deps.db);
    expect(rows).toEqual([
      { action: "database.lost", outcome: "failed" },
      { action: "database.recover", outcome: "succeeded" },
    ]);
  });

  test("that lacked memory says so after its restart", async () => {
    await using _reconciler = await setup.start();
    await setup.settles("AVAILABLE");
    await eventually(async () => expect((await setup.see()).awake_because).toBe("it never sleeps automatically"), {
      timeout_ms: 10_000,
    });
    const find = () => findMemoryEnd(server.deps.db, setup.pod, 0);
    const asked = find();
    setup.machine.pods.end(setup.pod, { signal: "SIGKILL", is_out_of_memory: true });
    expect(await asked).toEqual({ memory_mb: 1_024 });
    await setup.settles("AVAILABLE");
    const pod = await server.deps.db.selectFrom("control.pods").selectAll().executeTakeFirstOrThrow();
    expect(pod).toMatchObject({ state: "READY", reason: null, memory_ended_mb: 1_024 });
    // a request that began before a restart for another reason did not end by it
    await server.deps.db
      .updateTable("control.pods")
      .set({ memory_ended_at: new Date(0) })
      .execute();
    expect(await findMemoryEnd(server.deps.db, setup.pod, 60_000)).toBeUndefined();
  });

  test("that lacked memory while unwatched says so too", async () => {
    {
      await using _reconciler = await setup.start();
      await setup.settles("AVAILABLE");
    }
    setup.machine.pods.end(setup.pod, { signal: "SIGKILL", is_out_of_memory: true });
    await using _reconciler = await setup.start();
    await setup.settles("AVAILABLE");
    expect(await findMemoryEnd(server.deps.db, setup.pod, 60_000)).toEqual({ memory_mb: 1_024 });
  });

  test("is restarted after a power cut, several at once, unless its database sleeps", async () => {
    {
      await using _reconciler = await setup.start();
      await setup.settles("AVAILABLE");
    }
    setup.machine.pods.end(setup.pod);
    await using _reconciler = await setup.start();
    expect((await setup.see()).state).toBe("STARTING");
    await setup.settles("AVAILABLE");
    expect(setup.machine.pods.starts(setup.pod)).toBe(2);
  });

  test("of a deleted database is ended", async () => {
    {
      await using _reconciler = await setup.start();
      await setup.settles("AVAILABLE");
    }
    await server.deps.db.deleteFrom("control.databases").where("id", "=", setup.id).execute();
    await using _reconciler = await setup.start();
    await eventually(() => expect(setup.machine.pods.running()).toEqual([]));
  });

  test("ends with the server and is restarted by the next one; a kept pod continues", async () => {
    const reconciler = await setup.start();
    await setup.settles("AVAILABLE");
    await reconciler.stop("end pods");
    expect(setup.machine.pods.running()).toEqual([]);
    expect((await setup.see()).state).toBe("STARTING");
    const next = await setup.start();
    await setup.settles("AVAILABLE");
    await next.stop("keep pods");
    expect(setup.machine.pods.running()).toEqual([setup.pod]);
    await using _third = await setup.start();
    expect((await setup.see()).state).toBe("AVAILABLE");
    expect(setup.machine.pods.starts(setup.pod)).toBe(2);
  });

  test("leaves no socket folder if the server stops before its start", async () => {
    const { run_folder: runFolder } = databasePaths(setup.machine.paths, setup.id);
    let interrupt: (() => void) | undefined;
    const reconciler = await startReconciler({
      ...server.deps,
      machine: setup.machine,
      pool_options: server.deps.pool.options,
      allow_private: false,
      reconcileStepDone: (step) =>
        new Promise((resolve, reject) => {
          if (step !== "prepared") return resolve();
          interrupt = () => reject(new Error("The server is stopping."));
        }),
    });
    await eventually(() => expect(interrupt).toBeDefined());
    // as a driver leaves it that is killed while it starts a pod
    mkdirSync(runFolder, { mode: 0o700 });
    const stopped = reconciler.stop("end pods");
    interrupt?.();
    await stopped;
    expect(existsSync(runFolder)).toBe(false);
    await using _next = await setup.start();
    await setup.settles("AVAILABLE");
  });
});
