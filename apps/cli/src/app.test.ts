import { dataColumn, dataTable } from "@appdb/contract/testing/tables";
import { VERSION } from "@appdb/contract/version";
import { schemaPlan } from "@appdb/testkit/schema-plan";
import { describe, expect, test } from "vitest";
import { listCommands } from "./app.ts";
import { DATABASE } from "./testing/databases.ts";
import { type DaemonAnswers, HEALTH, runCli, SERVICE, servicePlan } from "./testing/fake-context.ts";
import { hostedService } from "./testing/services.ts";
import { URI } from "./testing/upload-project.ts";

const RECOMPUTED = {
  table: "main/docs",
  columns: ["title_upper"],
  cascade: [],
  views: [],
  on_error: "abort" as const,
  errors_only: false,
  rows: 0,
  job: "019a",
  rows_done: 0,
  errors: 0,
};

const COLUMNS = [dataColumn("id", "Int", { is_key: true }), dataColumn("title", "String")];
const TABLE = dataTable("docs", { columns: COLUMNS });
const WRITTEN = { inserted: 0, updated: 1, deleted: 1, errors: 0 };

const MAIN = { name: "main", tables: 1, views: 0, bytes: 8_192, media_bytes: 0, projects: [], services: [] };

/** A daemon without data that accepts every request. */
const WILLING: DaemonAnswers = {
  health: async () => HEALTH,
  schemaPlan: async () => schemaPlan(),
  schemaApply: async () => schemaPlan(),
  schemaPrune: async () => schemaPlan(),
  sqlRun: async () => '{"columns":[]}\n{"done":{"count":0,"has_more":false}}\n',
  queryExplain: async () => ({
    query: "app:by_n",
    source: { file: "app.py", line: 1 },
    statements: ["select 1"],
    parts: [],
    plan: ["Result"],
  }),
  servicePlan: async () => servicePlan(),
  serviceApply: async () => servicePlan(),
  servicePrune: async () => servicePlan(),
  serviceList: async () => [SERVICE],
  serviceRestart: async () => SERVICE,
  serviceStop: async () => SERVICE,
  openTarget: async () => ({ dsn: "", catalog_version: 1 }),
  serviceLogs: async function* () {
    yield "a line";
  },
  recomputePlan: async () => RECOMPUTED,
  recompute: async () => RECOMPUTED,
  errors: async () => [],
  jobList: async () => [],
  jobCancel: async () => ({ id: "019a" }),
  databaseList: async () => [MAIN],
  limitList: async () => [{ name: "workers", value: 1, setting: "SERVICE_WORKERS", default: 1 }],
  tableList: async () => ({ tables: [TABLE], folders: [] }),
  tableShow: async () => TABLE,
  rowList: async () => ({ rows: [{ id: 1 }], next: null }),
  rowShow: async () => ({ id: 1 }),
  rowCount: async () => ({ count: 1 }),
  rowUpdate: async () => WRITTEN,
  rowDelete: async () => WRITTEN,
  databaseDelete: async () => ({ name: "main", tables: [], services: [] }),
  stop: async () => ({}),
};

const HOSTED_SERVICE = hostedService();
const OPERATION = { id: "op1", kind: "org.create", target: "acme", state: "succeeded", actor: "ann@example.com" };

const UNCHANGED = { database: DATABASE, operation: null };

/** An empty control plane that accepts every request. */
const DEPLOY = {
  id: "019a",
  app_file: "app.py",
  state: "done",
  created_by: "ann",
  created_at: "2026-11-23T10:00:00.000Z",
  ended_at: null,
} as const;
const CONTROL = {
  whoami: {
    email: "ann@example.com",
    organization: { id: "o1", name: "acme", role: "owner" },
    organizations: 1,
    key: null,
  },
  sessionList: [],
  sessionSwitch: { organization: { id: "o1", name: "acme", role: "owner" }, organizations: 1 },
  orgCreate: { id: "o1", name: "acme" },
  orgList: [],
  keyCreate: { name: "ci", grants: [], api_key: "sk_x" },
  keyRotate: { name: "ci", grants: [], api_key: "sk_x" },
  keyList: [],
  keyDelete: undefined,
  secretSet: { name: "NAME", scope: "organization", restart: [] },
  secretList: [],
  secretDelete: undefined,
  operationList: [],
  operationShow: OPERATION,
  operationCancel: OPERATION,
  eventList: [],
  databaseList: [],
  databaseShow: DATABASE,
  databaseStart: UNCHANGED,
  databaseStop: UNCHANGED,
  databaseRestart: UNCHANGED,
  databaseRetry: UNCHANGED,
  databaseDelete: UNCHANGED,
  databaseUndelete: UNCHANGED,
  databaseLogs: [],
  serviceShow: HOSTED_SERVICE,
  serviceRetry: { service: HOSTED_SERVICE, operation: null },
  serviceRollback: { service: HOSTED_SERVICE, operation: null },
  serviceRollbackPlan: { from: 2, to: 1, ops: [] },
  releaseList: [],
  deployRollbackPlan: { deploy: DEPLOY, ops: [] },
  deployRollback: { deploy: DEPLOY, operations: [] },
  mediaList: { items: [], next: null },
  mediaUsage: { files: 1, bytes: 1, entries: [], stored: { objects: 1, bytes: 1 }, room_bytes: null, room_of: null },
  mediaRemove: { removed: 1, missing: [] },
  mediaPrune: { objects: 1, bytes: 1 },
  tableChange: { plan: schemaPlan() },
  historyList: { entries: [] },
};

