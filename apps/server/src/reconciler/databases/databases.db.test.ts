import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "@appdb/testkit/eventually";
import { sql } from "kysely";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { databasePaths } from "../../pods/database-paths.ts";
import { enqueueJob } from "../../queue/jobs.ts";
import { RESOURCES } from "../../testing/databases.ts";
import { openServer, type TestServer } from "../../testing/open-server.ts";
import { openReconcilerStage, type ReconcilerStage } from "../../testing/reconciler-stage.ts";
import { startReconciler } from "../reconciler.ts";

let server: TestServer;
let stage: ReconcilerStage;
beforeEach(async () => {
  server = await openServer();
  stage = await openReconcilerStage(server);
});
afterEach(() => server[Symbol.asyncDispose]());

const HASH = "a".repeat(64);
const OTHER_HASH = "b".repeat(64);
const TREE = "c".repeat(64);

describe("a database", () => {
  test("that was declared becomes AVAILABLE with the base library", async () => {
    await using _reconciler = await stage.start();
    const seen = await stage.settles("AVAILABLE");
    expect(seen).toMatchObject({
      operations: ["database.provision succeeded"],
      observed: { tree: null, environment: null, resources: RESOURCES },
      pods: [{ state: "READY", reason: null }],
      observed_generation: seen.generation,
    });
    const told = stage.machine.pods.specOf(stage.pod);
    expect(told).toMatchObject({ role: "database", database_id: stage.id, resources: RESOURCES, notices: [] });
    expect(existsSync(told.runtime.project_root)).toBe(true);
    expect(told.token.length).toBeGreaterThan(40);
    const { rows } = await sql`select from control.databases where id = ${stage.id} and (sealed_pod_token is null
      or encode(sealed_pod_token, 'escape') like ${`%${told.token}%`})`.execute(server.deps.db);
    expect(rows).toEqual([]);
  });

  test("that is updated runs the new image, files and size after one restart", async () => {
    await using _reconciler = await stage.start();
    await stage.settles("AVAILABLE");
    await stage.storeEnvironment(HASH);
    stage.machine.build({ outcome: "succeeds", lines: ["\x1b[1mPrepared\x1b[0m six", "Installed six==1.17.0"] });
    const resources = { cpu: 2, memory_mb: 2_048, disk_gb: 20, workers: 3 };
    const operation = await stage.ask("update", { environment: HASH, tree: TREE, resources });
    const seen = await stage.settles("AVAILABLE");
    expect(seen).toMatchObject({
      observed: { environment: HASH, tree: TREE, resources },
      last_build: { state: "succeeded", error: null },
      operations: ["database.provision succeeded", "database.update succeeded"],
      observed_generation: seen.generation,
    });
    expect(stage.machine.pods.starts(stage.pod)).toBe(2);
    const told = stage.machine.pods.specOf(stage.pod);
    expect(existsSync(join(told.files_folder, TREE))).toBe(true);
    expect(told.limits.workers).toBe(3);
    const { rows } = await sql`select number, line from control.operation_lines
      where operation_id = ${operation} order by number`.execute(server.deps.db);
    expect(rows).toEqual([
      { number: 1, line: "Prepared six" },
      { number: 2, line: "Installed six==1.17.0" },
    ]);
  });

  test("is built once for an environment, and again on request", async () => {
    await using _reconciler = await stage.start();
    await stage.settles("AVAILABLE");
    for (const hash of [HASH, OTHER_HASH]) await stage.storeEnvironment(hash);
    for (const environment of [HASH, OTHER_HASH, HASH]) {
      await stage.ask("update", { environment });
      await stage.settles("AVAILABLE");
    }
    expect(stage.machine.builds()).toBe(2);
    await stage.ask("build_image");
    expect(await stage.settles("AVAILABLE")).toMatchObject({ last_build: { state: "succeeded" } });
    expect(stage.machine.builds()).toBe(3);
    expect(stage.machine.pods.starts(stage.pod)).toBe(5);
  });

  test("keeps running when a build fails, and a restart does not apply the update", async () => {
    await using _reconciler = await stage.start();
    await stage.settles("AVAILABLE");
    await stage.storeEnvironment(HASH);
    stage.machine.build({ outcome: "fails" });
    await stage.ask("update", { environment: HASH });
    expect(await stage.settles("AVAILABLE")).toMatchObject({
      failure: null,
      last_build: {
        state: "failed",
        error: { code: "build_failed", hint: `Run: cli db update cloud://${stage.org.name}:data` },
      },
      observed: { environment: null },
      operations: ["database.provision succeeded", "database.update failed"],
    });
    expect(stage.machine.pods.starts(stage.pod)).toBe(1);
    await stage.ask("restart");
    expect(await stage.settles("AVAILABLE")).toMatchObject({ observed: { environment: null, restarts: 1 } });
    expect([stage.machine.pods.starts(stage.pod), stage.machine.builds()]).toEqual([2, 1]);
    stage.machine.build({ outcome: "succeeds" });
    await stage.ask("build_image");
    expect(await stage.settles("AVAILABLE")).toMatchObject({
      observed: { environment: HASH },
      last_build: { state: "succeeded" },
    });
  });

  test("runs its previous image when the server restarts during a build", async () => {
    const reconciler = await stage.start();
    await stage.settles("AVAILABLE");
    await stage.storeEnvironment(HASH);
    stage.machine.build({ outcome: "hangs" });
    await stage.ask("update", { environment: HASH });
    await eventually(() => expect(stage.machine.builds()).toBe(1));
    await reconciler.stop("end pods");
    expect(stage.machine.pods.running()).toEqual([]);
    {
      await using _restarted = await stage.start();
      await eventually(() => expect(stage.machine.builds()).toBe(2), { timeout_ms: 5_000 });
      await eventually(() => expect(stage.machine.pods.running()).toEqual([stage.pod]), { timeout_ms: 5_000 });
      expect(await stage.see()).toMatchObject({
        state: "UPDATING",
        observed: { environment: null },
        last_build: { state: "running" },
        pods: [{ state: "READY" }],
      });
      stage.machine.pods.end(stage.pod);
      await eventually(() => expect(stage.machine.pods.running()).toEqual([stage.pod]), { timeout_ms: 10_000 });
    }
    stage.machine.build({ outcome: "succeeds" });
    await using _again = await stage.start();
    expect(await stage.settles("AVAILABLE")).toMatchObject({
      observed: { environment: HASH },
      operations: ["database.provision succeeded", "database.update succeeded"],
    });
    expect(stage.machine.pods.running()).toEqual([stage.pod]);
  });

  test("continues an update whose previous image cannot be started during the build", async () => {
    const reconciler = await stage.start();
    await stage.settles("AVAILABLE");
    await stage.storeEnvironment(HASH);
    stage.machine.build({ outcome: "hangs" });
    await stage.ask("update", { environment: HASH });
    await eventually(() => expect(stage.machine.builds()).toBe(1));
    await reconciler.stop("end pods");
    stage.machine.build({ outcome: "succeeds" });
    stage.machine.pods.behave({ start: "exits", times: 1 });
    await using _restarted = await stage.start();
    expect(await stage.settles("AVAILABLE")).toMatchObject({ observed: { environment: HASH }, failure: null });
  });

  test("is FAILED after its first build fails, and runs after a successful one", async () => {
    await stage.storeEnvironment(HASH);
    stage.machine.build({ outcome: "breaks" });
    await stage.server.deps.db
      .updateTable("control.databases")
      .set({ desired: sql`desired || ${JSON.stringify({ environment: HASH })}::jsonb` })
      .where("id", "=", stage.id)
      .execute();
    await using _reconciler = await stage.start();
    const seen = await stage.settles("FAILED");
    expect(seen).toMatchObject({ failure: { code: "internal_error" }, observed: null });
    expect(JSON.stringify(seen)).not.toContain("secret");
    stage.machine.build({ outcome: "succeeds" });
    await stage.ask("build_image");
    expect(await stage.settles("AVAILABLE")).toMatchObject({ failure: null, observed: { environment: HASH } });
  });

  test("sleeps without a pod, keeps its data, and wakes with new secrets", async () => {
    await using _reconciler = await stage.start();
    await stage.settles("AVAILABLE");
    const { token } = stage.machine.pods.specOf(stage.pod);
    await stage.ask("stop");
    expect(await stage.settles("STOPPED")).toMatchObject({ pods: [], awake_because: null });
    expect(stage.machine.pods.running()).toEqual([]);
    const params = { org: stage.org.name };
    for (const [name, value] of [
      ["OPENAI_API_KEY", "sk-1"],
      ["LD_PRELOAD", "/tmp/evil.so"],
      ["PYTHONSTARTUP", "x"],
    ]) {
      const set = await server.ask("secretSet", {
        as: stage.owner,
        params: { ...params, name },
        body: { value },
      } as never);
      expect(set.status).toBeLessThan(300);
    }
    await stage.ask("start");
    await stage.settles("AVAILABLE");
    const told = stage.machine.pods.specOf(stage.pod);
    expect(told.token).toBe(token);
    expect(told.runtime.env).toMatchObject({ OPENAI_API_KEY: "sk-1" });
    expect(Object.keys(told.runtime.env)).not.toEqual(expect.arrayContaining([expect.stringMatching(/^(LD_|PYTHON)/)]));
    expect(told.notices).toEqual([expect.stringContaining("LD_PRELOAD"), expect.stringContaining("PYTHONSTARTUP")]);
  });

  test("falls asleep after its idle time, unless it is busy", async () => {
    await server.deps.db
      .updateTable("control.databases")
      .set({ desired: sql`jsonb_set(desired, '{settings,sleep_after}', '"90s"')` })
      .where("id", "=", stage.id)
      .execute();
    await using _reconciler = await stage.start();
    await stage.settles("AVAILABLE");
    stage.machine.pods.say(stage.pod, { busy: "2 connections", idle_ms: 3_600_000 });
    await eventually(async () => expect((await stage.see()).awake_because).toBe("2 connections"), {
      timeout_ms: 10_000,
    });
    stage.machine.pods.say(stage.pod, { busy: null, idle_ms: 10_000 });
    await eventually(async () => expect((await stage.see()).awake_because).toBe("idle; sleeps in 2m"), {
      timeout_ms: 10_000,
    });
    stage.machine.pods.say(stage.pod, { idle_ms: 91_000 });
    expect(await stage.settles("STOPPED")).toMatchObject({
      operations: expect.arrayContaining(["database.stop succeeded"]),
    });
    const { rows } = await sql`select actor, detail from control.operations where kind = 'database.stop'`.execute(
      server.deps.db,
    );
    expect(rows).toEqual([{ actor: "system", detail: "it was idle for 90s" }]);
  });

  test("is deleted, undeleted, and then deleted with its files, secrets and row", async () => {
    await using _reconciler = await stage.start();
    await stage.settles("AVAILABLE");
    const { data_folder: dataFolder, files_folder: filesFolder } = stage.machine.pods.specOf(stage.pod);
    await stage.ask("delete");
    await stage.settles("DELETING");
    expect([stage.machine.pods.running(), existsSync(dataFolder)]).toEqual([[], true]);
    await stage.ask("undelete");
    await stage.settles("STOPPED");
    await stage.ask("start");
    await stage.settles("AVAILABLE");
    await stage.ask("delete", {}, { is_now: true });
    expect(await stage.settles(undefined)).toMatchObject({
      operations: expect.arrayContaining(["database.delete succeeded"]),
    });
    expect([existsSync(dataFolder), existsSync(filesFolder)]).toEqual([false, false]);
    expect(stage.machine.pods.forgotten()).toEqual([stage.id]);
    const { rows } = await sql`select from control.data_keys where database_id = ${stage.id}`.execute(server.deps.db);
    expect(rows).toEqual([]);
  });

  test("is removed when its undelete period is over", async () => {
    await using _reconciler = await stage.start();
    await stage.settles("AVAILABLE");
    await stage.ask("delete");
    await stage.settles("DELETING");
    await sql`update control.databases set purge_at = now() - interval '1 second' where id = ${stage.id}`.execute(
      server.deps.db,
    );
    await enqueueJob(server.deps.db, "sweep", {}, { key: "sweep" });
    await stage.settles(undefined);
  });
});

