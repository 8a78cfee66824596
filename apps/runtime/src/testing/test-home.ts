import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createLocalClient, type LocalClient } from "@appdb/contract/clients/local-client";
import { type DaemonFile, HOME_PATHS } from "@appdb/contract/home";
import type { App, ServiceRecord } from "@appdb/contract/routes/local";
import { resolveRuntime } from "@appdb/python-runtime/images/resolve-runtime";
import { readManifest } from "@appdb/python-runtime/workers/read-manifest";
import { identifyProcess, isProcessAlive, type ProcessIdentity } from "@appdb/system/processes/process-identity";
import { locateTools } from "@appdb/system/tools/locate-tools";

export const ROOT = fileURLToPath(new URL("../../../../", import.meta.url));
/** The built program, which starts ten times as fast as its sources. The tests' global setup builds it. */
export const BUILT_POD = join(ROOT, "dist", "pod.js");
const POLL_MS = 20;

/** A temporary home with real daemons, and a project with the example application. For tests only. */
export interface TestHome extends AsyncDisposable {
  readonly folder: string;
  readonly home: string;
  readonly project_root: string;
  /** Starts a daemon process without waiting for it. */
  spawnDaemon(env?: Record<string, string>): ChildProcess;
  /** Starts a daemon and waits until it listens. */
  startDaemon(env?: Record<string, string>): Promise<LocalClient>;
  readDaemonFile(): DaemonFile | undefined;
  client(): LocalClient;
  /** The example application as the command would send it. */
  readApp(target: string, env?: Record<string, string>): Promise<App>;
  /** The running PostgreSQL of the home. */
  findPostgres(): ProcessIdentity | undefined;
}

/** Creates the folders. Disposing ends every process of its homes and removes the folder. */
export function openTestHome(): TestHome {
  const folder = mkdtempSync(join(tmpdir(), "appdb-daemon-"));
  const home = join(folder, "Häuser und Höfe");
  const projectRoot = join(folder, "mein Projekt");
  const spawned: ChildProcess[] = [];
  mkdirSync(projectRoot);
  cpSync(join(ROOT, "examples", "quickstart", "app.py"), join(projectRoot, "app.py"));

  function spawnDaemon(env: Record<string, string> = {}): ChildProcess {
    const child = spawn(process.execPath, [BUILT_POD, "local"], {
      cwd: ROOT,
      // biome-ignore lint/style/noProcessEnv: a test passes on its environment
      env: { ...process.env, SERVICE_LOCAL_DATABASE_URL: "", SERVICE_HOME: home, ...env },
      stdio: ["ignore", "ignore", "pipe"],
    });
    spawned.push(child);
    return child;
  }

  function readDaemonFile(): DaemonFile | undefined {
    const path = join(home, HOME_PATHS.daemon);
    return existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as DaemonFile) : undefined;
  }

  function client(): LocalClient {
    const file = readDaemonFile();
    if (file === undefined) throw new Error("No daemon listens.");
    return createLocalClient({ port: file.port, token: readFileSync(join(home, HOME_PATHS.token), "utf8").trim() });
  }

  async function startDaemon(env?: Record<string, string>): Promise<LocalClient> {
    const child = spawnDaemon(env);
    let said = "";
    child.stderr?.on("data", (chunk: Buffer) => {
      said += chunk.toString("utf8");
    });
    await waitFor(() => {
      if (hasEnded(child)) throw new Error(`The daemon ended: ${said}`);
      return readDaemonFile()?.pid === child.pid;
    });
    return client();
  }

  function findPostgres(): ProcessIdentity | undefined {
    const folders = existsSync(join(home, HOME_PATHS.postgres)) ? readdirSync(join(home, HOME_PATHS.postgres)) : [];
    const lock = folders
      .map((name) => join(home, HOME_PATHS.postgres, name, "postmaster.pid"))
      .find((path) => existsSync(path));
    return lock === undefined ? undefined : identifyProcess(Number.parseInt(readFileSync(lock, "utf8"), 10));
  }

  async function dispose(): Promise<void> {
    const services = readServicePids(home);
    for (const child of spawned) if (!hasEnded(child)) child.kill("SIGTERM");
    await Promise.all(spawned.map((child) => (hasEnded(child) ? undefined : once(child, "exit"))));
    for (const left of [findPostgres(), ...services]) {
      if (left !== undefined && isProcessAlive(left)) process.kill(left.pid, "SIGKILL");
    }
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }

  return {
    folder,
    home,
    project_root: projectRoot,
    spawnDaemon,
    startDaemon,
    readDaemonFile,
    client,
    readApp: (target, env) => readExample(home, projectRoot, target, env),
    findPostgres,
    [Symbol.asyncDispose]: dispose,
  };
}

/** Waits until a check is true. A pod that shares its CPU with many others starts in half a minute. */
export async function waitFor(check: () => boolean | Promise<boolean>, timeoutMs = 45_000): Promise<void> {
  const until = Date.now() + timeoutMs;
  while (!(await check())) {
    if (Date.now() > until) throw new Error(`It did not become true within ${timeoutMs} ms: ${check}`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

export function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

/** Identity of a listed service's process. */
export function processOf(record: ServiceRecord | undefined): ProcessIdentity {
  const found = identifyProcess(record?.pid ?? 0);
  if (found === undefined) throw new Error(`The service ${record?.name} has no process.`);
  return found;
}

async function readExample(
  home: string,
  projectRoot: string,
  target: string,
  extra: Record<string, string> = {},
): Promise<App> {
  const tools = locateTools({ program_url: import.meta.url, postgres_bin: undefined });
  // biome-ignore lint/style/noProcessEnv: a test passes on its environment
  const env = { PATH: process.env.PATH ?? "", HOME: process.env.HOME ?? "", ...extra };
  const runtime = await resolveRuntime({ project_root: projectRoot, python: undefined, env, home, tools });
  return { target, runtime, manifest: await readManifest({ runtime, app_file: "app.py" }) };
}

function readServicePids(home: string): ProcessIdentity[] {
  const folder = join(home, HOME_PATHS.services);
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".process"))
    .map((name) => JSON.parse(readFileSync(join(folder, name), "utf8")) as ProcessIdentity);
}
