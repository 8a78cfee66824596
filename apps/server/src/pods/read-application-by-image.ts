import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { mkdir, open } from "node:fs/promises";
import { dirname, join } from "node:path";
import { appError } from "@appdb/contract/errors";
import type { Manifest } from "@appdb/contract/manifest";
import type { VolumeLayout } from "@appdb/pods/driver/local-driver";
import type { PodExit } from "@appdb/pods/driver/pod-driver";
import type { PodFolder, TaskRunner } from "@appdb/pods/driver/task-runner";
import type { TenantDocuments } from "@appdb/python-runtime/documents/tenant-documents";
import { hideSecrets } from "@appdb/python-runtime/images/build-secrets";
import { DRAFT_PREFIX } from "@appdb/python-runtime/images/image-folder";
import {
  MANIFEST_TIMEOUT_MS,
  MAX_MANIFEST_BYTES,
  manifestArguments,
  type WrittenManifest,
  withoutPaths,
} from "@appdb/python-runtime/workers/read-manifest";
import { removeFolder } from "@appdb/system/files/remove-folder";
import { pythonEnvironment } from "@appdb/system/processes/spawn-python";
import { databaseEnvironment } from "./database-environment.ts";
import { imageFolder, type PodServerPaths } from "./database-paths.ts";
import type { FoundRuntime } from "./database-runtime.ts";
import type { HostRuntime, ReadInput } from "./host-runtime.ts";
import type { LocalLayoutInput } from "./local-layout.ts";
import { tasksOf } from "./pod-bounds.ts";
export interface ApplicationTaskDeps {
  readonly paths: PodServerPaths;
  readonly layout: Pick<VolumeLayout, "folder">;
  readonly tasks: TaskRunner;
  readonly findRuntime: LocalLayoutInput["findRuntime"];
  readonly materializeTree: HostRuntime["materializeTree"];
  readonly documents: Pick<TenantDocuments, "readManifest">;
}

/** Maximum bytes that an import may write, for example caches of models. */
const DISK_BYTES = 1_000_000_000;
const FILES = 20_000;
const LAST_WORDS = 2_000;
const OUTPUT = "manifest.json";
/** The manifest goes to a file, because a task's output is lines for people. */
const SHELL = 'out=$1; shift; exec "$@" >"$out"';

/**
 * Makes an image's Python read an application file in a task. The task has the database's limits and environment, and
 * is isolated from its pods.
 * @throws app_invalid and related codes, manifest_invalid, environment_failed; blobs_missing; the abort's reason
 */
export async function readApplicationByImage(
  deps: ApplicationTaskDeps,
  input: ReadInput,
  onLine: (line: string) => void,
  signal: AbortSignal,
): Promise<Manifest> {
  const { database_id: databaseId, hash, org_id: orgId, tree } = input;
  const name = randomBytes(6).toString("hex");
  // among images, so that the cleanup of killed builds removes it after a kill
  const scratch = join(dirname(imageFolder(deps.paths.home, orgId, name)), `${DRAFT_PREFIX}${name}`);
  const [found] = await Promise.all([
    deps.findRuntime({ org_id: orgId, hash }),
    deps.materializeTree({ org_id: orgId, database_id: databaseId, digest: tree }, signal),
    mkdir(scratch, { recursive: true, mode: 0o711 }),
  ]);
  const projectRoot = deps.layout.folder({ kind: "project-tree", database_id: databaseId, digest: tree });
  const runtime = { ...found.runtime, project_root: projectRoot };
  try {
    const written = await runTask(deps, input, { ...found, runtime, scratch, name }, onLine, signal);
    return await deps.documents.readManifest({ app_file: input.app_file, python: runtime.python, written }, orgId);
  } catch (error) {
    throw withoutPaths(error, runtime);
  } finally {
    await removeFolder(scratch);
  }
}

type Found = FoundRuntime & {
  readonly runtime: { readonly project_root: string };
  readonly scratch: string;
  readonly name: string;
};

async function runTask(
  { tasks }: ApplicationTaskDeps,
  { app_file: appFile, database_id: databaseId, org_id: orgId, resources, secrets, vars }: ReadInput,
  { env, folders, name, runtime, scratch }: Found,
  onLine: (line: string) => void,
  signal: AbortSignal,
): Promise<WrittenManifest> {
  const { library_paths: libraryPaths, project_root: projectRoot, python } = runtime;
  const revealed = Object.fromEntries([...secrets].map(([key, secret]) => [key, secret.reveal()]));
  const variables = databaseEnvironment(vars, revealed, env).env;
  const hide = hideSecrets(revealed);
  const output = join(scratch, OUTPUT);
  const read = new Set([projectRoot, ...folders]);
  let stderr = "";
  const exit = await tasks.run(
    {
      id: `read-${name}`,
      labels: { organization_id: orgId, database_id: databaseId, kind: "database" },
      program: "/bin/sh",
      args: ["-c", SHELL, "sh", output, python, ...manifestArguments({ app_file: appFile, project_root: projectRoot })],
      env: pythonEnvironment({ env: variables, library_paths: libraryPaths }),
      cwd: projectRoot,
      folders: [{ path: scratch, mode: "write" }, ...[...read].map((path): PodFolder => ({ path, mode: "code" }))],
      limits: {
        cpu: resources.cpu,
        memory_mb: resources.memory_mb,
        tasks: tasksOf(resources),
        timeout_ms: MANIFEST_TIMEOUT_MS,
        disk_bytes: DISK_BYTES,
        files: FILES,
      },
      network: "internet",
      // hosts for builds are not for code that runs
      allowed_hosts: [],
      onLine(written) {
        const line = hide(written).replaceAll(`${projectRoot}/`, "");
        stderr = `${stderr}${line}\n`.slice(-LAST_WORDS);
        onLine(line);
      },
    },
    signal,
  );
  refuseExceeded(appFile, exit, resources.memory_mb);
  return { stdout: await readOutput(output, appFile), stderr, ending: describe(exit) };
}

/** The task's user made the file, so open neither links nor pipes. */
async function readOutput(path: string, appFile: string): Promise<string> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const found = await file.stat();
    if (!found.isFile()) return "";
    if (found.size > MAX_MANIFEST_BYTES) throw tooLong(appFile, found.size);
    return await file.readFile("utf8");
  } finally {
    await file.close();
  }
}

function tooLong(appFile: string, bytes: number): Error {
  return appError("app_invalid", {
    detail: `${appFile} cannot be read: its manifest has ${bytes} bytes; the maximum is ${MAX_MANIFEST_BYTES}.`,
    hint: "Declare fewer tables, or split the application into several databases.",
    meta: { app_file: appFile },
  });
}

function describe({ code, signal }: PodExit): string | undefined {
  if (code === 0) return undefined;
  return code === null ? `signal ${signal}` : `code ${code}`;
}

const EXCEEDED = {
  time: `it took more than ${MANIFEST_TIMEOUT_MS / 60_000} minutes`,
  disk: "it wrote too much",
  files: "it wrote too many files",
} as const;

/** @throws app_invalid */
function refuseExceeded(
  appFile: string,
  { exceeded, is_out_of_memory: isOutOfMemory }: PodExit,
  memoryMb: number,
): void {
  const tooMuch = exceeded && EXCEEDED[exceeded];
  const reason = isOutOfMemory ? `it needed more than the database's ${memoryMb} MB of memory` : tooMuch;
  if (reason === null) return;
  throw appError("app_invalid", {
    detail: `The new image could not read ${appFile}: ${reason}.`,
    hint: `Load large data in functions, not during the import of ${appFile}.`,
    meta: { app_file: appFile },
  });
}