/** Arguments of each command that takes some. */
const ARGUMENTS: Readonly<Record<string, string>> = {
  "db status": URI,
  "db logs": URI,
  "db start": URI,
  "db stop": URI,
  "db restart": URI,
  "db retry": URI,
  "db delete": `${URI} -f`,
  "db undelete": URI,
  completions: "bash",
  recompute: "main/docs -f",
  errors: "main",
  describe: "main/docs",
  columns: "main",
  indexes: "main",
  rows: "main/docs",
  get: "main/docs 1",
  count: "main/docs",
  update: "main/docs 1 --set title=x",
  delete: "main/docs 1 -f",
  drop: `${URI}/docs -f`,
  "drop-dir": `${URI}/reports -f`,
  rename: `${URI}/docs papers`,
  mv: `${URI}/docs ${URI}/reports`,
  history: `${URI}/docs`,
  shell: "main -c ls",
  "jobs list": "main",
  "org create": "acme",
  "org switch": "acme",
  "key create": "ci",
  "key delete": "ci",
  "key rotate": "ci",
  "secret set": "acme NAME=value",
  "secret delete": "acme NAME",
  "operations show": "op1",
  "operations wait": "op1",
  "operations cancel": "op1",
  "jobs cancel": "main 019a",
  "schema diff": "app.py main",
  "schema update": "app.py main",
  "schema check": "app.py",
  "schema prune": "app.py main",
  export: "main/docs -o /dev/null",
  "query run": "table_docs",
  "query explain": "app.py main by_n",
  "service run": "app.py main",
  "service diff": "app.py main",
  "service update": "app.py main",
  "service logs": "main/ingest",
  "service restart": "main/ingest",
  "service stop": "main/ingest",
  "service check": "app.py",
  "service prune": "app.py main",
  "server suspend": "acme",
  "server resume": "acme",
  "server quota": "acme --databases 5",
  "server reset-link": "ann@example.com",
  "service retry": `${URI}/ingest`,
  "service releases": `${URI}/ingest`,
  "service rollback": `${URI}/ingest -f`,
  rollback: `${URI} -f`,
  "media ls": "mediafs://acme:main/home",
  "media rm": "mediafs://acme:main/home/a.jpg",
  "media du": "mediafs://acme:main/home",
  "media prune": "mediafs://acme:main/home -f",
};

const COMMANDS = (await listCommands()).map(({ command }) => command);

/** Commands whose exit status 2 says that something is pending. */
const PLANNING = /^((schema|service|db) .*|deploy|rollback|drop|drop-dir|rename|mv|media prune)$/;

describe("every command", () => {
  // These need a folder and have their own tests; run and dev never end on their own, and psql prints no JSON.
  const others = [
    "init",
    "db diff",
    "db update",
    "db build-image",
    "service run",
    "dev",
    "deploy",
    "media cp",
    "insert",
    "psql",
  ];
  test.each(COMMANDS.filter((command) => !others.includes(command)))(
    "cli %s --json prints exactly one JSON document",
    async (command) => {
      const ran = await runCli(`${command} ${ARGUMENTS[command] ?? ""} --json`.replace("  ", " "), {
        client: WILLING,
        control: CONTROL,
        cwd: "/",
        // the answer is passed on unchanged; the server defines its contents
        context: { operate: async (request) => request as never },
      });
      expect(() => JSON.parse(ran.stdout)).not.toThrow();
      expect(ran.exit).toBe(0);
    },
  );

  test.each(COMMANDS)("cli %s --json prints its problem as one JSON document", async (command) => {
    const ran = await runCli(`${command} --json --no-such-option`, { client: WILLING });
    expect(JSON.parse(ran.stdout)).toMatchObject({ code: "usage", detail: expect.stringContaining("no-such-option") });
    expect(ran.stderr).toContain("error: ");
    expect(ran.exit).toBe(PLANNING.test(command) ? 1 : 2);
  });

  test.each(COMMANDS)("cli %s --help shows two of its own examples", async (command) => {
    const ran = await runCli(`${command} --help`);
    expect(ran).toMatchObject({ exit: 0, stderr: "" });
    const examples = ran.stdout.split("EXAMPLES\n")[1]?.split("\n\n")[0]?.split("\n") ?? [];
    expect(examples.filter((line) => line.includes(`cli ${command}`)).length).toBeGreaterThanOrEqual(2);
  });
});

