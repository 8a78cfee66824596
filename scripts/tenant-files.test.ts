import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "./lib/paths.mjs";

/**
 * Code that runs in the server. It may access paths of tenants only through `files/tenant-files.ts` and
 * `files/remove-folder.ts`.
 */
const OF_THE_SERVER = [
  "apps/server/src",
  "packages/system/src/blobs",
  "packages/python-runtime/src/documents",
  "packages/system/src/files",
  "packages/python-runtime/src/images",
  "packages/pods/src/driver",
  "packages/pods/src/sandbox",
  "packages/system/src/processes",
];

/**
 * Files there that import `node:fs`, with their use of it. A new entry needs a reason that involves no tenant's folder.
 */
const REASONS: Readonly<Record<string, string>> = {
  "apps/server/src/config/config.ts": "reads the operator's files",
  "apps/server/src/config/media-url.ts": "reads a file of the server's own",
  "apps/server/src/gateway/objects/object-sockets.ts":
    "makes sockets in folders of the server's own, which pods only read",
  "apps/server/src/storage/materialize-tree.ts": "writes and removes trees of project files, which pods only read",
  "apps/server/src/storage/write-tree.ts": "looks at trees of project files by lstat, which pods only read",
  "apps/server/src/lifecycle/heartbeat.ts": "writes a file of the server's own",
  "apps/server/src/lifecycle/standard-output.ts": "writes to the descriptor of the standard output",
  "apps/server/src/gateway-process/control-socket.ts": "removes a socket of the server's own",
  "apps/server/src/gateway-process/run-gateway.ts": "removes a file of the server's own",
  "apps/server/src/gateway-process/settings-digest.ts": "reads the operator's files",
  "apps/server/src/gateway/acme/acme-orders.ts": "reads the operator's authority",
  "apps/server/src/gateway/acme/certificate.ts": "reads the operator's certificate",
  "apps/server/src/gateway/routing/kept-state.ts": "reads a file of the server's own",
  "apps/server/src/gateway/admin-socket.ts": "makes a socket of the server's own",
  "apps/server/src/config/server-home.ts": "makes and reads files of the server's own",
  "apps/server/src/http/static.ts": "reads files of this program",
  "packages/system/src/files/disk-reserve.ts": "asks a file system what is free",
  "packages/system/src/files/disk-space.ts": "asks a file system what is free",
  "apps/server/src/operator/rotate-master-key.ts": "files of the server's own",
  "apps/server/src/operator/unreachable.ts": "reads a log of the server's own",
  "apps/server/src/pods/connect-pod.ts": "opens a socket by O_PATH and O_NOFOLLOW, and connects by descriptor",
  "apps/server/src/pods/database-paths.ts": "lists the names in a folder of the server's own",
  "apps/server/src/pods/database-runtime.ts": "looks at the installation's Python",
  "apps/server/src/pods/local-layout.ts": "looks at folders of the server's own, by lstat",
  "apps/server/src/pods/make-folder.ts": "makes folders of the server's own",
  "apps/server/src/pods/open-builder.ts": "makes folders of the server's own",
  "apps/server/src/pods/read-application-by-image.ts": "makes a folder, and reads one file of it by O_NOFOLLOW",
  "apps/server/src/reconciler/cleanup/collect-trees.ts": "moves trees of project files, which pods only read",
  "apps/server/src/pods/isolation.ts": "looks at what the driver keeps",
  "apps/server/src/reconciler/databases/move-former-storage.ts":
    "renames, from descriptors that withTenantFolder opened",
  "apps/server/src/reconciler/reconciler.ts": "reads a file of the server's own",
  "apps/server/src/welcome.ts": "a file of the server's own",
  "packages/system/src/blobs/disk-blobs.ts": "uploads, in folders that no tenant sees",
  "packages/system/src/files/private-folder.ts": "makes folders of the person who runs the command",
  "packages/system/src/files/move-file.ts": "renames files of the caller's own",
  "packages/system/src/processes/systems/linux.ts": "reads /proc",
  "packages/system/src/files/deleted-files.ts": "reads /proc",
  "packages/system/src/files/descriptors.ts": "small files of stores and forms, in the pod",
  "packages/system/src/files/file-spool.ts": "scratch files of a pod, in the pod",
  "packages/system/src/files/folder-size.ts": "counts by lstat, and reads no file",
  "packages/system/src/files/remove-folder.ts": "removes by descriptor",
  "packages/system/src/files/sync-files.ts": "syncs images, whose builds have ended",
  "packages/system/src/files/tenant-files.ts": "acts by descriptor",
  "packages/system/src/files/write-entries.ts":
    "writes a validated list into an empty folder, by O_EXCL and O_NOFOLLOW",
  "packages/python-runtime/src/images/build-image.ts": "makes and renames folders of the server's own",
  "packages/python-runtime/src/images/build-steps.ts": "writes into a draft before a build of it begins, and renames",
  "packages/python-runtime/src/images/collect-images.ts": "looks by lstat, and renames folders of the server's own",
  "packages/python-runtime/src/images/compiled-code.ts":
    "links files of images whose builds have ended, and follows no link",
  "packages/python-runtime/src/images/former-images.ts": "lists folders of the server's own",
  "packages/python-runtime/src/images/image-folder.ts": "reads and writes a description where no build can write",
  "packages/python-runtime/src/images/library-paths.ts": "the home's own libraries",
  "packages/python-runtime/src/images/probe-python.ts": "looks at the installation's Python",
  "packages/python-runtime/src/images/find-python.ts": "a person's own machine",
  "packages/python-runtime/src/images/system-packages.ts":
    "unpacks the operator's packages into a folder that no build has",
  "packages/python-runtime/src/images/venv-images.ts": "a person's own machine",
  "packages/pods/src/sandbox/control-groups.ts": "control groups",
  "packages/pods/src/driver/log-files.ts": "reads files from a descriptor that withTenantFolder opened",
  "packages/pods/src/sandbox/open-groups.ts": "control groups",
  "packages/pods/src/driver/pod-launch.ts": "makes what the driver keeps of a start",
  "packages/pods/src/driver/pod-log.ts": "makes files from a descriptor that withTenantFolder opened",
  "packages/pods/src/driver/pod-run.ts": "renames what the driver keeps of a start",
  "packages/pods/src/driver/pod-state.ts": "what the driver keeps",
  "packages/pods/src/driver/pod-users.ts": "what the driver keeps",
  "packages/pods/src/sandbox/sandbox-bounds.ts": "what the driver keeps of a start",
  "packages/pods/src/sandbox/sandbox-check.ts": "looks at programs and settings of the machine",
  "packages/pods/src/sandbox/sandbox-files.ts": "what the driver keeps of a start",
  "packages/pods/src/sandbox/sandbox-host.ts": "looks at a device",
  "packages/pods/src/sandbox/sandbox-layout.ts": "looks at the system's folders",
  "packages/pods/src/sandbox/sandbox-pods.ts": "what the driver keeps of a start",
  "packages/pods/src/sandbox/sandbox-reach.ts":
    "what the driver keeps of a start; the mounted folders are compared with it",
  "packages/pods/src/sandbox/sandbox-task.ts": "what the driver keeps of a task",
  "packages/pods/src/driver/process-pods.ts": "makes folders of pods that run as our own user and are not isolated",
  "packages/pods/src/driver/task-watch.ts": "asks a file system what is free",
  "packages/system/src/files/is-other-folder.ts": "compares the server's own folders",
  "packages/system/src/processes/home-copy.ts": "locks of the server's own, and of a person's home",
  "packages/system/src/processes/run-main.ts": "reads /proc",
  "packages/system/src/processes/live-marks.ts":
    "marks of the processes of a database, in a folder that its code does not see",
  "packages/system/src/processes/numbered-lock.ts": "locks of the server's own, and of a person's home",
  "packages/system/src/processes/private-files.ts": "files of the server's own",
  "packages/system/src/processes/process-table.ts": "reads /proc",
  "packages/system/src/processes/raise-priority.ts": "writes /proc",
};

