import { join } from "node:path";
import { appError } from "@appdb/contract/errors";
import { dataTable } from "@appdb/contract/testing/tables";
import { VERSION } from "@appdb/contract/version";
import { diskSpace } from "@appdb/system/files/disk-space";
import { expect, test } from "vitest";
import type { FoundDaemon } from "../../context.ts";
import { DATABASE } from "../../testing/databases.ts";
import { CONFIG, type DaemonAnswers, type FakeContext, HEALTH, runCli } from "../../testing/fake-context.ts";
import { hostedService } from "../../testing/services.ts";

const MAIN = {
  name: "main",
  tables: 1,
  views: 1,
  bytes: 8_192,
  media_bytes: 1_024,
  projects: [],
  services: [{ name: "main/ingest", state: "FAILED" as const }],
};
const CLIENT: DaemonAnswers = {
  databaseList: async () => [MAIN, { ...MAIN, name: "other", services: [] }],
  tableList: async () => ({
    tables: [dataTable("docs", { errors: 2 }), dataTable("long", { view_of: "docs", errors: 1 })],
    folders: [],
  }),
  limitList: async () => [
    { name: "workers", value: 4, setting: "SERVICE_WORKERS", default: 1 },
    { name: "connections", value: 6, setting: null, default: 6 },
  ],
};
const HOSTED = {
  ...DATABASE,
  usage: { disk_bytes: 2_048, disk_limit_bytes: 4_096, memory_bytes: null, is_disk_full: true },
  used: { cpu_seconds: 90, awake_seconds: 3_600 },
};
const withEnv = (env: Readonly<Record<string, string>>, parts: Partial<typeof CONFIG> = {}): FakeContext => ({
  cwd: "/",
  context: { config: { ...CONFIG, daemon_env: env, ...parts } },
});

test("config shows where each setting comes from, and no secret", async () => {
  const env = {
    SERVICE_HOME: "/data",
    SERVICE_LOCAL_DATABASE_URL: "postgres://ann:secret@db/x",
    SERVICE_LOG_LEVEL: "",
  };
  const ran = await runCli("config --json", withEnv(env, { home: "/data" }));
  expect(ran.stdout).not.toContain("secret@");
  const settings = JSON.parse(ran.stdout) as { name: string }[];
  const named = (name: string) => settings.find((setting) => setting.name === name);
  expect(named("home")).toEqual({ name: "home", value: "/data", source: "environment", from: "SERVICE_HOME" });
  expect(named("api_url")).toMatchObject({ value: "https://cloud.example.com", source: "environment" });
  expect(named("sign_in")).toMatchObject({ value: "***", source: "file", from: "/home/ada/.service/sessions.json" });
  expect(named("local_database_url")).toMatchObject({ value: "***", from: "SERVICE_LOCAL_DATABASE_URL" });
  expect(named("log_level")).toEqual({ name: "log_level", value: "info", source: "default", from: null });
  expect(named("project")).toMatchObject({ value: null, source: "default" });
  expect((await runCli("config", withEnv(env))).stdout).toMatch(/^pg_bin +not set +default$/m);
});

test("status shows this machine, or one of its databases", async () => {
  const ran = await runCli("status", { client: CLIENT });
  expect(ran.stdout).toContain(`version   ${VERSION}\nhome      /home/ada/.service\ndaemon    process 4711`);
  expect(ran.stdout).toMatch(/^main +1 table, 1 view +3 failed cells +8\.0 KiB and 1\.0 KiB of files$/m);
  const one = JSON.parse((await runCli("status other --json", { client: CLIENT })).stdout);
  expect(one.databases.map(({ name }: { name: string }) => name)).toEqual(["other"]);
  expect((await runCli("status nope", { client: CLIENT })).stderr).toContain("There is no database nope.");
});

test("status starts no daemon", async () => {
  const ran = await runCli("status", { has_daemon: false });
  expect(ran).toMatchObject({ exit: 0, stderr: "" });
  expect(ran.stdout).toContain("daemon    not running");
});

test("status of a hosted database does not wake it", async () => {
  const awake = await runCli("status cloud://acme:main --json", {
    control: { databaseShow: HOSTED, tableList: { tables: [dataTable("docs", { errors: 2 })], folders: [] } },
  });
  expect(JSON.parse(awake.stdout)).toMatchObject({
    daemon: null,
    server: "https://cloud.example.com",
    databases: [{ name: "cloud://acme:main", state: "AVAILABLE", tables: 1, views: 0, failed_cells: 2, bytes: 2_048 }],
  });
  const asleep = await runCli("status cloud://acme:main", {
    control: { databaseShow: { ...HOSTED, state: "STOPPED" } },
  });
  expect(asleep.stdout).toContain("cloud://acme:main  STOPPED  tables unknown");
});

