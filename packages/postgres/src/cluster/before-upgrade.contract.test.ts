import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { VERSION } from "@appdb/contract/version";
import { catalogFormat, ensureCatalog } from "@appdb/engine/catalog/ensure-catalog";
import { locateTools, requirePostgresBin } from "@appdb/system/tools/locate-tools";
import { canMount } from "@appdb/testkit/can-mount";
import { eventually } from "@appdb/testkit/eventually";
import { findCheckout } from "@appdb/testkit/postgres-binaries";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createPgPool } from "../client/pg-pool.ts";
import { readCatalogMigrations } from "../migrations/read-migrations.ts";
import { EmbeddedPostgres } from "./embedded-postgres.ts";
import { nameRuntimeFolder } from "./runtime-folder.ts";

const bin = requirePostgresBin(locateTools({ program_url: import.meta.url, postgres_bin: process.env.SERVICE_PG_BIN }));
const ROOT = findCheckout(import.meta.dirname);

/** Two product versions by their migrations. The older version cannot use databases of the newer one. */
const NEW = readCatalogMigrations();
const OLD = NEW.slice(
  0,
  NEW.findLastIndex(({ is_breaking: isBreaking }) => isBreaking),
);
const [OLD_CATALOG, NEW_CATALOG] = [catalogFormat(OLD).newest, catalogFormat(NEW).newest];

let home: string;
let runtimeFolder: string;

beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), "appdb-upgrade-"));
  runtimeFolder = nameRuntimeFolder(home, undefined);
});

afterAll(() => {
  for (const folder of [home, runtimeFolder]) rmSync(folder, { recursive: true, force: true });
});

const inCluster = (...path: string[]) => join(home, "postgres", "18", ...path);
const copies = () => readdirSync(join(home, "postgres", "before-upgrade"));
const unfinished = () => readdirSync(join(home, "postgres")).filter((name) => name.startsWith("unfinished-"));
/** The last released version, which wrote the older databases. */
const OLD_VERSION = "0.8.0";

const readMark = (folder: string) => JSON.parse(readFileSync(join(folder, "format.json"), "utf8"));

/** PostgreSQL of a version. */
function makePostgres(migrations: typeof NEW, folder = join(home, "postgres")): EmbeddedPostgres {
  return new EmbeddedPostgres({
    bin,
    folder,
    runtime_folder: runtimeFolder,
    log_file: join(home, "postgres.log"),
    log: createSilentLog(),
    // no power cut happens here, and other tests keep the disk busy
    settings: { fsync: "off" },
    format: catalogFormat(migrations),
  });
}

/** Starts a version, runs a statement in the database `main`, and stops it. Returns the resulting rows and catalog. */
async function runVersion(migrations: typeof NEW, statement = "select 1") {
  const found = await runMigrations(migrations, statement);
  if (migrations === OLD) markAsOlder();
  return found;
}

/** The code under test writes its own version, which the older product does not have. */
function markAsOlder(): void {
  const path = inCluster("format.json");
  writeFileSync(path, JSON.stringify({ ...readMark(inCluster()), version: OLD_VERSION }));
}

async function runMigrations(migrations: typeof NEW, statement: string) {
  await using postgres = makePostgres(migrations);
  await postgres.ensureDatabase("main");
  await using sql = createPgPool({ dsn: postgres.dsn("main"), max: 2, application_name: "upgrade test" });
  await ensureCatalog(sql, migrations);
  await sql.query({ text: statement });
  const { rows } = await sql.query({
    text: "select (select array_agg(id order by id) from notes), (select max(id) from appdb.migrations)",
  });
  return rows[0];
}

const insert = (id: number) => `insert into notes values (${id})`;

