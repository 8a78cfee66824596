import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { PodStatus } from "@appdb/pods/driver/pod-driver";
import { POD_USERS } from "@appdb/pods/driver/pod-users";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { afterEach, beforeEach, expect, test } from "vitest";
import { SERVER_PATHS } from "../../config/config.ts";
import { databasePaths } from "../../pods/database-paths.ts";
import type { HostRuntime } from "../../pods/host-runtime.ts";
import { createLocateVolume } from "../../pods/locate-volume.ts";
import { servicePaths } from "../../pods/service-paths.ts";
import { moveAllFormerStorage, moveFormerStorage } from "./move-former-storage.ts";

const ID = "0190a0a0-0000-7000-8000-000000000001";
const VICTIM = "0190a0a0-0000-7000-8000-000000000002";
const SERVICE = "0190a0a0-0000-7000-8000-00000000000a";
let home: string;
let calls: string[];

beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), "former-")));
  calls = [];
});

afterEach(() => rmSync(home, { recursive: true, force: true }));

const serviceLog = () =>
  createLocateVolume({ home, runtime_base: home })({ kind: "logs", database_id: ID, service_id: SERVICE });

function depsOf() {
  const driver = {
    list: async ({ kind }: { kind?: string }) => (kind === "service" ? [] : [{ id: `db-${ID}` } as PodStatus]),
    stop: async (id: string) => void calls.push(`stop ${id}`),
    forget: async (id: string) => void calls.push(`forget ${id}`),
  };
  // the parts of a machine that a move uses
  const machine = { paths: { home, runtime_base: home }, pod_users: POD_USERS, driver } as unknown as HostRuntime;
  return { machine, log: createSilentLog() };
}

/** Creates the folder of a database with one service, as version 0.8.0 left it. */
function makeFormer(id = ID): string {
  const folder = join(home, SERVER_PATHS.databases, id);
  put(folder, { "postgres/18/PG_VERSION": "18", "manifests/one": "m", "log/pod.log": "line of the database" });
  put(join(folder, "services", SERVICE), { "log/pod.log": "line of the service", "scratch-1/spool": "rows" });
  return folder;
}

function put(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) {
    const path = join(folder, name);
    mkdirSync(join(path, ".."), { recursive: true });
    writeFileSync(path, text);
  }
}

function expectMoved(): void {
  const deps = depsOf();
  const places = databasePaths(deps.machine.paths, ID);
  const ofService = servicePaths(deps.machine.paths, { id: SERVICE, database_id: ID }, 1);
  expect(readdirSync(places.folder).sort()).toEqual(["data", "log"]);
  expect(readdirSync(places.data_folder).sort()).toEqual(["manifests", "postgres"]);
  expect(readFileSync(join(places.log_folder, "pod.log"), "utf8")).toBe("line of the database");
  expect(readFileSync(join(serviceLog(), "pod.log"), "utf8")).toBe("line of the service");
  expect(existsSync(ofService.scratch_folder)).toBe(false);
  expect(readdirSync(join(home, SERVER_PATHS.movingDatabases))).toEqual([]);
}

test("storage of version 0.8.0 moves once, after its pods have ended", async () => {
  makeFormer();
  expect(await moveAllFormerStorage(depsOf())).toEqual([ID]);
  expectMoved();
  expect(calls).toContain(`stop db-${ID}`);
  calls = [];
  expect(await moveAllFormerStorage(depsOf())).toEqual([]);
  expectMoved();
  expect(calls).toEqual([]);
});

test("continues a killed move from any step", async () => {
  const moving = join(home, SERVER_PATHS.movingDatabases, ID);
  const steps = [
    (folder: string) => folder,
    (folder: string) => renameSync(folder, join(moving, "data")),
    () => renameSync(join(moving, "data", "log"), join(moving, "log")),
    () => {
      const logFolder = serviceLog();
      mkdirSync(join(logFolder, ".."), { recursive: true });
      renameSync(join(moving, "data", "services", SERVICE, "log"), logFolder);
    },
    () => rmSync(join(moving, "data", "services"), { recursive: true }),
  ];
  for (let done = 1; done <= steps.length; done += 1) {
    rmSync(join(home, "server"), { recursive: true, force: true });
    const folder = makeFormer();
    mkdirSync(moving, { recursive: true });
    for (const step of steps.slice(0, done)) step(folder);
    expect(await moveFormerStorage(depsOf(), ID)).toBe(true);
    expectMoved();
  }
});

test("links of a pod are not followed: other databases stay unchanged", async () => {
  const folder = makeFormer();
  const victim = makeFormer(VICTIM);
  for (const name of ["log", "services"]) rmSync(join(folder, name), { recursive: true });
  symlinkSync(join(victim, "log"), join(folder, "log"));
  // in that folder the ids of all databases look like ids of services
  symlinkSync("..", join(folder, "services"));
  await moveFormerStorage(depsOf(), ID);
  const places = databasePaths({ home, runtime_base: home }, ID);
  expect(readdirSync(places.folder)).toEqual(["data"]);
  expect(existsSync(places.services_folder)).toBe(false);
  expect(readFileSync(join(victim, "log", "pod.log"), "utf8")).toBe("line of the database");
  expect(readFileSync(join(victim, "postgres/18/PG_VERSION"), "utf8")).toBe("18");
});

test("a link in place of a service or its log is not moved", async () => {
  const folder = makeFormer();
  const victim = makeFormer(VICTIM);
  const other = "0190a0a0-0000-7000-8000-00000000000b";
  symlinkSync(victim, join(folder, "services", other));
  rmSync(join(folder, "services", SERVICE, "log"), { recursive: true });
  symlinkSync(join(victim, "log"), join(folder, "services", SERVICE, "log"));
  await moveFormerStorage(depsOf(), ID);
  expect(existsSync(databasePaths({ home, runtime_base: home }, ID).services_folder)).toBe(false);
  expect(lstatSync(join(victim, "log")).isDirectory()).toBe(true);
});

test("storage in the new location stays there", async () => {
  const { data_folder: dataFolder, folder } = databasePaths({ home, runtime_base: home }, ID);
  put(dataFolder, { "postgres/18/PG_VERSION": "18" });
  expect(await moveFormerStorage(depsOf(), ID)).toBe(false);
  expect(readdirSync(folder)).toEqual(["data"]);
});
