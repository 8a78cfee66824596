import { createHash } from "node:crypto";
import { chownSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { PodDriver } from "@appdb/pods/driver/pod-driver";
import { Secret } from "@appdb/system/secret";
import { describe, expect, test } from "vitest";
import { eventually } from "../eventually.ts";
import { openPodSetup, type PodDriverUnderTest } from "./pod-driver-setup.ts";
import { podNameOf, volumeOf } from "./test-layout.ts";

const GRACE_MS = 5_000;
const LABELS = { organization_id: "org-1", database_id: "db-1", kind: "service" } as const;

/** Registers the pod tests for every driver. Linux only: it reads /proc. */
export function testPods(driver: PodDriverUnderTest): void {
  const signal = AbortSignal.timeout(600_000);

  describe(`pods of the driver ${driver.name}`, () => {
    test("a pod reads its whole input, and an equal spec is the same pod", async () => {
      await using setup = openPodSetup(driver);
      const pods = await setup.open();
      const spec = setup.spec({ secret: "x".repeat(300_000) });
      const first = await pods.ensure(spec, signal);
      expect(first).toMatchObject({ id: spec.id, state: "running", labels: spec.labels, exit: null });
      const report = await setup.ready(spec);
      expect(report.input_digest).toBe(createHash("sha256").update(spec.input.reveal()).digest("hex"));
      expect(report.argv).toEqual([setup.mark]);
      expect(await pods.ensure(setup.spec({ secret: "x".repeat(300_000) }), signal)).toEqual(first);
      await setup.expectPrograms(1);
      expect(await pods.list({})).toMatchObject([{ id: spec.id, state: "running" }]);
      expect(await pods.list({ database_id: "another" })).toEqual([]);
      expect((await pods.inspect(spec.id))?.memory_bytes).toBeGreaterThan(5_000_000);
    });

    test("another input replaces the pod, and an ended pod is started again", async () => {
      await using setup = openPodSetup(driver);
      const pods = await setup.open();
      const first = await pods.ensure(setup.spec({ secret: "one" }), signal);
      const second = await pods.ensure(setup.spec({ secret: "two" }), signal);
      expect(second.spec_hash).not.toBe(first.spec_hash);
      await setup.expectPrograms(1);
      process.kill(setup.programs()[0] ?? 0, "SIGKILL");
      const hasEnded = await eventually(async () => {
        const status = await pods.inspect("db-1");
        expect(status?.state).toBe("exited");
        return status;
      });
      expect(hasEnded?.exit).toMatchObject({ code: null, signal: "SIGKILL", is_out_of_memory: false });
      await pods.ensure(setup.spec({ secret: "two" }), signal);
      await setup.expectPrograms(1);
    });

    test("stopping asks first and leaves no process", async () => {
      await using setup = openPodSetup(driver);
      const pods = await setup.open();
      const daemon = driver.ends_bare_daemons ? "bare" : "kept";
      const spec = setup.spec({ child: true, session: true, daemon, stop_code: 7 });
      await pods.ensure(spec, signal);
      await setup.ready(spec);
      await setup.expectPrograms(4);
      await pods.stop(spec.id, GRACE_MS);
      expect(setup.programs()).toEqual([]);
      expect(await pods.inspect(spec.id)).toMatchObject({
        state: "exited",
        pid: null,
        exit: { code: 7, signal: null },
      });
      await pods.stop(spec.id, GRACE_MS);
      await pods.forget(podNameOf(spec));
      expect(await pods.inspect(spec.id)).toBeUndefined();
      await pods.forget(podNameOf(spec));
      await pods.stop(spec.id, GRACE_MS);
    });

    test("a pod that ignores the request is killed after its grace period", async () => {
      await using setup = openPodSetup(driver);
      const pods = await setup.open();
      const spec = setup.spec({ ignores_term: true, child: true, session: true });
      await pods.ensure(spec, signal);
      await setup.ready(spec);
      await setup.expectPrograms(3);
      await expect(pods.forget(podNameOf(spec))).rejects.toMatchObject({ code: "pod_failed" });
      await pods.stop(spec.id, 200);
      expect(setup.programs()).toEqual([]);
      expect(await pods.inspect(spec.id)).toMatchObject({ state: "exited", exit: { code: null, signal: "SIGKILL" } });
    });

    test("leftovers of a killed pod end before it is started again", async () => {
      await using setup = openPodSetup(driver);
      const pods = await setup.open();
      const spec = setup.spec({ child: true, session: true });
      await pods.ensure(spec, signal);
      await setup.ready(spec);
      await setup.expectPrograms(3);
      const before = setup.programs();
      process.kill((await pods.inspect(spec.id))?.pid ?? 0, "SIGKILL");
      await eventually(async () => expect((await pods.inspect(spec.id))?.state).toBe("exited"));
      await pods.ensure(spec, signal);
      await setup.expectPrograms(3);
      expect(setup.programs().filter((one) => before.includes(one))).toEqual([]);
    });

    test("another driver on the same folder sees the pods and their exits", async () => {
      await using setup = openPodSetup(driver);
      const spec = setup.spec({ stop_code: 3 });
      let started: unknown;
      {
        await using first = await setup.open();
        started = await first.ensure(spec, signal);
        await setup.ready(spec);
      }
      const second = await setup.open();
      expect(await second.list({ organization_id: "org-1" })).toEqual([started]);
      expect(await second.ensure(spec, signal)).toEqual(started);
      process.kill((await second.inspect(spec.id))?.pid ?? 0, "SIGTERM");
      await eventually(async () => {
        expect(await second.inspect(spec.id)).toMatchObject({ state: "exited", exit: { code: 3, signal: null } });
      });
    });

    test("two concurrent ensure calls make one pod", async () => {
      await using setup = openPodSetup(driver);
      const [one, other] = [await setup.open(), await setup.open()];
      const specs = [setup.spec(), setup.spec()];
      const statuses = await Promise.all(
        specs.flatMap((spec) => [one.ensure(spec, signal), other.ensure(spec, signal)]),
      );
      expect(new Set(statuses.map(({ pid }) => pid)).size).toBe(1);
      await setup.expectPrograms(1);
    });

    test("a start during a forget keeps its folders", async () => {
      await using setup = openPodSetup(driver);
      const pods = await setup.open();
      const spec = setup.spec();
      await pods.ensure(spec, signal);
      await pods.stop(spec.id, GRACE_MS);
      const folder = spec.volumes.find(({ source }) => source.kind === "sockets")?.target ?? "";
      // so many that their removal takes longer than a start
      for (let number = 0; number < 5_000; number++) writeFileSync(join(folder, `${number}`), "");
      const [, started] = await Promise.allSettled([pods.forget(podNameOf(spec)), pods.ensure(spec, signal)]);
      expect(started.status).toBe("fulfilled");
      await setup.ready(spec);
      expect(existsSync(folder)).toBe(true);
    });

    test("the input is in no argument, environment, file or log", async () => {
      await using setup = openPodSetup(driver);
      const pods = await setup.open();
      const spec = setup.spec({ secret: "correct-horse-battery" });
      await pods.ensure(spec, signal);
      await setup.ready(spec);
      await pods.stop(spec.id, GRACE_MS);
      await pods.ensure(spec, signal);
      const shown = readdirSync("/proc").filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
      for (const file of shown.flatMap((pid) => [`/proc/${pid}/cmdline`, `/proc/${pid}/environ`])) {
        expect(readIfThere(file), file).not.toContain("correct-horse-battery");
      }
      for (const file of readdirSync(setup.folder, { recursive: true, withFileTypes: true })) {
        const path = join(file.parentPath, file.name);
        if (file.isFile()) expect(readIfThere(path), path).not.toContain("correct-horse-battery");
      }
    });

    test("a pod's log is followed across start, restart and stop", async () => {
      await using setup = openPodSetup(driver);
      const pods = await setup.open();
      const spec = setup.spec();
      const following = new AbortController();
      const heard: string[] = [];
      const reading = (async () => {
        const input = { follow: true, tail: 10, signal: following.signal };
        for await (const { line } of pods.logs({ database_id: spec.id, service_id: null }, input)) heard.push(line);
      })();
      await pods.ensure(spec, signal);
      await eventually(() => expect(heard).toEqual(["started"]));
      await pods.stop(spec.id, GRACE_MS);
      await pods.ensure(spec, signal);
      await eventually(() => expect(heard).toEqual(["started", "stopping", "started"]));
      following.abort();
      await reading;
    });

    test("the last lines of a pod say why it ended, and stay when it is forgotten", async () => {
      await using setup = openPodSetup(driver);
      const pods = await setup.open();
      const spec = setup.spec({ exit_code: 4, prints: "it broke\n" });
      const since = new Date(Date.parse((await pods.ensure(spec, signal)).started_at));
      await eventually(async () => expect((await pods.inspect(spec.id))?.state).toBe("exited"));
      const log = { database_id: spec.id, service_id: null };
      expect(await pods.lastLines(log, since, 5)).toEqual(["started", "it broke"]);
      await pods.forget(podNameOf(spec));
      expect(await pods.lastLines(log, since, 1)).toEqual(["it broke"]);
    });

    test("missing volumes are made, and every port of a pod has one endpoint in each driver", async () => {
      await using setup = openPodSetup(driver);
      const [one, other] = [await setup.open(), await setup.open()];
      const spec = setup.spec();
      expect(spec.volumes.filter(({ target }) => existsSync(target))).toEqual([]);
      await one.ensure(spec, signal);
      await setup.ready(spec);
      expect(spec.volumes.map(({ source }) => one.target(source))).toEqual(spec.volumes.map(({ target }) => target));
      const endpoints = await one.endpoints(podNameOf(spec));
      expect(Object.keys(endpoints).sort()).toEqual(["api", "link", "postgres"]);
      expect(await other.endpoints(podNameOf(spec))).toEqual(endpoints);
      expect(await one.endpoints({ id: "db-2", database_id: "db-2" })).not.toEqual(endpoints);
    });

    test("the code's folders of a volume are made, and a start visits none of its files", async () => {
      await using setup = openPodSetup(driver);
      const pods = await setup.open();
      const source = { kind: "media", database_id: "db-1" } as const;
      const media = volumeOf(setup.input.layout, source, "write");
      const code_parts = ["home", "scratch"].map((name) => ({ name, access: "read" as const }));
      const volumes = [...setup.spec().volumes, { ...media, code_parts }];
      await pods.ensure(setup.spec({}, { volumes }), signal);
      expect(readdirSync(media.target).sort()).toEqual(["home", "scratch"]);
      // a store has a million of them
      const object = join(media.target, "home", "object");
      writeFileSync(object, "");
      const isRoot = process.getuid?.() === 0;
      if (isRoot) chownSync(object, 234_567, 234_567);
      const { uid } = statSync(object);
      await pods.ensure(setup.spec({ secret: "two" }, { volumes }), signal);
      expect(statSync(object).uid).toBe(uid);
    });

    test("a pod whose volume is elsewhere than its driver says is refused, and so is one without a log", async () => {
      await using setup = openPodSetup(driver);
      const pods = await setup.open();
      const { volumes } = setup.spec();
      const moved = volumes.map((volume) => ({ ...volume, target: `${volume.target}-elsewhere` }));
      for (const wrong of [moved, volumes.filter(({ source }) => source.kind !== "logs")])
        await expect(pods.ensure(setup.spec({}, { volumes: wrong }), signal)).rejects.toMatchObject({
          code: "pod_failed",
        });
      expect(await pods.list({})).toEqual([]);
    });

    test("sockets and scratch files go with their pod, a log with its service, and the rest with its database", async () => {
      await using setup = openPodSetup(driver);
      const pods = await setup.open();
      const name = { id: "svc-1", database_id: "db-1" };
      const log = { database_id: "db-1", service_id: "one" };
      const sources = [
        { kind: "logs", ...log },
        { kind: "sockets", pod: name },
        { kind: "scratch", pod: name },
      ] as const;
      const volumes = sources.map((source) => volumeOf(setup.input.layout, source, "write"));
      const [logFolder = "", runFolder, scratchFolder] = volumes.map(({ target }) => target);
      const told = { mark: setup.mark, run_folder: runFolder, log_folder: logFolder };
      const input = new Secret(JSON.stringify(told));
      const spec = setup.spec({}, { id: name.id, labels: LABELS, input, volumes });
      await pods.ensure(spec, signal);
      await setup.ready(spec);
      await pods.stop(spec.id, GRACE_MS);
      await pods.forget(name);
      expect(await listIds(pods)).toEqual([
        ["db-1", null],
        ["db-1", "one"],
      ]);
      expect([logFolder, runFolder, scratchFolder].map((path) => existsSync(path ?? ""))).toEqual([true, false, false]);
      // left by a driver that was killed while it started the pod
      mkdirSync(runFolder ?? "");
      await pods.forget(name);
      expect(existsSync(runFolder ?? "")).toBe(false);
      await pods.forgetService(log);
      expect(existsSync(logFolder)).toBe(false);
      expect(await listIds(pods)).toEqual([["db-1", null]]);
      await pods.forgetDatabase("db-1");
      await pods.forgetDatabase("db-1");
      expect(existsSync(join(setup.folder, "db-1"))).toBe(false);
      expect(await listIds(pods)).toEqual([]);
    });

    test("a pod gets nothing from its starter's environment", async () => {
      await using setup = openPodSetup(driver);
      process.env.SERVER_SECRET_OF_TEST = "1";
      try {
        const pods = await setup.open();
        const spec = setup.spec();
        await pods.ensure(spec, signal);
        const { env } = await setup.ready(spec);
        expect(env).not.toHaveProperty("SERVER_SECRET_OF_TEST");
        expect(env.PATH).toContain("/usr/bin");
      } finally {
        delete process.env.SERVER_SECRET_OF_TEST;
      }
    });
  });
}

async function listIds(pods: Pick<PodDriver, "listOwners">) {
  const owners = await pods.listOwners();
  return owners.map(({ database_id: databaseId, service_id: serviceId }) => [databaseId, serviceId]);
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}