/** Files that may remove a folder with its contents by path, and why no tenant can interfere in that folder. */
const REMOVES_BY_PATH: Readonly<Record<string, string>> = {
  "apps/server/src/storage/materialize-tree.ts": "pods only read trees",
  "apps/server/src/gateway-process/run-gateway.ts": "sockets of the server's own",
  "apps/server/src/gateway/admin-socket.ts": "sockets of the server's own",
  "packages/system/src/files/remove-folder.ts": "on systems without drivers that isolate",
  "packages/python-runtime/src/images/library-paths.ts": "no tenant sees the home's own libraries",
  "packages/python-runtime/src/images/system-packages.ts": "no build has the folder of archives",
  "packages/python-runtime/src/images/venv-images.ts": "a person's own machine",
  "packages/pods/src/driver/pod-state.ts": "the pod has ended",
};

test("only files with a reason access the server's file system", () => {
  expect(filesWith(importsFiles)).toEqual(Object.keys(REASONS).sort());
});

test("only files with a reason remove or copy folders by path", () => {
  expect(filesWith(removesFolders)).toEqual(Object.keys(REMOVES_BY_PATH).sort());
});

test("finds every form of importing node:fs", () => {
  for (const line of [
    'import { rmSync } from "node:fs";',
    'import { rm } from "node:fs/promises";',
    'const { rm } = await import("node:fs/promises");',
    "import * as fs from 'fs';",
    "const fs = require(`fs`);",
    'process.getBuiltinModule("node:fs")',
    'import { cp } from "fs-extra";',
  ]) {
    expect(importsFiles(line), line).toBe(true);
  }
  expect(importsFiles('import { removeFolder } from "@appdb/system/files/remove-folder";')).toBe(false);
});

test("finds removals and copies of whole folders", () => {
  for (const line of [
    "await rm(path, { recursive: true, force: true });",
    "rmSync(path, {\n  force: true,\n  recursive: true,\n});",
    "cpSync(a, b, { recursive: true })",
    'await run("rm", ["-rf", path]);',
    'spawn("/bin/chown", ["-R", user, path])',
    'execFile("cp", ["-a", a, b])',
  ]) {
    expect(removesFolders(line), line).toBe(true);
  }
  expect(removesFolders("await mkdir(path, { recursive: true }); rmSync(path, { force: true });")).toBe(false);
});

function filesWith(isIt: (text: string) => boolean): string[] {
  const files = OF_THE_SERVER.flatMap((folder) => filesIn(folder));
  return files.filter((file) => isIt(readFileSync(join(ROOT, file), "utf8"))).sort();
}

function filesIn(folder: string): string[] {
  const entries = readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true });
  return entries.flatMap((entry) => {
    const path = join(entry.parentPath, entry.name).slice(ROOT.length + 1);
    const isCode = entry.isFile() && /(?<!\.test)\.m?[jt]sx?$/.test(path) && !path.includes("/testing/");
    return isCode ? [path] : [];
  });
}

function importsFiles(text: string): boolean {
  return /["'`](node:)?(fs|fs\/promises|fs-extra|graceful-fs)["'`]/.test(text);
}

function removesFolders(text: string): boolean {
  const bySystem = /\b(rm|rmSync|rmdir|rmdirSync|cp|cpSync)\([^;]*?\brecursive: true/.test(text);
  return bySystem || /["'`](\/usr)?(\/bin\/)?(rm|cp|mv|chown|chmod)["'`], ?\[/.test(text);
}
