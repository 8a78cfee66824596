import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "./lib/paths.mjs";

/** Where code handles folders that tenants can write. Nothing in them acts on a path of a tenant but through `files/tenant-files.ts`. */
const HANDLING_TENANTS = [
  "apps/server/src/control-plane/databases",
  "apps/server/src/control-plane/logs",
  "apps/server/src/control-plane/schema",
  "apps/server/src/control-plane/services",
  "apps/server/src/gateway",
  "apps/server/src/pods",
  "apps/server/src/reconciler",
  "packages/adapters/src/pods",
];

/** Files there that import `node:fs`, and what they do with it. A new one needs a reason that names no folder of a tenant. */
const REASONS: Readonly<Record<string, string>> = {
  "apps/server/src/gateway/acme/acme-orders.ts": "reads the operator's authority",
  "apps/server/src/gateway/certificate.ts": "reads the operator's certificate",
  "apps/server/src/gateway/kept-state.ts": "reads a file of the server's own",
  "apps/server/src/gateway/local-door.ts": "makes a socket of the server's own",
  "apps/server/src/pods/connect-pod.ts": "opens a socket by O_PATH and O_NOFOLLOW, and connects by descriptor",
  "apps/server/src/pods/database-runtime.ts": "looks at the installation's Python",
  "apps/server/src/pods/open-builder.ts": "makes folders of the server's own",
  "apps/server/src/pods/read-application.ts": "makes a folder, and reads one file of it by O_NOFOLLOW",
  "apps/server/src/reconciler/collect-trees.ts": "moves trees of project files, which pods only read",
  "apps/server/src/pods/isolation.ts": "looks at what the driver keeps",
  "apps/server/src/reconciler/make-folder.ts": "makes folders of the server's own",
  "apps/server/src/reconciler/move-former-storage.ts": "renames, from descriptors that inTenantFolder opened",
  "apps/server/src/reconciler/pods-home.ts": "reads a file of the server's own",
  "apps/server/src/reconciler/resume-databases.ts": "looks at folders of the server's own, by lstat",
  "apps/server/src/reconciler/resume-services.ts": "looks at folders of the server's own, by lstat",
  "packages/adapters/src/pods/container-groups.ts": "control groups",
  "packages/adapters/src/pods/container-host.ts": "settings of the kernel",
  "packages/adapters/src/pods/container-image.ts": "makes an image from empty folders",
  "packages/adapters/src/pods/container-launch.ts": "makes what the driver keeps of a start",
  "packages/adapters/src/pods/container-network.ts": "reads the machine's resolvers",
  "packages/adapters/src/pods/container-settings.ts": "looks at the system's folders",
  "packages/adapters/src/pods/control-groups.ts": "control groups",
  "packages/adapters/src/pods/find-engine.ts": "looks for sockets of engines",
  "packages/adapters/src/pods/log-files.ts": "reads files from a descriptor that inTenantFolder opened",
  "packages/adapters/src/pods/open-groups.ts": "control groups",
  "packages/adapters/src/pods/pod-launch.ts": "makes what the driver keeps of a start",
  "packages/adapters/src/pods/pod-log.ts": "makes files from a descriptor that inTenantFolder opened",
  "packages/adapters/src/pods/pod-run.ts": "renames what the driver keeps of a start",
  "packages/adapters/src/pods/pod-state.ts": "what the driver keeps",
  "packages/adapters/src/pods/pod-users.ts": "what the driver keeps",
  "packages/adapters/src/pods/sandbox-bounds.ts": "what the driver keeps of a start",
  "packages/adapters/src/pods/sandbox-check.ts": "looks at programs and settings of the machine",
  "packages/adapters/src/pods/sandbox-files.ts": "what the driver keeps of a start",
  "packages/adapters/src/pods/sandbox-host.ts": "looks at a device",
  "packages/adapters/src/pods/sandbox-layout.ts": "looks at the system's folders",
  "packages/adapters/src/pods/sandbox-pods.ts": "what the driver keeps of a start",
  "packages/adapters/src/pods/sandbox-reach.ts":
    "what the driver keeps of a start; the mounted folders are compared with it",
  "packages/adapters/src/pods/sandbox-task.ts": "what the driver keeps of a task",
  "packages/adapters/src/pods/task-watch.ts": "asks a file system what is free",
};

test("only files with a reason act on files where folders of tenants are handled", () => {
  const found = HANDLING_TENANTS.flatMap((folder) => filesIn(folder)).filter(actsOnFiles);
  expect(found.sort()).toEqual(Object.keys(REASONS).sort());
});

test("a file that imports node:fs in any way is found", () => {
  for (const line of [
    'import { rmSync } from "node:fs";',
    'import { rm } from "node:fs/promises";',
    'const { rm } = await import("node:fs/promises");',
    "import * as fs from 'fs';",
  ]) {
    expect(importsFiles(line), line).toBe(true);
  }
  expect(importsFiles('import { removeFolder } from "@appdb/adapters/files/remove-folder";')).toBe(false);
});

function filesIn(folder: string): string[] {
  const entries = readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true });
  return entries.flatMap((entry) => {
    const is_code = entry.isFile() && /(?<!\.test)\.ts$/.test(entry.name);
    return is_code ? [join(entry.parentPath, entry.name).slice(ROOT.length + 1)] : [];
  });
}

function actsOnFiles(file: string): boolean {
  return importsFiles(readFileSync(join(ROOT, file), "utf8"));
}

function importsFiles(text: string): boolean {
  return /["'](node:)?fs(\/promises)?["']/.test(text);
}