test("health names failed services and fails", async () => {
  const ran = await runCli("health", { client: CLIENT });
  expect(ran.exit).toBe(1);
  expect(ran.stdout).toContain("ok      postgres  up\n");
  expect(ran.stdout).toContain("FAILED  service   main/ingest FAILED\n");
  expect(ran.stdout).toContain("See why: cli service logs main/ingest\n");
  expect(await runCli("health other", { client: CLIENT })).toMatchObject({ exit: 0 });
  expect((await runCli("health nope", { client: CLIENT })).stdout).toContain("nope does not exist");
  expect((await runCli("health", { has_daemon: false })).stdout).toContain("Start it: cli daemon start");
});

test("health names a home that cannot be written instead of a start that fails", async () => {
  const home = join(import.meta.filename, "home");
  const { exit, stdout } = await runCli("health", { ...withEnv({}, { home }), has_daemon: false });
  expect(exit).toBe(1);
  expect(stdout).toContain(`The home folder ${home} cannot be written: a part of the path is a file.`);
  expect(stdout).toContain("Set SERVICE_HOME to a folder that you own.");
  expect(stdout).not.toContain("cli daemon start");
});

test("health and daemon status name why PostgreSQL cannot be started, and what to do", async () => {
  const hint = "Correct the cause; PostgreSQL then starts automatically.";
  const failure = { detail: "PostgreSQL could not be started: code 1.", hint };
  const refused = appError("database_unavailable", failure);
  const client = { databaseList: () => Promise.reject(refused) } as DaemonAnswers;
  const found = { file: { pid: 4711, port: 40123, started_at: "", version: VERSION }, health: HEALTH };
  const daemon = (health: object) => ({
    ensure: () => Promise.reject(refused),
    find: async () =>
      ({ ...found, health: { ...HEALTH, ...health }, client: { call: client.databaseList } }) as unknown as FoundDaemon,
    waitUntilGone: async () => undefined,
    endHung: () => Promise.reject(refused),
  });
  const failing = { context: { daemon: daemon({ postgres: "starting", postgres_failure: failure }) } };
  const ran = await runCli("health", failing);
  expect(ran.exit).toBe(1);
  expect(ran.stdout).toMatch(
    /^FAILED {2}postgres {2}PostgreSQL could not be started: code 1\.\n {18}Correct the cause/m,
  );
  expect((await runCli("daemon status", failing)).stdout).toContain(`${failure.detail}\n${hint}\n`);
  expect((await runCli("status", failing)).stdout).toContain(`${failure.detail}\n${hint}\n`);
  const away = await runCli("health", { context: { daemon: daemon({ postgres: "starting" }) } });
  expect(away.stdout).toContain("Wait half a minute.");
});

test("health names a view that has no rows, and fails", async () => {
  const list = { tables: [dataTable("docs"), dataTable("long", { view_of: "docs", is_broken: true })], folders: [] };
  const databases = [{ ...MAIN, views: 1, services: [] }];
  const client: DaemonAnswers = { ...CLIENT, databaseList: async () => databases, tableList: async () => list };
  const local = await runCli("health", { client });
  expect(local.exit).toBe(1);
  expect(local.stdout).toContain("FAILED  view      main/long has no rows: a column that it reads is gone\n");
  expect(local.stdout).toContain("or drop it: cli drop main/long");
  const control = { databaseShow: HOSTED, serviceList: [], tableList: list };
  const hosted = await runCli("health cloud://acme:main", { control });
  expect(hosted.stdout).toContain("cloud://acme:main/long has no rows");
});

const diskOf = (freeBytes: number) => ({ readDisk: async () => diskSpace(100 * 2 ** 30, freeBytes) });

test("health and status name a disk that is full or nearly full", async () => {
  const isUp = { ...CLIENT, databaseList: async () => [] };
  const full = await runCli("health", { client: isUp, context: diskOf(12 * 2 ** 20) });
  expect(full.exit).toBe(1);
  expect(full.stdout).toContain("FAILED  disk      FULL: 12.0 MiB of 100 GiB free\n");
  expect(full.stdout).toContain("Free space on the disk of /home/ada/.service.");
  const low = await runCli("health", { client: isUp, context: diskOf(2 ** 29) });
  expect(low.exit).toBe(0);
  expect(low.stdout).toContain("ok      disk      nearly full: 512 MiB of 100 GiB free\n");
  const stopped = await runCli("health", { has_daemon: false, context: diskOf(0) });
  expect(stopped.stdout).toContain("FAILED  disk ");
  expect((await runCli("status", { client: isUp, context: diskOf(0) })).stdout).toContain("disk      FULL: 0 B of");
});

test("status and health of a PostgreSQL that does not answer say why", async () => {
  const client: DaemonAnswers = {
    databaseList: () =>
      Promise.reject(appError("disk_full", { detail: "The disk has 1 MB left.", hint: "Free space." })),
  };
  const shown = await runCli("status", { client });
  expect(shown).toMatchObject({ exit: 0, stderr: "" });
  expect(shown.stdout).toContain("The disk has 1 MB left.\nFree space.\n");
  expect((await runCli("health", { client })).stdout).toMatch(
    /FAILED +postgres +The disk has 1 MB left\.\n.*Free space\./,
  );
});

