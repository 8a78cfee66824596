import { setTimeout as sleep } from "node:timers/promises";
import type { CallAnswer } from "@appdb/contract/clients/control-client";
import { notAvailable } from "@appdb/contract/control/database-advice";
import { appError } from "@appdb/contract/errors";
import { beforeEach, describe, expect, test } from "vitest";
import { HANG_UP } from "../../testing/control-server.ts";
import { useDatabaseCommands } from "../../testing/database-commands.ts";
import { AT, changeOf, DATABASE, DONE, logLine } from "../../testing/databases.ts";

const { answers, asked, entry, notes, requests, run } = useDatabaseCommands();

describe("selection of the database", () => {
  beforeEach(() => {
    answers.databaseShow = ({ params }) => ({ ...DATABASE, uri: `cloud://${params["org"]}:${params["db"]}` });
  });

  test("uses the named one, otherwise the project's only hosted one", async () => {
    expect((await run("db status cloud://acme:Main")).exit).toBe(0);
    expect(requests()[0]?.params).toEqual({ org: "acme", db: "main" });
    entry("cloud://acme:staging", "cloud://<your-org>:main");
    expect((await run("db status")).stdout).toContain("cloud://acme:staging");
  });

  test("refuses none and several with a list of candidates", async () => {
    const none = await run("db status");
    expect(none).toMatchObject({ exit: 1, stdout: "" });
    expect(none.stderr).toContain("Which database? None was named, and");
    entry("cloud://acme:main", "cloud://acme:staging");
    const several = await run("db restart");
    expect(several.exit).toBe(1);
    expect(several.stderr).toContain("has 2 hosted ones: cloud://acme:main, cloud://acme:staging.");
    expect(several.stderr).toContain("hint: Name it: cli db restart cloud://acme:main\n");
    expect(asked()).toEqual([]);
  });

  test.each([
    ["status", "cli db list --local"],
    ["logs", "cli daemon status"],
    ["start", "cli daemon start"],
    ["stop", "cli daemon stop"],
    ["restart", "cli daemon restart"],
    ["retry", "cli schema update app.py main"],
    ["undelete", "cli db list --local"],
    ["build-image", "cli schema update app.py main"],
    ["update", "cli schema update app.py main"],
    ["diff", "cli schema diff app.py main"],
  ])("db %s of a local name names the local command", async (verb, next) => {
    const ran = await run(`db ${verb} main`);
    expect(ran.exit).toBe(1);
    expect(ran.stderr).toContain(`error: main is a local database. cli db ${verb} works only on hosted databases.\n`);
    expect(ran.stderr).toMatch(new RegExp(`hint: .*: ${next}\n$`));
    expect(asked()).toEqual([]);
  });
});