test("copies an older database once, upgrades it, and the documented rollback works", async () => {
  const made = await runVersion(OLD, `create table notes (id int primary key); ${insert(1)}`);
  expect([made, existsSync(join(home, "postgres", "before-upgrade"))]).toEqual([["{1}", String(OLD_CATALOG)], false]);

  expect(await runVersion(NEW, insert(2))).toEqual(["{1,2}", String(NEW_CATALOG)]);
  expect(copies()).toEqual([VERSION]);
  const copy = join(home, "postgres", "before-upgrade", VERSION);
  expect([readMark(copy), readMark(inCluster())]).toEqual([
    { catalog: OLD_CATALOG, version: OLD_VERSION },
    { catalog: NEW_CATALOG, version: VERSION },
  ]);
  const modeOf = (...path: string[]) => statSync(join(copy, ...path)).mode & 0o777;
  expect([modeOf(), modeOf("global", "pg_control")]).toEqual([0o700, 0o600]);
  // the older version is refused and not recorded as the last one, so no copy replaces the existing copy
  await expect(runVersion(OLD)).rejects.toMatchObject({ code: "catalog_too_new" });
  const { ino } = statSync(copy);
  expect(await runVersion(NEW, insert(3))).toEqual(["{1,2,3}", String(NEW_CATALOG)]);
  expect(statSync(copy).ino).toBe(ino);

  goBack();
  expect(copies()).toEqual([`undone-${VERSION}`]);
  expect(await runVersion(OLD, insert(4))).toEqual(["{1,4}", String(OLD_CATALOG)]);
});

test("a second and third rollback of a version keep the clusters of the previous ones", async () => {
  for (const aside of [`undone-${VERSION}-2`, `undone-${VERSION}-3`]) {
    expect(await runVersion(NEW, insert(9))).toEqual(["{1,4,9}", String(NEW_CATALOG)]);
    goBack();
    expect(copies()).toContain(aside);
    expect(readMark(join(home, "postgres", "before-upgrade", aside)).catalog).toBe(NEW_CATALOG);
    expect(await runVersion(OLD)).toEqual(["{1,4}", String(OLD_CATALOG)]);
  }
});

test("a failed upgrade leaves the database usable by the previous version", async () => {
  const broken = {
    number: NEW_CATALOG + 1,
    name: "broken.sql",
    is_breaking: true,
    sql: "alter table appdb.nowhere add column n int",
  };
  await expect(runVersion([...NEW, broken])).rejects.toMatchObject({ code: "upgrade_failed" });
  expect(copies()).toContain(VERSION);
  expect(await runVersion(OLD, insert(5))).toEqual(["{1,4,5}", String(OLD_CATALOG)]);
});

test("a start killed while copying changes nothing and the next one recopies", async () => {
  const copy = join(home, "postgres", "before-upgrade", VERSION);
  const { ino } = statSync(copy);
  await killWhileCopying();
  expect([statSync(copy).ino, readMark(inCluster()).catalog]).toEqual([ino, OLD_CATALOG]);
  expect(await runVersion(NEW, insert(6))).toEqual(["{1,4,5,6}", String(NEW_CATALOG)]);
  expect([statSync(copy).ino === ino, unfinished()]).toEqual([false, []]);
  goBack();
  expect(await runVersion(OLD)).toEqual(["{1,4,5}", String(OLD_CATALOG)]);
});

test("a full disk or a stop during the copy changes nothing", async () => {
  await withTool("cp", 'echo "cp: error writing here: No space left on device" >&2; exit 1', async () => {
    const error = await runVersion(NEW).catch((met: unknown) => met);
    expect(error).toMatchObject({
      code: "disk_full",
      message: expect.stringMatching(
        /^The database must be copied before .*: the disk had less free space than the copy needs \(cp: error writing here: No space left on device\)\. Nothing was changed\.$/,
      ),
    });
  });
  expect(unfinished()).toEqual([]);
  await withTool("cp", HALFWAY, async () => {
    const postgres = makePostgres(NEW);
    const starting = postgres.start().catch((error: unknown) => error);
    await eventually(() => expect(isHalfway()).toBe(true), { timeout_ms: 40_000 });
    await postgres.stop();
    expect(await starting).toMatchObject({ code: "postgres_failed", message: expect.stringContaining("was stopped") });
  });
  expect([unfinished(), readMark(inCluster()).catalog]).toEqual([[], OLD_CATALOG]);
});

