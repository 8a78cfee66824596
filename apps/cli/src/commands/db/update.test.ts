import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { appError } from "@appdb/contract/errors";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { changeOf, DATABASE, DONE, logLine } from "../../testing/databases.ts";
import { hostedService } from "../../testing/services.ts";
import { MIB, NO_LOCK, openUploadProject, sha256, type UploadProject, URI } from "../../testing/upload-project.ts";

let at: UploadProject;
beforeEach(async () => {
  at = await openUploadProject();
});
afterEach(() => at[Symbol.asyncDispose]());

describe("cli db diff", () => {
  test("shows the plan, uploads nothing and exits with 2 when changes are pending", async () => {
    at.project();
    at.state.plan = {
      resolution: "create",
      exists: false,
      state: "absent",
      ops: [
        {
          target: "image",
          op: "build",
          severity: "additive",
          requires_restart: true,
          details: {},
          description: "the image will be built: uv.lock changed",
          lines: ["uv.lock: + iniconfig 2.3.1", ...Array.from({ length: 30 }, (_, at) => `uv.lock: + p${at} 1`)],
        },
        {
          target: "resources",
          op: "change",
          severity: "destructive",
          requires_restart: true,
          details: {},
          description: "memory_mb will be 512 rather than 1024",
          lines: [],
        },
      ],
      in_agreement: false,
      summary: { ops: 2, destructive: 1, rebuild: true, restarts: true },
    };
    const ran = await at.run(`db diff ${URI}`);
    expect(ran.exit).toBe(2);
    expect(ran.stdout).toContain(
      "+ cloud://acme:main         will be created (DESTRUCTIVE)  absent\n    ~ the image will be built: uv.lock changed  [safe]\n        uv.lock: + iniconfig 2.3.1\n",
    );
    expect(ran.stdout).toContain("        ... and 11 more\n");
    expect(ran.stdout).toContain(
      "    ~ memory_mb will be 512 rather than 1024  [DESTRUCTIVE]\n\nPlan: 2 change(s), 1 destructive\n",
    );
    expect(at.asked()).toEqual(["databasePlan"]);
    expect(at.bodyOf("databasePlan")).toMatchObject({
      settings: { cpu: 2 },
      files: [{ path: "app.py", size: 6, is_executable: false, chunks: [sha256("x = 1\n")], link: null }],
      environment: { source: null },
    });
  });

  test("exits with 0 without changes; --json prints the plan with warnings", async () => {
    at.project();
    at.stored.set(sha256("x = 1\n"), Buffer.of());
    expect(await at.run(`db diff ${URI}`)).toMatchObject({
      exit: 0,
      stdout: "= cloud://acme:main         up to date  AVAILABLE\n\nPlan: 0 change(s), 0 destructive\n",
      stderr: `warning: ${NO_LOCK}\n`,
    });
    const {
      warnings,
      in_agreement: inAgreement,
      left_out: leftOut,
    } = JSON.parse((await at.run(`db diff ${URI} --json`)).stdout);
    expect({ warnings, in_agreement: inAgreement, left_out: leftOut }).toEqual({
      warnings: [NO_LOCK],
      in_agreement: true,
      left_out: [],
    });
  });

  test("does not repeat the missing-entry warning for an existing database", async () => {
    at.write({ "app.py": "x = 1\n", "service.toml": "" });
    at.state.plan = { resolution: "update", exists: true, in_agreement: false };
    expect((await at.run(`db update ${URI} -f`)).stderr).not.toContain("has no entry");
    expect((await at.run(`db diff ${URI}`)).stderr).toContain("has no entry");
  });

  test("suggests an entry, uses defaults, and refuses without a project", async () => {
    at.write({ "app.py": "" });
    const none = await at.run(`db diff ${URI}`);
    expect(none).toMatchObject({ exit: 1, stderr: expect.stringContaining("No project found") });
    at.write({ "pyproject.toml": "[tool.service]\n" });
    const ran = await at.run(`db diff ${URI}`);
    expect(ran.stderr).toContain(
      'warning: pyproject.toml has no entry for cloud://acme:main; defaults are used. To configure it, add:\n\n    [[tool.service.database]]\n    name = "cloud://acme:main"\n',
    );
    expect(at.bodyOf("databasePlan").settings).toEqual({});
  });
});