describe("a request", () => {
  test("during a build cancels it", async () => {
    await using _reconciler = await stage.start();
    await stage.settles("AVAILABLE");
    await stage.storeEnvironment(HASH);
    stage.machine.build({ outcome: "hangs" });
    await stage.ask("update", { environment: HASH });
    await eventually(() => expect(stage.machine.builds()).toBe(1));
    await stage.ask("delete");
    expect(await stage.settles("DELETING")).toMatchObject({
      operations: ["database.provision succeeded", "database.update cancelled", "database.delete succeeded"],
    });
  });

  test("that is cancelled while it waits for its build changes nothing", async () => {
    await using _reconciler = await stage.start();
    await stage.settles("AVAILABLE");
    await stage.storeEnvironment(HASH);
    stage.machine.build({ outcome: "hangs" });
    const operation = await stage.ask("update", { environment: HASH });
    await eventually(() => expect(stage.machine.builds()).toBe(1));
    await sql`update control.operations set state = 'cancelled', ended_at = now() where id = ${operation}`.execute(
      server.deps.db,
    );
    expect(await stage.settles("AVAILABLE")).toMatchObject({ observed: { environment: null } });
    expect(stage.machine.pods.starts(stage.pod)).toBe(1);
  });

  test("stores why a pod does not start, with its last log lines", async () => {
    stage.machine.pods.behave({ start: "exits", output: "the cluster is of a later version" });
    await using _reconciler = await stage.start();
    const seen = await stage.settles("FAILED");
    expect(seen.failure).toMatchObject({
      code: "pod_failed",
      detail: expect.stringMatching(/did not start: it ended with code 1\. It said last: .*later version/),
    });
    expect(seen.pods).toMatchObject([{ state: "FAILED" }]);
    expect(existsSync(databasePaths(stage.machine.paths, stage.id).run_folder)).toBe(false);
    expect(stage.machine.pods.starts(stage.pod)).toBe(5);
    stage.machine.pods.behave({
      start: "exits",
      exit: { signal: "SIGKILL", code: null, is_out_of_memory: true },
      times: 1,
    });
    await stage.ask("retry");
    expect(await stage.settles("AVAILABLE")).toMatchObject({ failure: null });
  });

  test("reports that memory was short", async () => {
    stage.machine.pods.behave({ start: "exits", exit: { signal: "SIGKILL", code: null, is_out_of_memory: true } });
    await using _reconciler = await stage.start();
    expect((await stage.settles("FAILED")).failure?.detail).toMatch(/needed more than its 1024 MB of memory/);
  });
});