test.each([
  [
    "cannot write a file",
    (from: string) =>
      `echo "cp: cannot create regular file '${from}/unfinished-1/base/1/2': Permission denied" >&2; exit 1`,
    "cp: cannot create regular file 'unfinished-1/base/1/2': Permission denied",
    /^Let the user who runs the product read and write/,
  ],
  [
    "cannot read a file",
    (from: string) =>
      `echo "cp: error reading '${from}/18/base/1/2': Input/output error" >&2; echo "cp: preserving times" >&2; exit 1`,
    "cp: error reading '18/base/1/2': Input/output error",
    /^Check the disk/,
  ],
  [
    "names a path outside",
    () => `echo "cp: cannot stat '/srv/secret/place': Strange" >&2; exit 1`,
    "cp: cannot stat 'place': Strange",
    /^Remove the cause/,
  ],
  ["is killed", () => "kill -KILL $$", "the program that copies was ended by SIGKILL", /^Remove the cause/],
  [
    "ends silently",
    () => "exit 3",
    "the program that copies ended with exit code 3 and wrote no reason",
    /^Remove the cause/,
  ],
])("names the cause of a copy that %s", async (_how, script, reason, hint) => {
  await withTool("cp", script(join(home, "postgres")), async () => {
    await expect(runVersion(NEW)).rejects.toMatchObject({
      code: "postgres_failed",
      message: `The database must be copied before this version upgrades it, and the copy failed: ${reason}. Nothing was changed.`,
      hint: expect.stringMatching(hint),
    });
  });
  expect([unfinished(), readMark(inCluster()).catalog]).toEqual([[], OLD_CATALOG]);
});

test.skipIf(!canMount())("reports the required space before copying to a full disk", async () => {
  const small = join(home, "small");
  mkdirSync(small);
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=120m,mode=0700", "tmpfs", small]);
  try {
    execFileSync("cp", ["-r", join(home, "postgres", "18"), small]);
    await using postgres = makePostgres(NEW, small);
    await expect(postgres.start()).rejects.toMatchObject({
      code: "disk_full",
      message: expect.stringMatching(/too little space: \d+ MB are needed, \d+ MB are free\. Nothing was changed\.$/),
    });
    expect([readdirSync(small), readMark(join(small, "18")).catalog]).toEqual([["18"], OLD_CATALOG]);
  } finally {
    execFileSync("umount", [small]);
  }
});

/** A `cp` that stops half-way. */
const HALFWAY = 'for to do :; done; mkdir "$to" && echo 18 >"$to/PG_VERSION" && exec sleep 60';
const isHalfway = () => unfinished().some((name) => existsSync(join(home, "postgres", name, "PG_VERSION")));

/** Replaces a system program temporarily. */
async function withTool(name: string, script: string, work: () => Promise<void>): Promise<void> {
  const [tools, path] = [join(home, "tools"), process.env.PATH];
  mkdirSync(tools, { recursive: true });
  writeFileSync(join(tools, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  process.env.PATH = `${tools}:${path}`;
  try {
    await work();
  } finally {
    process.env.PATH = path;
    rmSync(tools, { recursive: true });
  }
}

/** Starts the new version in a child process and kills it while it copies. */
async function killWhileCopying(): Promise<void> {
  const [folder, logFile] = [join(home, "postgres"), join(home, "postgres.log")];
  const script = `
    import { EmbeddedPostgres } from "@appdb/postgres/cluster/embedded-postgres";
    const log = { debug() {}, info() {}, warn() {}, error() {} };
    const options = ${JSON.stringify({ bin, folder, runtime_folder: runtimeFolder, log_file: logFile, format: catalogFormat(NEW) })};
    await new EmbeddedPostgres({ ...options, log }).start();
  `;
  const args = ["--conditions=source", "--import", "tsx", "--input-type=module", "-e", script];
  const cwd = join(ROOT, "packages", "testkit");
  await withTool("cp", HALFWAY, async () => {
    const child = spawn(process.execPath, args, { cwd, env: process.env, stdio: "inherit" });
    const exited = once(child, "exit");
    try {
      await eventually(() => expect(isHalfway()).toBe(true), { timeout_ms: 40_000 });
    } finally {
      child.kill("SIGKILL");
      await exited;
    }
  });
}

/** Follows the rollback steps of docs/upgrades.md. */
function goBack(): void {
  const page = readFileSync(join(ROOT, "docs", "upgrades.md"), "utf8");
  const script = /<!-- way back -->\n```sh\n(.*?)```/s.exec(page)?.[1] ?? "";
  const env = { ...process.env, SERVICE_HOME: home };
  expect(script).toContain(`VERSION=${VERSION}\n`);
  const said = execFileSync("sh", ["-c", script], { env });
  expect(JSON.parse(String(said))).toEqual({ catalog: OLD_CATALOG, version: OLD_VERSION });
}