describe("cli db update", () => {
  test("uploads missing files, applies the plan, waits and prints the generation", async () => {
    at.project();
    at.write({ "data/big.bin": randomBytes(20 * MIB), "data/same.txt": "x = 1\n", "empty.txt": "" });
    const ran = await at.run(`db update ${URI} -f`);
    expect(ran.exit).toBe(0);
    expect(ran.stdout).toContain("~ cloud://acme:main         will be updated  AVAILABLE\n");
    expect(ran.stdout).toContain("\ncloud://acme:main generation 2 done\n");
    expect(ran.stderr).toContain("uploading: 20.0 MiB of 20.0 MiB\n");
    expect(ran.stderr).toContain("next: cli schema update app.py cloud://acme:main\n");
    expect(at.asked()).toEqual([
      "databasePlan",
      "blobMissing",
      "blobUpload",
      "blobUpload",
      "databaseUpdate",
      "operationShow",
      "databaseShow",
    ]);
    const { expected_generation: expectedGeneration, files } = at.bodyOf("databaseUpdate");
    expect(expectedGeneration).toBe(1);
    expect(files).toEqual(at.bodyOf("databasePlan").files);
    expect(files.find(({ path }: { path: string }) => path === "data/big.bin").chunks).toHaveLength(3);
    expect(at.stored.size).toBe(4);
    const again = await at.run(`db update ${URI} -f --json`);
    expect(JSON.parse(again.stdout)).toMatchObject({ in_agreement: true, status: null, operation: null });
    // requested even without changes, because it drops an earlier update that failed
    expect(at.asked().slice(7)).toEqual(["databasePlan", "databaseUpdate"]);
  });

  test("asks first; exits with 3 without a terminal and changes nothing", async () => {
    at.project();
    expect(await at.run(`db update ${URI}`, { answer: false })).toMatchObject({ exit: 3 });
    const alone = await at.run(`db update ${URI}`);
    expect(alone.exit).toBe(3);
    expect(alone.stderr).toContain(
      "error: Confirmation is required, but there is no terminal: apply 1 change to cloud://acme:main?\nhint: To confirm in advance: cli db update cloud://acme:main -f\n",
    );
    at.state.plan = { summary: { ops: 1, destructive: 0, rebuild: true, restarts: true } };
    expect((await at.run(`db update ${URI}`)).stderr).toContain("cloud://acme:main, which rebuilds the image?");
    expect(at.asked()).toEqual(["databasePlan", "databasePlan", "databasePlan"]);
    expect((await at.run(`db update ${URI}`, { answer: true })).exit).toBe(0);
  });

  test("-n uploads nothing, shows the plan and exits with 2", async () => {
    at.project();
    const ran = await at.run(`db update ${URI} -n --json`);
    expect(ran.exit).toBe(2);
    expect(JSON.parse(ran.stdout)).toMatchObject({ status: "skipped", operation: null });
    expect(at.asked()).toEqual(["databasePlan"]);
  });

  test("names the running services that keep the previous settings", async () => {
    at.project();
    at.answers.serviceList = () => ({
      items: [hostedService(), hostedService({ uri: `${URI}/stopped`, state: "STOPPED" })],
      next: null,
    });
    const op = { target: "settings", op: "change", severity: "additive" } as const;
    const changed = { ...op, details: {}, lines: [], description: "db_input_media_dest will be s3://b/p" };
    at.state.plan = { ops: [{ ...changed, requires_restart: true }], in_agreement: false };
    const ran = await at.run(`db update ${URI} -f`);
    expect(ran.exit).toBe(0);
    expect(ran.stderr).toContain(
      "then, for running services to use the settings: cli service restart cloud://acme:main/ingest\n",
    );
    at.state.plan = { ops: [{ ...changed, requires_restart: false }], in_agreement: false };
    expect((await at.run(`db update ${URI} -f`)).stderr).not.toContain("service restart");
  });

  test("reduces a resource only when allowed", async () => {
    at.project();
    at.state.plan = { summary: { ops: 1, destructive: 1, rebuild: false, restarts: true } };
    const refused = await at.run(`db update ${URI} -f`);
    expect(refused.exit).toBe(3);
    expect(refused.stderr).toContain("hint: To do it anyway: cli db update cloud://acme:main --allow-destructive -f\n");
    expect((await at.run(`db update ${URI} -f --allow-destructive`)).exit).toBe(0);
    expect(at.bodyOf("databaseUpdate").allow_destructive).toBe(true);
  });

  test.each([
    ["15m", ["databasePlan", "databaseShow", "databaseStart", "operationShow", "databasePlan"]],
    ["never", ["databasePlan", "databaseShow"]],
  ])("starts a database stopped by sleep after %s before the update", async (sleepAfter, asked) => {
    at.project();
    at.state.plan = { state: "STOPPED" };
    at.answers.databaseShow = () => ({ ...DATABASE, state: "STOPPED", sleep_after: sleepAfter });
    at.answers.databaseStart = () => {
      at.state.plan = { state: "AVAILABLE" };
      return changeOf("database.start", { state: "STARTING" });
    };
    at.answers.operationShow = () => DONE;
    const ran = await at.run(`db update ${URI} -f`);
    expect(ran.exit).toBe(sleepAfter === "never" ? 1 : 0);
    expect(at.asked().slice(0, 5)).toEqual(asked);
  });

  test.each(["PROVISIONING", "UPDATING", "STARTING", "FAILED", "DELETING"] as const)(
    "refuses a database that is %s before any upload",
    async (state) => {
      at.project();
      at.state.plan = { state };
      const ran = await at.run(`db update ${URI} -f`);
      expect(ran.exit).toBe(1);
      expect(ran.stderr).toContain(`error: cloud://acme:main is ${state}; it must be AVAILABLE to be updated.\nhint: `);
      expect(at.asked()).toEqual(["databasePlan"]);
    },
  );

  test("reports changes when another update was faster", async () => {
    at.project();
    at.answers.databaseUpdate = () => {
      throw appError("generation_moved", { detail: "cloud://acme:main is at generation 3; the plan was for 1." });
    };
    const ran = await at.run(`db update ${URI} -f --json`);
    expect(ran.exit).toBe(1);
    expect(JSON.parse(ran.stdout).code).toBe("generation_moved");
  });

  test("shows build output and ends a failed build with its output", async () => {
    at.project();
    at.state.plan = { summary: { ops: 1, destructive: 0, rebuild: true, restarts: true } };
    at.answers.operationLog = async function* () {
      yield logLine(1, "Resolved 3 packages");
    };
    at.answers.operationShow = async () => {
      await expect.poll(() => at.asked().includes("operationLog")).toBe(true);
      const error = { code: "build_failed", detail: "There is no package nosuch.", hint: "Correct requirements.txt." };
      return { ...DONE, state: "failed", error };
    };
    const ran = await at.run(`db update ${URI} -f`);
    expect(ran.exit).toBe(1);
    expect(ran.stderr).toMatch(
      / {4}Resolved 3 packages\n(.*\n)*error: There is no package nosuch.\nhint: Correct requirements.txt.\n$/,
    );
  });

  test("--no-wait returns after the request and Ctrl-C leaves it running", async () => {
    at.project();
    at.answers.operationShow = async () => {
      await sleep(20);
      return { ...DONE, state: "running" };
    };
    const left = await at.run(`db update ${URI} -f --no-wait`);
    expect(left).toMatchObject({ exit: 0, stdout: expect.stringContaining("cloud://acme:main generation 2 begun\n") });
    at.stored.clear();
    const interrupt = new AbortController();
    const running = at.run(`db update ${URI} -f`, { signal: interrupt.signal });
    await expect.poll(() => at.asked().filter((name) => name === "operationShow").length).toBeGreaterThan(2);
    interrupt.abort();
    const ran = await running;
    expect(ran.exit).toBe(130);
    expect(ran.stderr).toContain("hint: Wait for it: cli operations wait op1\n");
  });
});