describe("cli db status", () => {
  test("says why it takes no writes, and the next step", async () => {
    answers.databaseShow = () => ({ ...DATABASE, is_server_disk_full: true, server_disk_free_bytes: 2 ** 25 });
    const { stdout } = await run("db status cloud://acme:main");
    expect(stdout).toContain("writes      refused. The disk of the server has 32 MB left: rows can be read");
    expect(stdout).toContain("hint        Ask the operator of the server to free space on its disk.");
  });

  test("prints state, actual and desired resources, and pods", async () => {
    answers.databaseShow = () => ({
      ...DATABASE,
      generation: 3,
      desired_resources: { ...DATABASE.resources, memory_mb: 2048 },
      image: {
        hash: "1f2e3d4c".padEnd(64, "0"),
        source: "uv.lock",
        python: "3.12.8",
        packages: 41,
        bytes: 2 ** 28,
        built_at: AT,
      },
      project: { digest: "80a25df4".padEnd(64, "0"), files: 2, bytes: 3_174, uploaded_at: AT },
      last_build: {
        state: "failed",
        error: { code: "build_failed", detail: "No package nosuch.", hint: null },
        operation_id: "op1",
        at: AT,
      },
      sleep_after: "15m",
      awake_because: "2 connections",
      usage: { disk_bytes: 2 ** 30, disk_limit_bytes: 10 * 2 ** 30, memory_bytes: 2 ** 27, is_disk_full: false },
      used: { cpu_seconds: 92.5, awake_seconds: 275_000 },
      operation: { id: "op9", kind: "database.update" },
      pods: [
        {
          id: "db-1",
          kind: "database",
          state: "READY",
          restarts: 2,
          started_at: new Date(Date.now() - 7_505_000).toISOString(),
          reason: null,
          memory_bytes: 2 ** 27,
          ended_by_memory: { at: new Date(Date.now() - 7_510_000).toISOString(), memory_mb: 2048 },
        },
        {
          id: "db-2",
          kind: "service",
          state: "FAILED",
          restarts: 0,
          started_at: null,
          reason: "out of memory",
          memory_bytes: null,
        },
      ],
    });
    expect((await run("db status cloud://acme:main")).stdout).toBe(
      `main  AVAILABLE
    uri         cloud://acme:main
    cpu         1
    memory      1024 MiB   desired 2048 MiB   128 MiB used
    disk        10 GiB   1.0 GiB used
    workers     1
    used        1m32s of processors, awake 3d4h
    image       uv.lock  1f2e3d4c, Python 3.12.8, 41 packages, 256 MiB
    project     2 files, 3.1 KiB  80a25df4  of ${AT}
    build       failed: No package nosuch. (build_failed)
    generation  3
    sleeps      after 15m idle; a request wakes it
    awake       2 connections
    operation   database.update  op9

POD ID  STATUS  READY  RESTARTS  AGE   MEMORY
db-1    READY   1/1    2         2h5m  128 MiB
db-2    FAILED  0/1    0
    db-2: out of memory
    db-1: it ended 2h5m ago, because it needed more memory than its memory_mb of 2048
    hint: Give the database more memory_mb in its entry of service.toml: cli db update cloud://acme:main
`,
    );
    expect(JSON.parse((await run("db status cloud://acme:main --json")).stdout).generation).toBe(3);
  });

  test("shows media in a bucket with their limit, and when it counted", async () => {
    const usage = {
      disk_bytes: 2 ** 30,
      disk_limit_bytes: 10 * 2 ** 30,
      memory_bytes: null,
      is_disk_full: false,
      media_bytes: 3 * 2 ** 30,
      media_objects: 12,
      is_media_in_bucket: true,
      media_limit_bytes: 5 * 2 ** 30,
      measured_at: new Date(Date.now() - 24_500).toISOString(),
    };
    const lines = async (more: Partial<typeof usage>) => {
      answers.databaseShow = () => ({ ...DATABASE, usage: { ...usage, ...more } });
      return (await run("db status cloud://acme:main")).stdout;
    };
    expect(await lines({})).toContain(
      `disk        10 GiB   1.0 GiB used, counted 24s ago
    media       5 GiB   3.0 GiB in 12 media files, in the bucket of the server, counted 24s ago
`,
    );
    expect(await lines({ media_bytes: 5 * 2 ** 30 })).toContain(
      "counted 24s ago; FULL: files are refused until media_gb is increased\n",
    );
    expect(await lines({ is_media_in_bucket: false })).toContain(
      "1.0 GiB used, counted 24s ago; 3.0 GiB of it in 12 media files\n",
    );
  });

  test("explains FAILED and shows the deadline to undelete", async () => {
    answers.databaseShow = () => ({
      ...DATABASE,
      state: "FAILED",
      failure: { code: "pod_failed", detail: "PostgreSQL ended.", hint: "Try: cli db retry cloud://acme:main" },
    });
    const { stdout } = await run("db status cloud://acme:main");
    expect(stdout).toContain("    failure     PostgreSQL ended. (pod_failed)\n    hint        Try: cli db retry");
    answers.databaseShow = () => ({ ...DATABASE, state: "DELETING", purged_at: AT });
    expect((await run("db status cloud://acme:main")).stdout).toContain(
      `    deleted     deleted permanently at ${AT}; restore it before with: cli db undelete cloud://acme:main\n`,
    );
  });
});