test("health of a hosted database checks its state, pods and disk", async () => {
  const pod = {
    id: "p1",
    kind: "database",
    state: "NOT_READY",
    restarts: 2,
    started_at: null,
    reason: "no answer",
    memory_bytes: null,
  };
  const control = { databaseShow: { ...HOSTED, pods: [pod] }, serviceList: [] };
  const ran = await runCli("health cloud://acme:main --json", { control });
  expect(ran.exit).toBe(1);
  expect(JSON.parse(ran.stdout).checks).toMatchObject([
    { name: "server", ok: true },
    { name: "database", ok: true, detail: "AVAILABLE" },
    { name: "pod", ok: false, detail: "p1 NOT_READY: no answer" },
    { name: "disk", ok: false, detail: "2.0 KiB of 4.0 KiB" },
  ]);
});

test("health of a hosted database names a pod that lacked memory, until its database has more", async () => {
  const pod = {
    id: "p1",
    kind: "database",
    state: "READY",
    restarts: 1,
    started_at: new Date().toISOString(),
    reason: null,
    memory_bytes: null,
    ended_by_memory: { at: new Date(Date.now() - 65_000).toISOString(), memory_mb: 1_024 },
  };
  const check = async (memoryMb: number) => {
    const resources = { ...HOSTED.resources, memory_mb: memoryMb };
    const hosted = { ...HOSTED, usage: null, desired_resources: resources, pods: [pod] };
    const control = { databaseShow: hosted, serviceList: [], tableList: { tables: [], folders: [] } };
    return await runCli("health cloud://acme:main", { control });
  };
  const lacking = await check(1_024);
  expect(lacking.exit).toBe(1);
  expect(lacking.stdout).toContain(
    "p1 READY: it ended 1m5s ago, because it needed more memory than its memory_mb of 1024",
  );
  expect(lacking.stdout).toContain("cli db update cloud://acme:main");
  expect((await check(2_048)).stdout).toContain("Everything works.");
});

test("health of a hosted database fails while the disk of its server is full", async () => {
  const ran = await runCli("health cloud://acme:main", {
    control: {
      databaseShow: { ...HOSTED, usage: null, is_server_disk_full: true, server_disk_free_bytes: 39_600_000 },
      serviceList: [],
      tableList: { tables: [], folders: [] },
    },
  });
  expect(ran.exit).toBe(1);
  expect(ran.stdout).toContain("The disk of the server has 37 MB left: rows can be read, and writes are refused.");
  expect(ran.stdout).toContain("Ask the operator of the server to free space on its disk.");
  expect(ran.stdout).not.toContain("Everything works.");
});

test("health of a hosted database names services that cannot start or do not serve yet", async () => {
  const failure = { code: "schema_mismatch", detail: "docs has no column x.", hint: "cli schema update app.py" };
  const usage = { ...HOSTED.usage, disk_bytes: 0, is_disk_full: false };
  const services = [
    hostedService({ state: "STARTING", failure }),
    hostedService({ name: "b", state: "STARTING" }),
    hostedService({ name: "c", state: "STOPPED" }),
  ];
  const ran = await runCli("health cloud://acme:main --json", {
    control: { databaseShow: { ...HOSTED, usage, state: "STARTING" }, serviceList: services },
  });
  expect(ran.exit).toBe(1);
  expect(JSON.parse(ran.stdout).checks).toMatchObject([
    { name: "server", ok: true },
    { name: "database", ok: false, detail: "STARTING" },
    { ok: false, detail: "ingest STARTING: schema_mismatch: docs has no column x.", hint: failure.hint },
    { ok: false, detail: "b STARTING", hint: expect.stringContaining("cli service list cloud://") },
    { ok: true, detail: "c STOPPED", hint: null },
  ]);
});

test("health fails while a local service starts", async () => {
  const services = [{ name: "main/ingest", state: "STARTING" as const }];
  const ran = await runCli("health", { client: { databaseList: async () => [{ ...MAIN, services, views: 0 }] } });
  expect(ran.exit).toBe(1);
  expect(ran.stdout).toContain("main/ingest STARTING");
  expect(ran.stdout).toContain("Wait until it serves: cli service list main/ingest");
});

test("limits shows values in force, their settings and defaults", async () => {
  expect((await runCli("limits", { client: CLIENT })).stdout).toBe(
    "workers      4  SERVICE_WORKERS  default 1\nconnections  6  fixed\n",
  );
  const hosted = await runCli("limits cloud://acme:main --json", { control: { databaseShow: HOSTED } });
  expect(JSON.parse(hosted.stdout).limits).toContainEqual({
    name: "memory_mb",
    value: 1_024,
    setting: "memory_mb",
    default: null,
  });
});

test("usage sums what the databases of an organization used", async () => {
  const control = { databaseList: [HOSTED, { ...HOSTED, uri: "cloud://acme:b", usage: null }] };
  const ran = await runCli("usage --org acme", { control });
  expect(ran.stdout).toMatch(/^cloud:\/\/acme:main +AVAILABLE +1m30s +1h0?m? +2\.0 KiB/m);
  expect(ran.stdout).toMatch(/^together +3m +2h/m);
  expect(JSON.parse((await runCli("usage --org acme --json", { control })).stdout).databases).toHaveLength(2);
});
