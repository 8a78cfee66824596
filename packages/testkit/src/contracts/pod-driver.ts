import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { eventually } from "../eventually.ts";
import { openPodStage, type PodDriverUnderTest } from "./pod-driver-stage.ts";

const GRACE_MS = 5_000;

/** Registers the pod tests for every driver. Linux only: it reads /proc. */
export function testPods(driver: PodDriverUnderTest): void {
  const signal = AbortSignal.timeout(600_000);

  describe(`pods of the driver ${driver.name}`, () => {
    test("a pod reads its whole input, and an equal spec is the same pod", async () => {
      await using stage = openPodStage(driver);
      const pods = await stage.open();
      const spec = stage.spec({ secret: "x".repeat(300_000) });
      const first = await pods.ensure(spec, signal);
      expect(first).toMatchObject({ id: spec.id, state: "running", labels: spec.labels, exit: null });
      const report = await stage.ready(spec);
      expect(report.input_digest).toBe(createHash("sha256").update(spec.input.reveal()).digest("hex"));
      expect(report.argv).toEqual([stage.mark]);
      expect(await pods.ensure(stage.spec({ secret: "x".repeat(300_000) }), signal)).toEqual(first);
      await stage.expectPrograms(1);
      expect(await pods.list({})).toMatchObject([{ id: spec.id, state: "running" }]);
      expect(await pods.list({ database_id: "another" })).toEqual([]);
      expect((await pods.inspect(spec.id))?.memory_bytes).toBeGreaterThan(5_000_000);
    });

    test("another input replaces the pod, and an ended pod is started again", async () => {
      await using stage = openPodStage(driver);
      const pods = await stage.open();
      const first = await pods.ensure(stage.spec({ secret: "one" }), signal);
      const second = await pods.ensure(stage.spec({ secret: "two" }), signal);
      expect(second.spec_hash).not.toBe(first.spec_hash);
      await stage.expectPrograms(1);
      process.kill(stage.programs()[0] ?? 0, "SIGKILL");
      const gone = await eventually(async () => {
        const status = await pods.inspect("db-1");
        expect(status?.state).toBe("exited");
        return status;
      });
      expect(gone?.exit).toMatchObject({ code: null, signal: "SIGKILL", is_out_of_memory: false });
      await pods.ensure(stage.spec({ secret: "two" }), signal);
      await stage.expectPrograms(1);
    });

    test("stopping asks first and leaves no process", async () => {
      await using stage = openPodStage(driver);
      const pods = await stage.open();
      const daemon = driver.ends_bare_daemons ? "bare" : "kept";
      const spec = stage.spec({ child: true, session: true, daemon, stop_code: 7 });
      await pods.ensure(spec, signal);
      await stage.ready(spec);
      await stage.expectPrograms(4);
      await pods.stop(spec.id, GRACE_MS);
      expect(stage.programs()).toEqual([]);
      expect(await pods.inspect(spec.id)).toMatchObject({
        state: "exited",
        pid: null,
        exit: { code: 7, signal: null },
      });
      await pods.stop(spec.id, GRACE_MS);
      await pods.forget(spec.id);
      expect(await pods.inspect(spec.id)).toBeUndefined();
      await pods.forget(spec.id);
      await pods.stop(spec.id, GRACE_MS);
    });

    test("a pod that ignores the request is killed after its grace period", async () => {
      await using stage = openPodStage(driver);
      const pods = await stage.open();
      const spec = stage.spec({ ignores_term: true, child: true, session: true });
      await pods.ensure(spec, signal);
      await stage.ready(spec);
      await stage.expectPrograms(3);
      await expect(pods.forget(spec.id)).rejects.toMatchObject({ code: "pod_failed" });
      await pods.stop(spec.id, 200);
      expect(stage.programs()).toEqual([]);
      expect(await pods.inspect(spec.id)).toMatchObject({ state: "exited", exit: { code: null, signal: "SIGKILL" } });
    });

    test("leftovers of a killed pod end before it is started again", async () => {
      await using stage = openPodStage(driver);
      const pods = await stage.open();
      const spec = stage.spec({ child: true, session: true });
      await pods.ensure(spec, signal);
      await stage.ready(spec);
      await stage.expectPrograms(3);
      const before = stage.programs();
      process.kill((await pods.inspect(spec.id))?.pid ?? 0, "SIGKILL");
      await eventually(async () => expect((await pods.inspect(spec.id))?.state).toBe("exited"));
      await pods.ensure(spec, signal);
      await stage.expectPrograms(3);
      expect(stage.programs().filter((one) => before.includes(one))).toEqual([]);
    });

    test("another driver on the same folder sees the pods and their exits", async () => {
      await using stage = openPodStage(driver);
      const spec = stage.spec({ stop_code: 3 });
      let started: unknown;
      {
        await using first = await stage.open();
        started = await first.ensure(spec, signal);
        await stage.ready(spec);
      }
      const second = await stage.open();
      expect(await second.list({ organization_id: "org-1" })).toEqual([started]);
      expect(await second.ensure(spec, signal)).toEqual(started);
      process.kill((await second.inspect(spec.id))?.pid ?? 0, "SIGTERM");
      await eventually(async () => {
        expect(await second.inspect(spec.id)).toMatchObject({ state: "exited", exit: { code: 3, signal: null } });
      });
    });

    test("two concurrent ensure calls make one pod", async () => {
      await using stage = openPodStage(driver);
      const [one, other] = [await stage.open(), await stage.open()];
      const specs = [stage.spec(), stage.spec()];
      const statuses = await Promise.all(
        specs.flatMap((spec) => [one.ensure(spec, signal), other.ensure(spec, signal)]),
      );
      expect(new Set(statuses.map(({ pid }) => pid)).size).toBe(1);
      await stage.expectPrograms(1);
    });

    test("the input is in no argument, environment, file or log", async () => {
      await using stage = openPodStage(driver);
      const pods = await stage.open();
      const spec = stage.spec({ secret: "correct-horse-battery" });
      await pods.ensure(spec, signal);
      await stage.ready(spec);
      await pods.stop(spec.id, GRACE_MS);
      await pods.ensure(spec, signal);
      const shown = readdirSync("/proc").filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
      for (const file of shown.flatMap((pid) => [`/proc/${pid}/cmdline`, `/proc/${pid}/environ`])) {
        expect(readIfThere(file), file).not.toContain("correct-horse-battery");
      }
      for (const file of readdirSync(stage.folder, { recursive: true, withFileTypes: true })) {
        const path = join(file.parentPath, file.name);
        if (file.isFile()) expect(readIfThere(path), path).not.toContain("correct-horse-battery");
      }
    });

    test("a pod's log is followed across start, restart and stop", async () => {
      await using stage = openPodStage(driver);
      const pods = await stage.open();
      const spec = stage.spec();
      const following = new AbortController();
      const heard: string[] = [];
      const reading = (async () => {
        const input = { follow: true, tail: 10, signal: following.signal };
        for await (const { line } of pods.logs(spec.log_folder, input)) heard.push(line);
      })();
      await pods.ensure(spec, signal);
      await eventually(() => expect(heard).toEqual(["started"]));
      await pods.stop(spec.id, GRACE_MS);
      await pods.ensure(spec, signal);
      await eventually(() => expect(heard).toEqual(["started", "stopping", "started"]));
      following.abort();
      await reading;
    });

    test("a pod gets nothing from its starter's environment", async () => {
      await using stage = openPodStage(driver);
      process.env.SERVER_SECRET_OF_TEST = "1";
      try {
        const pods = await stage.open();
        const spec = stage.spec();
        await pods.ensure(spec, signal);
        const { env } = await stage.ready(spec);
        expect(env).not.toHaveProperty("SERVER_SECRET_OF_TEST");
        expect(env.PATH).toContain("/usr/bin");
      } finally {
        delete process.env.SERVER_SECRET_OF_TEST;
      }
    });
  });
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}
