import { existsSync } from "node:fs";
import { join } from "node:path";
import { appError } from "@appdb/contract/errors";
import { eventually } from "@appdb/testkit/eventually";
import { sql } from "kysely";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { databasePaths } from "../../pods/database-paths.ts";
import { enqueueJob } from "../../queue/jobs.ts";
import type { MediaBucket } from "../../storage/media-bucket.ts";
import { RESOURCES } from "../../testing/databases.ts";
import { openServer, type TestServer } from "../../testing/open-server.ts";
import { openTestReconciler, type TestReconciler } from "../../testing/test-reconciler.ts";

let server: TestServer;
let setup: TestReconciler;
beforeEach(async () => {
  server = await openServer();
  setup = await openTestReconciler(server);
});
afterEach(() => server[Symbol.asyncDispose]());

const HASH = "a".repeat(64);
const OTHER_HASH = "b".repeat(64);
const TREE = "c".repeat(64);

describe("a database", () => {
  test("that was declared becomes AVAILABLE with the base library", async () => {
    await using _reconciler = await setup.start();
    const seen = await setup.settles("AVAILABLE");
    expect(seen).toMatchObject({
      operations: ["database.provision succeeded"],
      observed: { tree: null, environment: null, resources: RESOURCES },
      pods: [{ state: "READY", reason: null }],
      observed_generation: seen.generation,
    });
    const told = setup.machine.pods.specOf(setup.pod);
    expect(told).toMatchObject({ role: "database", database_id: setup.id, resources: RESOURCES, notices: [] });
    expect(existsSync(told.runtime.project_root)).toBe(true);
    expect(told.token.length).toBeGreaterThan(40);
    const { rows } = await sql`select from control.databases where id = ${setup.id} and (sealed_pod_token is null
      or encode(sealed_pod_token, 'escape') like ${`%${told.token}%`})`.execute(server.deps.db);
    expect(rows).toEqual([]);
  });

  test("that is updated runs the new image, files and size after one restart", async () => {
    await using _reconciler = await setup.start();
    await setup.settles("AVAILABLE");
    await setup.storeEnvironment(HASH);
    setup.machine.build({ outcome: "succeeds", lines: ["\x1b[1mPrepared\x1b[0m six", "Installed six==1.17.0"] });
    const resources = { cpu: 2, memory_mb: 2_048, disk_gb: 20, workers: 3 };
    const operation = await setup.ask("update", { environment: HASH, tree: TREE, resources });
    const seen = await setup.settles("AVAILABLE");
    expect(seen).toMatchObject({
      observed: { environment: HASH, tree: TREE, resources },
      last_build: { state: "succeeded", error: null },
      operations: ["database.provision succeeded", "database.update succeeded"],
      observed_generation: seen.generation,
    });
    expect(setup.machine.pods.starts(setup.pod)).toBe(2);
    const told = setup.machine.pods.specOf(setup.pod);
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
    await using _reconciler = await setup.start();
    await setup.settles("AVAILABLE");
    for (const hash of [HASH, OTHER_HASH]) await setup.storeEnvironment(hash);
    for (const environment of [HASH, OTHER_HASH, HASH]) {
      await setup.ask("update", { environment });
      await setup.settles("AVAILABLE");
    }
    expect(setup.machine.builds()).toBe(2);
    await setup.ask("build_image");
    expect(await setup.settles("AVAILABLE")).toMatchObject({ last_build: { state: "succeeded" } });
    expect(setup.machine.builds()).toBe(3);
    expect(setup.machine.pods.starts(setup.pod)).toBe(5);
  });

  test("keeps running when a build fails, and a restart does not apply the update", async () => {
    await using _reconciler = await setup.start();
    await setup.settles("AVAILABLE");
    await setup.storeEnvironment(HASH);
    setup.machine.build({ outcome: "fails" });
    await setup.ask("update", { environment: HASH });
    expect(await setup.settles("AVAILABLE")).toMatchObject({
      failure: null,
      last_build: {
        state: "failed",
        error: { code: "build_failed", hint: `Run: cli db update cloud://${setup.org.name}:data` },
      },
      observed: { environment: null },
      operations: ["database.provision succeeded", "database.update failed"],
    });
    expect(setup.machine.pods.starts(setup.pod)).toBe(1);
    await setup.ask("restart");
    expect(await setup.settles("AVAILABLE")).toMatchObject({ observed: { environment: null, restarts: 1 } });
    expect([setup.machine.pods.starts(setup.pod), setup.machine.builds()]).toEqual([2, 1]);
    setup.machine.build({ outcome: "succeeds" });
    await setup.ask("build_image");
    expect(await setup.settles("AVAILABLE")).toMatchObject({
      observed: { environment: HASH },
      last_build: { state: "succeeded" },
    });
  });

  test("forgets a failed build when a later update needs none", async () => {
    await using _reconciler = await setup.start();
    await setup.settles("AVAILABLE");
    await setup.storeEnvironment(HASH);
    setup.machine.build({ outcome: "fails" });
    await setup.ask("update", { environment: HASH });
    expect(await setup.settles("AVAILABLE")).toMatchObject({ last_build: { state: "failed" } });
    await setup.ask("update", { environment: null, tree: TREE });
    expect(await setup.settles("AVAILABLE")).toMatchObject({ last_build: null, observed: { tree: TREE } });
    expect(setup.machine.builds()).toBe(1);
  });

  test("runs its previous image when the server restarts during a build", async () => {
    const reconciler = await setup.start();
    await setup.settles("AVAILABLE");
    await setup.storeEnvironment(HASH);
    setup.machine.build({ outcome: "hangs" });
    await setup.ask("update", { environment: HASH });
    await eventually(() => expect(setup.machine.builds()).toBe(1));
    await reconciler.stop("end pods");
    expect(setup.machine.pods.running()).toEqual([]);
    {
      await using _restarted = await setup.start();
      await eventually(() => expect(setup.machine.builds()).toBe(2));
      await eventually(() => expect(setup.machine.pods.running()).toEqual([setup.pod]));
      // the pod runs before it is recorded as ready
      await eventually(async () =>
        expect(await setup.see()).toMatchObject({
          state: "UPDATING",
          observed: { environment: null },
          last_build: { state: "running" },
          pods: [{ state: "READY" }],
        }),
      );
      setup.machine.pods.end(setup.pod);
      await eventually(() => expect(setup.machine.pods.running()).toEqual([setup.pod]));
    }
    setup.machine.build({ outcome: "succeeds" });
    await using _again = await setup.start();
    expect(await setup.settles("AVAILABLE")).toMatchObject({
      observed: { environment: HASH },
      operations: ["database.provision succeeded", "database.update succeeded"],
    });
    expect(setup.machine.pods.running()).toEqual([setup.pod]);
  });

  test("continues an update whose previous image cannot be started during the build", async () => {
    const reconciler = await setup.start();
    await setup.settles("AVAILABLE");
    await setup.storeEnvironment(HASH);
    setup.machine.build({ outcome: "hangs" });
    await setup.ask("update", { environment: HASH });
    await eventually(() => expect(setup.machine.builds()).toBe(1));
    await reconciler.stop("end pods");
    setup.machine.build({ outcome: "succeeds" });
    setup.machine.pods.behave({ start: "exits", times: 1 });
    await using _restarted = await setup.start();
    expect(await setup.settles("AVAILABLE")).toMatchObject({ observed: { environment: HASH }, failure: null });
  });

  test("is FAILED after its first build fails, and runs after a successful one", async () => {
    await setup.storeEnvironment(HASH);
    setup.machine.build({ outcome: "breaks" });
    await setup.server.deps.db
      .updateTable("control.databases")
      .set({ desired: sql`desired || ${JSON.stringify({ environment: HASH })}::jsonb` })
      .where("id", "=", setup.id)
      .execute();
    await using _reconciler = await setup.start();
    const seen = await setup.settles("FAILED");
    expect(seen).toMatchObject({ failure: { code: "internal_error" }, observed: null });
    expect(JSON.stringify(seen)).not.toContain("secret");
    setup.machine.build({ outcome: "succeeds" });
    await setup.ask("build_image");
    expect(await setup.settles("AVAILABLE")).toMatchObject({ failure: null, observed: { environment: HASH } });
  });

  test("sleeps without a pod, keeps its data, and wakes with new secrets", async () => {
    await using _reconciler = await setup.start();
    await setup.settles("AVAILABLE");
    const { token } = setup.machine.pods.specOf(setup.pod);
    await setup.ask("stop");
    expect(await setup.settles("STOPPED")).toMatchObject({ pods: [], awake_because: null });
    expect(setup.machine.pods.running()).toEqual([]);
    const params = { org: setup.org.name };
    for (const [name, value] of [
      ["OPENAI_API_KEY", "sk-1"],
      ["LD_PRELOAD", "/tmp/evil.so"],
      ["PYTHONSTARTUP", "x"],
    ]) {
      const set = await server.ask("secretSet", {
        as: setup.owner,
        params: { ...params, name },
        body: { value },
      } as never);
      expect(set.status).toBeLessThan(300);
    }
    await setup.ask("start");
    await setup.settles("AVAILABLE");
    const told = setup.machine.pods.specOf(setup.pod);
    expect(told.token).toBe(token);
    expect(told.runtime.env).toMatchObject({ OPENAI_API_KEY: "sk-1" });
    expect(Object.keys(told.runtime.env)).not.toEqual(expect.arrayContaining([expect.stringMatching(/^(LD_|PYTHON)/)]));
    expect(told.notices).toEqual([expect.stringContaining("LD_PRELOAD"), expect.stringContaining("PYTHONSTARTUP")]);
  });

  test("falls asleep after its idle time, unless it is busy", async () => {
    await server.deps.db
      .updateTable("control.databases")
      .set({ desired: sql`jsonb_set(desired, '{settings,sleep_after}', '"90s"')` })
      .where("id", "=", setup.id)
      .execute();
    await using _reconciler = await setup.start();
    await setup.settles("AVAILABLE");
    setup.machine.pods.say(setup.pod, { busy: "2 connections", idle_ms: 3_600_000 });
    await eventually(async () => expect((await setup.see()).awake_because).toBe("2 connections"));
    setup.machine.pods.say(setup.pod, { busy: null, idle_ms: 10_000 });
    await eventually(async () => expect((await setup.see()).awake_because).toBe("idle; sleeps in 2m"));
    setup.machine.pods.say(setup.pod, { idle_ms: 91_000 });
    expect(await setup.settles("STOPPED")).toMatchObject({
      operations: expect.arrayContaining(["database.stop succeeded"]),
    });
    const { rows } = await sql`select actor, detail from control.operations where kind = 'database.stop'`.execute(
      server.deps.db,
    );
    expect(rows).toEqual([{ actor: "system", detail: "it was idle for 90s" }]);
  });

  test("is deleted, undeleted, and then deleted with its files, secrets and row", async () => {
    await using _reconciler = await setup.start();
    await setup.settles("AVAILABLE");
    const { data_folder: dataFolder, files_folder: filesFolder } = setup.machine.pods.specOf(setup.pod);
    await setup.ask("delete");
    await setup.settles("DELETING");
    expect([setup.machine.pods.running(), existsSync(dataFolder)]).toEqual([[], true]);
    await setup.ask("undelete");
    await setup.settles("STOPPED");
    await setup.ask("start");
    await setup.settles("AVAILABLE");
    await setup.ask("delete", {}, { is_now: true });
    expect(await setup.settles(undefined)).toMatchObject({
      operations: expect.arrayContaining(["database.delete succeeded"]),
    });
    expect([existsSync(dataFolder), existsSync(filesFolder)]).toEqual([false, false]);
    expect(setup.machine.pods.forgotten()).toEqual([setup.id]);
    const { rows } = await sql`select from control.data_keys where database_id = ${setup.id}`.execute(server.deps.db);
    expect(rows).toEqual([]);
  });

  test("has a volume for its bucket, and its objects are removed with it when the bucket answers", async () => {
    const asked: object[] = [];
    let fails = true;
    const bucket: MediaBucket = {
      default_gb: 7,
      open: () => Promise.reject(new Error("The reconciler opens no objects.")),
      check: async () => undefined,
      endAbandoned: async () => 0,
      async empty(part) {
        asked.push({ id: part.id, org_id: part.org_id });
        if (fails) throw appError("media_unavailable", { detail: "The bucket does not answer." });
        return 1;
      },
      async [Symbol.asyncDispose]() {},
    };
    await using _reconciler = await setup.start({ bucket });
    await setup.settles("AVAILABLE");
    const { data_folder: dataFolder, media, media_gb: mediaGb } = setup.machine.pods.specOf(setup.pod);
    expect(media.objects).toMatchObject({ socket: expect.stringMatching(/objects\.sock$/) });
    expect(mediaGb).toBe(7);
    await setup.ask("delete");
    await setup.settles("DELETING");
    expect(asked).toEqual([]);
    await setup.ask("undelete");
    await setup.settles("STOPPED");
    await setup.ask("delete", {}, { is_now: true });
    await eventually(() => expect(asked.length).toBeGreaterThan(0));
    expect([(await setup.see()).state, existsSync(dataFolder)]).toEqual(["DELETING", true]);
    fails = false;
    await setup.settles(undefined);
    expect(asked.at(-1)).toEqual({ id: setup.id, org_id: setup.org.id });
  });

  test("is removed when its undelete period is over", async () => {
    await using _reconciler = await setup.start();
    await setup.settles("AVAILABLE");
    await setup.ask("delete");
    await setup.settles("DELETING");
    await sql`update control.databases set purge_at = now() - interval '1 second' where id = ${setup.id}`.execute(
      server.deps.db,
    );
    await enqueueJob(server.deps.db, "sweep", {}, { key: "sweep" });
    await setup.settles(undefined);
  });
});