describe("a pod", () => {
  test("that ends is noticed within a second and restarted", async () => {
    await using _reconciler = await stage.start();
    await stage.settles("AVAILABLE");
    // wait until its health was seen
    await eventually(async () => expect((await stage.see()).awake_because).toBe("it never sleeps automatically"), {
      timeout_ms: 10_000,
    });
    stage.machine.pods.end(stage.pod);
    await eventually(async () => expect(stage.machine.pods.starts(stage.pod)).toBe(2));
    expect(await stage.settles("AVAILABLE")).toMatchObject({ restarts: 1 });
    const { rows } =
      await sql`select action, outcome from control.events where action like 'database.%' and operation_id is null
      order by id`.execute(server.deps.db);
    expect(rows).toEqual([
      { action: "database.lost", outcome: "failed" },
      { action: "database.recover", outcome: "succeeded" },
    ]);
  });

  test("is restarted after a power cut, several at once, unless its database sleeps", async () => {
    {
      await using _reconciler = await stage.start();
      await stage.settles("AVAILABLE");
    }
    stage.machine.pods.end(stage.pod);
    await using _reconciler = await stage.start();
    expect((await stage.see()).state).toBe("STARTING");
    await stage.settles("AVAILABLE");
    expect(stage.machine.pods.starts(stage.pod)).toBe(2);
  });

  test("of a deleted database is ended", async () => {
    {
      await using _reconciler = await stage.start();
      await stage.settles("AVAILABLE");
    }
    await server.deps.db.deleteFrom("control.databases").where("id", "=", stage.id).execute();
    await using _reconciler = await stage.start();
    await eventually(() => expect(stage.machine.pods.running()).toEqual([]));
  });

  test("ends with the server and is restarted by the next one; a kept pod continues", async () => {
    const reconciler = await stage.start();
    await stage.settles("AVAILABLE");
    await reconciler.stop("end pods");
    expect(stage.machine.pods.running()).toEqual([]);
    expect((await stage.see()).state).toBe("STARTING");
    const next = await stage.start();
    await stage.settles("AVAILABLE");
    await next.stop("keep pods");
    expect(stage.machine.pods.running()).toEqual([stage.pod]);
    await using _third = await stage.start();
    expect((await stage.see()).state).toBe("AVAILABLE");
    expect(stage.machine.pods.starts(stage.pod)).toBe(2);
  });

  test("leaves no socket folder if the server stops before its start", async () => {
    const { run_folder: runFolder } = databasePaths(stage.machine.paths, stage.id);
    let interrupt: (() => void) | undefined;
    const reconciler = await startReconciler({
      ...server.deps,
      machine: stage.machine,
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
    await using _next = await stage.start();
    await stage.settles("AVAILABLE");
  });
});