describe("the command line", () => {
  test("lists the commands when none is given", async () => {
    const ran = await runCli("");
    expect(ran).toMatchObject({ exit: 0, stderr: "" });
    expect(ran.stdout).toContain("schema update app.py main");
  });

  test.each([
    ["shcema", 2, "cli schema"],
    ["idxs main", 2, "cli indexes"],
    ["computed main", 2, "cli columns --computed"],
    ["schema dif", 1, "cli schema diff"],
    ["daemon statsu", 2, "cli daemon status"],
    ["service lsit", 1, "cli service list"],
    ["media put", 2, "cli media cp"],
    ["media remove", 2, "cli media rm"],
  ])("cli %s suggests the intended command", async (words, exit, meant) => {
    const ran = await runCli(words);
    expect(ran.exit).toBe(exit);
    expect(ran.stderr).toContain(
      `error: No command named 'cli ${words.replace(" main", "")}'.\nhint: Did you mean: ${meant}\n`,
    );
  });

  test.each([
    ["help", "USAGE"],
    ["help schema", "cli schema diff"],
    ["schema help", "cli schema diff"],
    ["help schema diff", "cli schema diff app.py main"],
    ["-V", VERSION],
  ])("cli %s shows the same as in other commands", async (words, told) => {
    const ran = await runCli(words);
    expect(ran).toMatchObject({ exit: 0, stderr: "" });
    expect(ran.stdout).toContain(told);
  });

  test("points an unknown command to the help", async () => {
    expect((await runCli("frobnicate")).stderr).toContain("hint: See what there is: cli --help");
  });

  test("suggests the intended option for a misspelled one", async () => {
    const ran = await runCli("schema update app.py main --alow-destructive");
    expect(ran.stderr).toContain("No option named --alow-destructive; did you mean --allow-destructive?");
  });

  test("names missing and superfluous arguments", async () => {
    expect((await runCli("schema diff")).stderr).toContain("FILE is missing.");
    expect((await runCli("schema diff app.py main more")).stderr).toContain(
      "'more' is one argument too many: expected 2.",
    );
  });

  test("reports an internal error without its stack", async () => {
    const ran = await runCli("service list", { client: {} });
    expect(ran.exit).toBe(1);
    expect(ran.stderr).toContain("error: Internal error of the command: The test did not expect the call serviceList.");
    expect(ran.stderr).not.toContain(" at ");
  });
});

describe("daemon", () => {
  test("status describes the daemon and exits with 1 when none runs", async () => {
    const ran = await runCli("daemon status", { client: WILLING });
    expect(ran.exit).toBe(0);
    expect(ran.stdout).toContain(`process 4711, port 40123, version ${VERSION}`);
    const none = await runCli("daemon status --json", { has_daemon: false });
    expect(none.exit).toBe(1);
    expect(JSON.parse(none.stdout)).toMatchObject({ running: false, port: null });
  });

  test("stop succeeds when no daemon runs", async () => {
    expect(await runCli("daemon stop", { has_daemon: false })).toMatchObject({ exit: 0, stdout: "No daemon runs.\n" });
    expect((await runCli("daemon stop", { client: WILLING })).stdout).toContain("process 4711");
    expect((await runCli("daemon stop -f", { client: WILLING })).stdout).toContain("process 4711");
    expect((await runCli("daemon restart -f", { client: WILLING })).exit).toBe(0);
  });

  test("stop accepts -f for scripts", async () => {
    const ran = await runCli("daemon stop -f", { client: WILLING });
    expect(ran).toMatchObject({ exit: 0, stderr: "" });
    expect(ran.stdout).toContain("process 4711");
  });
});

describe("doctor", () => {
  test("exits with 1 and a hint when something is missing", async () => {
    const missing = { name: "uv", ok: false, detail: "not there", hint: "Install it." };
    const ran = await runCli("doctor", { context: { doctor: async () => [missing] } });
    expect(ran.exit).toBe(1);
    expect(ran.stdout).toContain("MISSING  uv  not there\n             Install it.");
  });
});

describe("completions", () => {
  test("refuses an unknown shell with a usage error", async () => {
    const ran = await runCli("completions tcsh");
    expect(ran.exit).toBe(2);
    expect(ran.stderr).toContain("bash, zsh, fish");
  });

  test.each(["bash", "zsh", "fish"])("%s completes every command", async (shell) => {
    const { stdout } = await runCli(`completions ${shell}`);
    for (const word of COMMANDS.flatMap((command) => command.split(" "))) expect(stdout).toContain(word);
  });
});
