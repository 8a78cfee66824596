import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openPodSetup, type PodDriverUnderTest } from "./pod-driver-setup.ts";

const STAY = "setTimeout(() => {}, 60_000)";

/** Registers the task tests for every driver. */
export function testTasks(driver: PodDriverUnderTest): void {
  const signal = AbortSignal.timeout(600_000);

  describe(`tasks of the driver ${driver.name}`, () => {
    test("a task returns its output lines and its exit", async () => {
      await using setup = openPodSetup(driver);
      const pods = await setup.open();
      const lines: string[] = [];
      const script = `process.stdout.write("one\\ntwo"); process.stderr.write("wrong\\n"); process.exitCode = 3`;
      const exit = await pods.run(setup.task({ args: ["-e", script], onLine: (line) => lines.push(line) }), signal);
      expect(exit).toEqual({ code: 3, signal: null, is_out_of_memory: false, exceeded: null });
      expect(lines.sort()).toEqual(["one", "two", "wrong"]);
      const killed = await pods.run(setup.task({ args: ["-e", "process.kill(process.pid, 'SIGABRT')"] }), signal);
      expect(killed).toMatchObject({ code: null, signal: "SIGABRT" });
    });

    test("a task gets exactly its own environment", async () => {
      await using setup = openPodSetup(driver);
      process.env.SERVER_SECRET_OF_TEST = "1";
      try {
        const pods = await setup.open();
        const lines: string[] = [];
        const env = { PATH: "/usr/bin:/bin", GIVEN: "ü \"' $HOME\nsecond line" };
        const args = [
          "-e",
          "console.log(JSON.stringify([process.env, process.cwd(), process.argv.slice(1)]))",
          "a b",
          "",
        ];
        const task = setup.task({ args, env, onLine: (line) => lines.push(line) });
        await pods.run(task, signal);
        const [given, cwd, arguments_] = JSON.parse(lines.join(""));
        expect(given).toMatchObject(env);
        expect(
          Object.keys(given)
            .filter((name) => !OWN_VARIABLES.has(name))
            .sort(),
        ).toEqual(Object.keys(env).sort());
        expect([cwd, arguments_]).toEqual([task.cwd, ["a b", ""]]);
      } finally {
        delete process.env.SERVER_SECRET_OF_TEST;
      }
    });

    test("a task sees exactly its own single files", async () => {
      await using setup = openPodSetup(driver);
      const pods = await setup.open();
      const [given, beside] = ["given file.pem", "beside.pem"].map((name) => join(setup.folder, name)) as [
        string,
        string,
      ];
      for (const path of [given, beside]) writeFileSync(path, "text", { mode: 0o644 });
      const script = `const fs = require("node:fs");
        console.log(${JSON.stringify([given, beside])}.map((path) => fs.existsSync(path) && fs.readFileSync(path, "utf8")).join())`;
      const lines: string[] = [];
      const task = setup.task({ args: ["-e", script], onLine: (line) => lines.push(line) });
      const folders = [...task.folders, { path: given, mode: "read" } as const];
      expect(await pods.run({ ...task, folders }, signal)).toMatchObject({ code: 0 });
      expect(lines).toEqual([driver.name === "process" ? "text,text" : "text,false"]);
    });

    test("a task that takes too long is ended with its children", async () => {
      await using setup = openPodSetup(driver);
      const pods = await setup.open();
      const script = `const { spawn } = require("node:child_process");
        spawn(process.execPath, ["-e", ${JSON.stringify(STAY)}, ${JSON.stringify(setup.mark)}], { detached: true, stdio: "inherit" });
        process.on("SIGTERM", () => {}); ${STAY}`;
      const task = setup.task({ args: ["-e", script, setup.mark] });
      // both programs must be there before
      const running = pods.run({ ...task, limits: { ...task.limits, timeout_ms: 8_000 } }, signal);
      await setup.expectPrograms(2);
      expect(await running).toMatchObject({ code: null, signal: "SIGKILL", exceeded: "time" });
      expect(setup.programs()).toEqual([]);
    });

    test("a cancelled task ends at once with the reason", async () => {
      await using setup = openPodSetup(driver);
      const pods = await setup.open();
      const callingOff = new AbortController();
      const running = pods.run(setup.task({ args: ["-e", STAY, setup.mark] }), callingOff.signal);
      await setup.expectPrograms(1);
      callingOff.abort(new Error("nobody waits for it"));
      await expect(running).rejects.toThrow("nobody waits for it");
      expect(setup.programs()).toEqual([]);
    });

    test("processes left behind by a task are ended with it", async () => {
      await using setup = openPodSetup(driver);
      const pods = await setup.open();
      const script = `require("node:child_process").spawn(process.execPath, ["-e", ${JSON.stringify(STAY)}, ${JSON.stringify(setup.mark)}],
        { detached: true, stdio: "inherit" }).unref()`;
      expect(await pods.run(setup.task({ args: ["-e", script] }), signal)).toMatchObject({ code: 0 });
      expect(setup.programs()).toEqual([]);
    });

    test("a task that writes too much is ended", async () => {
      await using setup = openPodSetup(driver);
      const pods = await setup.open();
      const script = `const fs = require("node:fs"); const piece = Buffer.alloc(1_000_000, 1);
        setInterval(() => fs.appendFileSync("grows", piece), 5)`;
      const task = setup.task({ args: ["-e", script] });
      const exit = await pods.run({ ...task, limits: { ...task.limits, disk_bytes: 20_000_000 } }, signal);
      expect(exit.exceeded).toBe("disk");
      // Killed, or refused by the kernel first.
      expect(exit.code).not.toBe(0);
      expect(readdirSync(task.cwd)).toEqual(["grows"]);
    });

    test("a missing program is a failed task or a failure code", async () => {
      await using setup = openPodSetup(driver);
      const pods = await setup.open();
      const lines: string[] = [];
      const task = setup.task({ program: join(setup.folder, "missing"), args: [], onLine: (line) => lines.push(line) });
      const outcome = await pods.run(task, signal).catch((error) => error);
      if (outcome instanceof Error) expect(outcome).toMatchObject({ code: "pod_failed" });
      else expect(outcome.code).toBeGreaterThan(0);
      expect(JSON.stringify([outcome.message, lines])).toContain("missing");
    });

    if (driver.bounds_memory) {
      test("a task that needs too much memory is ended with that reason", async () => {
        await using setup = openPodSetup(driver);
        const pods = await setup.open();
        const script = "const kept = []; for (;;) kept.push(Buffer.alloc(8 * 1024 * 1024, 1))";
        expect(await pods.run(setup.task({ args: ["-e", script] }), signal)).toMatchObject({ is_out_of_memory: true });
      });
    }

    if (driver.bounds_tasks) {
      test("an endless fork stays within the process limit and is ended", async () => {
        await using setup = openPodSetup(driver);
        const pods = await setup.open();
        const script = `const { spawn } = require("node:child_process");
          const start = () => { const child = spawn("/bin/sh", ["-c", "sleep 30 & sleep 30", ${JSON.stringify(setup.mark)}]);
            child.on("error", ({ code }) => { console.log(code); process.exit(5); }); setImmediate(start); }; start()`;
        const lines: string[] = [];
        const task = setup.task({ args: ["-e", script], onLine: (line) => lines.push(line) });
        const exit = await pods.run({ ...task, limits: { ...task.limits, tasks: 60, timeout_ms: 60_000 } }, signal);
        expect([exit.code, lines.at(-1)]).toEqual([5, "EAGAIN"]);
      });
    }
  });
}

/** Variables that a driver may add. */
const OWN_VARIABLES = new Set(["SERVICE_POD", "PWD", "SHLVL", "_", "OLDPWD", "HOME", "TMPDIR", "HOSTNAME", "TERM"]);
