import { once } from "node:events";
import { chmodSync, lstatSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import type { PodDriver, PodSpec } from "@appdb/pods/driver/pod-driver";
import { removeFolder } from "@appdb/system/files/remove-folder";
import { describe, expect, test } from "vitest";
import { openPodSetup, type PodDriverUnderTest, type PodSetup } from "./pod-driver-setup.ts";
import { podNameOf, volumeOf } from "./test-layout.ts";

const GRACE_MS = 5_000;
const EXCHANGED_TASKS = 8;
const SECRET = "of another database";

/** Registers the link tests for a driver that isolates pods: pods replace their folders and files by links. Needs
 *  root. */
export function testLinks(driver: PodDriverUnderTest): void {
  const signal = AbortSignal.timeout(600_000);

  describe.runIf(process.getuid?.() === 0)(`links made by pods, with the driver ${driver.name}`, () => {
    test("restart, log and removal follow no link in a pod's folder", async () => {
      await using setup = openPodSetup(driver);
      const pods = await setup.open();
      const victim = makeVictim(setup);
      const [data, log] = setup.spec().volumes.map(({ target }) => target) as [string, string];
      const links = [
        [join(data, "services"), setup.folder],
        [join(data, "log"), victim],
        [join(log, "output.log"), join(victim, "pod.log")],
        [join(log, "pod.log.1"), join(victim, "pod.log")],
      ] as const;
      const spec = setup.spec({ links });
      await pods.ensure(spec, signal);
      await setup.ready(spec);
      expect(lstatSync(join(data, "services")).isSymbolicLink()).toBe(true);
      await pods.stop(spec.id, GRACE_MS);
      await pods.ensure(spec, signal);
      await pods.list({});
      expect(await linesOf(pods, spec)).not.toContain(SECRET);
      await pods.stop(spec.id, GRACE_MS);
      await pods.forget(podNameOf(spec));
      await removeFolder(join(setup.folder, spec.id));
      expectUntouched(victim);
    });

    test("a folder below a folder of the pod does not become the pod's", async () => {
      await using setup = openPodSetup(driver);
      const pods = await setup.open();
      const victim = makeVictim(setup);
      const data = setup.spec().volumes[0]?.target ?? "";
      const spec = setup.spec({ links: [[join(data, "services"), victim]] });
      await pods.ensure(spec, signal);
      await setup.ready(spec);
      await pods.stop(spec.id, GRACE_MS);
      // Version 0.8.0 kept scratch files of services here.
      for (const source of [
        { kind: "scratch", pod: podNameOf(spec) },
        { kind: "services", database_id: spec.id },
      ] as const) {
        const volumes = [...spec.volumes, volumeOf(setup.input.layout, source, "write")];
        await expect(pods.ensure(setup.spec({}, { volumes }), signal)).rejects.toMatchObject({ code: "pod_failed" });
      }
      expectUntouched(victim);
    });

    test("a folder replaced by a link while a task starts is not given to it", async () => {
      await using setup = openPodSetup(driver);
      const pods = await setup.open();
      const victim = makeVictim(setup);
      // Readable by another user once it is visible.
      chmodSync(victim, 0o755);
      chmodSync(join(victim, "pod.log"), 0o644);
      const output: string[] = [];
      const task = setup.task({ args: [], onLine: (line) => output.push(line) });
      const exchanging = exchangeForLink(task.cwd, victim);
      try {
        for (let count = 0; count < EXCHANGED_TASKS; count += 1) {
          const args = ["-c", `cat ${task.cwd}/pod.log; echo changed >${task.cwd}/pod.log`];
          const one = { ...task, id: `task-${count}`, cwd: "/", program: "/bin/sh", args };
          // Refused, or run with the task's own folder.
          await pods.run(one, signal).catch((error: unknown) => expect(error).toBeInstanceOf(Error));
        }
      } finally {
        await exchanging.end();
      }
      expect(output.join("\n")).not.toContain(SECRET);
      expect(readFileSync(join(victim, "pod.log"), "utf8")).toBe(`${SECRET}\n`);
      expect([victim, join(victim, "pod.log")].map((path) => statSync(path).uid)).toEqual([0, 0]);
    });
  });
}

/** A folder of another database. */
function makeVictim(setup: PodSetup): string {
  const folder = join(setup.folder, "victim");
  mkdirSync(folder, { mode: 0o700 });
  writeFileSync(join(folder, "pod.log"), `${SECRET}\n`, { mode: 0o600 });
  return folder;
}

function expectUntouched(victim: string): void {
  expect(readdirSync(victim)).toEqual(["pod.log"]);
  expect(readFileSync(join(victim, "pod.log"), "utf8")).toBe(`${SECRET}\n`);
  expect([victim, join(victim, "pod.log")].map((path) => statSync(path)).map(({ mode, uid }) => [uid, mode])).toEqual([
    [0, 0o40700],
    [0, 0o100600],
  ]);
}

async function linesOf(pods: PodDriver, { id }: PodSpec): Promise<string[]> {
  const lines: string[] = [];
  const input = { follow: false, signal: AbortSignal.timeout(20_000) };
  for await (const { line } of pods.logs({ database_id: id, service_id: null }, input)) lines.push(line);
  return lines;
}

/** Alternates between a link and the folder until it is stopped. */
function exchangeForLink(folder: string, target: string) {
  const code = `const { renameSync, rmSync, symlinkSync } = require("node:fs");
    const { workerData: { folder, target, ending } } = require("node:worker_threads");
    // a driver makes the folder when it finds none, which may be between two of these steps
    function take(put) {
      for (;;) {
        rmSync(folder, { recursive: true, force: true });
        try {
          return put();
        } catch (error) {
          if (!["EEXIST", "ENOTEMPTY"].includes(error.code)) throw error;
        }
      }
    }
    while (Atomics.load(new Int32Array(ending), 0) === 0) {
      renameSync(folder, folder + ".away");
      take(() => symlinkSync(target, folder));
      Atomics.wait(new Int32Array(ending), 0, 0, 1);
      take(() => renameSync(folder + ".away", folder));
      Atomics.wait(new Int32Array(ending), 0, 0, 1);
    }`;
  const ending = new SharedArrayBuffer(4);
  const worker = new Worker(code, { eval: true, workerData: { folder, target, ending } });
  const ended = once(worker, "exit");
  return {
    async end() {
      Atomics.store(new Int32Array(ending), 0, 1);
      await ended;
    },
  };
}