describe("a request", () => {
  test("during a build cancels it", async () => {
    await using _reconciler = await setup.start();
    await setup.settles("AVAILABLE");
    await setup.storeEnvironment(HASH);
    setup.machine.build({ outcome: "hangs" });
    await setup.ask("update", { environment: HASH });
    await eventually(() => expect(setup.machine.builds()).toBe(1));
    await setup.ask("delete");
    expect(await setup.settles("DELETING")).toMatchObject({
      operations: ["database.provision succeeded", "database.update cancelled", "database.delete succeeded"],
    });
  });

  test("that is cancelled while it waits for its build changes nothing", async () => {
    await using _reconciler = await setup.start();
    await setup.settles("AVAILABLE");
    await setup.storeEnvironment(HASH);
    setup.machine.build({ outcome: "hangs" });
    const operation = await setup.ask("update", { environment: HASH });
    await eventually(() => expect(setup.machine.builds()).toBe(1));
    await sql`update control.operations set state = 'cancelled', ended_at = now() where id = ${operation}`.execute(
      server.deps.db,
    );
    expect(await setup.settles("AVAILABLE")).toMatchObject({ observed: { environment: null } });
    expect(setup.machine.pods.starts(setup.pod)).toBe(1);
  });

  test("stores why a pod does not start, with its last log lines", async () => {
    setup.machine.pods.behave({ start: "exits", output: "the cluster is of a later version" });
    await using _reconciler = await setup.start();
    const seen = await setup.settles("FAILED");
    expect(seen.failure).toMatchObject({
      code: "pod_failed",
      detail: expect.stringMatching(/did not start: it ended with code 1\. It said last: .*later version/),
    });
    expect(seen.pods).toMatchObject([{ state: "FAILED" }]);
    expect(existsSync(databasePaths(setup.machine.paths, setup.id).run_folder)).toBe(false);
    expect(setup.machine.pods.starts(setup.pod)).toBe(5);
    setup.machine.pods.behave({
      start: "exits",
      exit: { signal: "SIGKILL", code: null, is_out_of_memory: true },
      times: 1,
    });
    await setup.ask("retry");
    expect(await setup.settles("AVAILABLE")).toMatchObject({ failure: null });
  });

  test("reports that memory was short", async () => {
    setup.machine.pods.behave({ start: "exits", exit: { signal: "SIGKILL", code: null, is_out_of_memory: true } });
    await using _reconciler = await setup.start();
    expect((await setup.settles("FAILED")).failure?.detail).toMatch(/needed more than its 1024 MB of memory/);
  });
});