describe("cli db list", () => {
  const org = (name: string): CallAnswer<"orgShow"> => ({
    id: name,
    name,
    display_name: name,
    role: "owner",
    databases: 1,
    database_quota: 10,
    created_at: AT,
    etag: "1",
  });

  test("lists databases of all organizations or of one", async () => {
    answers.orgList = () => ({ items: [org("acme"), org("other")], next: null });
    answers.databaseList = ({ params }) => ({
      items: [
        {
          ...DATABASE,
          uri: `cloud://${params["org"]}:main`,
          state: params["org"] === "acme" ? "AVAILABLE" : "STOPPED",
        },
      ],
      next: null,
    });
    expect((await run("db list")).stdout).toBe(
      "cloud://acme:main   AVAILABLE  cpu 1  1024 MiB  10 GiB\ncloud://other:main  STOPPED    cpu 1  1024 MiB  10 GiB\n",
    );
    expect(JSON.parse((await run("db list --org other --json")).stdout)).toMatchObject([{ uri: "cloud://other:main" }]);
    answers.databaseList = () => ({ items: [], next: null });
    expect(await run("db list")).toMatchObject({ exit: 0, stdout: "No databases.\n" });
    expect((await run("db list --json")).stdout).toBe("[]\n");
  });
});

describe("start, stop, restart, retry, undelete", () => {
  test.each([
    ["start", "databaseStart"],
    ["stop", "databaseStop"],
    ["restart", "databaseRestart"],
    ["retry", "databaseRetry"],
    ["undelete", "databaseUndelete"],
  ] as const)("db %s waits until it is done and prints the state", async (verb, route) => {
    const states = ["pending", "running", "succeeded"] as const;
    let at = 0;
    answers[route] = () => changeOf(`database.${verb}`, { state: "STARTING" });
    answers.operationShow = () => ({ ...DONE, kind: `database.${verb}`, state: states[at++] ?? "succeeded" });
    answers.databaseShow = () => DATABASE;
    const ran = await run(`db ${verb} cloud://acme:main`);
    expect(ran).toMatchObject({ exit: 0, stdout: "cloud://acme:main  AVAILABLE  cpu 1  1024 MiB  10 GiB\n" });
    expect(asked()).toEqual([route, "operationShow", "operationShow", "operationShow", "databaseShow"]);
    expect(requests()[0]?.headers["idempotency-key"]).toMatch(/./);
  });

  test("--no-wait returns at once and shows how to wait", async () => {
    answers.databaseStop = () => changeOf("database.stop", { state: "STOPPING" });
    answers.operationShow = () => ({ ...DONE, state: "running", ended_at: null });
    const ran = await run("db stop cloud://acme:main --no-wait");
    expect(ran).toMatchObject({ exit: 0, stdout: expect.stringContaining("cloud://acme:main  STOPPING") });
    expect(ran.stderr).toContain("It continues. Wait for it: cli operations wait op1\n");
    expect(JSON.parse((await run("db stop cloud://acme:main --no-wait --json")).stdout)).toMatchObject({
      database: { state: "STOPPING" },
      operation: { id: "op1", state: "running" },
    });
  });

  test("changes nothing when the state is already reached", async () => {
    answers.databaseStop = () => ({ database: { ...DATABASE, state: "STOPPED" }, operation: null });
    const ran = await run("db stop cloud://acme:main");
    expect(ran).toMatchObject({ exit: 0, stderr: "It is already stopped.\n" });
    expect(ran.stdout).toContain("STOPPED");
  });

  test("starts a database that went to sleep automatically", async () => {
    let state: "STOPPED" | "AVAILABLE" = "STOPPED";
    let sleepAfter = "15m";
    answers.errorList = () => {
      if (state === "STOPPED") throw notAvailable("cloud://acme:main", "STOPPED", "asked");
      return { tables: [] };
    };
    answers.databaseShow = () => ({ ...DATABASE, state, sleep_after: sleepAfter });
    answers.databaseStart = () => {
      state = "AVAILABLE";
      return changeOf("database.start", { state: "STARTING" });
    };
    answers.operationShow = () => DONE;
    expect((await run("errors cloud://acme:main")).exit).toBe(0);
    expect(asked()).toEqual(["errorList", "databaseShow", "databaseStart", "operationShow", "errorList"]);
    expect(notes()).toEqual(["cloud://acme:main is sleeping and is started."]);
    [state, sleepAfter] = ["STOPPED", "never"];
    const ran = await run("errors cloud://acme:main");
    expect(ran.exit).toBe(1);
    expect(ran.stderr).toContain("hint: Wake it first: cli db start cloud://acme:main");
  });

  test("prints a refusal with the server's hint", async () => {
    answers.databaseRetry = () => {
      throw appError("database_state", {
        detail: "cloud://acme:main is AVAILABLE.",
        hint: "There is nothing to try again.",
      });
    };
    expect(await run("db retry cloud://acme:main")).toMatchObject({
      exit: 1,
      stderr: "error: cloud://acme:main is AVAILABLE.\nhint: There is nothing to try again.\n",
    });
  });

  test("prints a failed operation's error or the one that replaced it", async () => {
    answers.databaseStart = () => changeOf("database.start");
    answers.operationShow = () => ({
      ...DONE,
      state: "failed",
      error: { code: "pod_failed", detail: "PostgreSQL ended.", hint: "Look: cli db logs cloud://acme:main" },
    });
    const failed = await run("db start cloud://acme:main --json");
    expect(failed.exit).toBe(1);
    expect(JSON.parse(failed.stdout)).toMatchObject({ code: "pod_failed", meta: { operation: "op1" } });
    answers.operationShow = () => ({ ...DONE, state: "cancelled" });
    const cancelled = await run("db start cloud://acme:main");
    expect(cancelled).toMatchObject({
      exit: 1,
      stderr: expect.stringContaining("was cancelled or replaced by another request"),
    });
  });

  test("Ctrl-C leaves the operation running and exits with 130", async () => {
    answers.databaseStart = () => changeOf("database.start");
    answers.operationShow = async () => {
      await sleep(20);
      return { ...DONE, state: "running" };
    };
    const interrupt = new AbortController();
    const running = run("db start cloud://acme:main", { signal: interrupt.signal });
    await expect.poll(() => asked().length).toBeGreaterThan(2);
    interrupt.abort();
    const ran = await running;
    expect(ran.exit).toBe(130);
    expect(ran.stderr).toContain("hint: Wait for it: cli operations wait op1\n");
    expect(ran.stdout).toBe("");
  });

  test("retries while the server restarts", async () => {
    answers.databaseStart = () => changeOf("database.start");
    let times = 0;
    answers.operationShow = () => {
      // once for the request, once for its retry
      if (times++ < 2) throw HANG_UP;
      return DONE;
    };
    answers.databaseShow = () => DATABASE;
    expect((await run("db start cloud://acme:main")).exit).toBe(0);
  });
});

describe("cli db build-image", () => {
  test("shows build output across broken streams and the result", async () => {
    answers.databaseShow = () => DATABASE;
    answers.databaseBuildImage = () => changeOf("database.build");
    let isOver = false;
    answers.operationLog = async function* ({ query }) {
      if (query["after"] === "0") {
        yield logLine(1, "Resolved 3 packages");
        yield logLine(2, "Installing\u001b[2J");
        throw HANG_UP;
      }
      yield logLine(3, "done");
      isOver = true;
    };
    answers.operationShow = async () => {
      await expect.poll(() => isOver).toBe(true);
      return { ...DONE, kind: "database.build" };
    };
    answers.databaseShow = () => DATABASE;
    const ran = await run("db build-image cloud://acme:main");
    expect(ran).toMatchObject({ exit: 0, stdout: "cloud://acme:main: rebuilt its image.\n" });
    expect(ran.stderr).toContain("    Resolved 3 packages\n    Installing\\u001b[2J\n    done\n");
    expect(
      requests()
        .filter(({ name }) => name === "operationLog")
        .map(({ query }) => query["after"]),
    ).toEqual(["0", "2"]);
  });

  test("a failed build prints its error and, with --json, its last lines", async () => {
    answers.databaseShow = () => DATABASE;
    answers.databaseBuildImage = () => changeOf("database.build");
    answers.operationLog = async function* () {
      for (let line = 1; line <= 30; line++) yield logLine(line, `line ${line}`);
    };
    answers.operationShow = async () => {
      await expect.poll(() => asked().includes("operationLog")).toBe(true);
      return { ...DONE, state: "failed", error: { code: "build_failed", detail: "No package nosuch.", hint: null } };
    };
    const ran = await run("db build-image cloud://acme:main --json");
    expect(ran.exit).toBe(1);
    const problem = JSON.parse(ran.stdout);
    expect(problem).toMatchObject({ code: "build_failed", detail: "No package nosuch." });
    expect(problem.meta.output).toHaveLength(20);
    expect(problem.meta.output.at(-1)).toBe("line 30");
    expect(ran.stderr).toContain(`${JSON.stringify(logLine(1, "line 1"))}\n`);
  });
});
