import { existsSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { findLockOwner } from "@appdb/system/processes/numbered-lock";
import { readProcesses } from "@appdb/system/processes/process-table";
import { eventually } from "@appdb/testkit/eventually";
import { openTestProject, type TestProject } from "@appdb/testkit/test-project";
import { expect } from "vitest";
import { type HeldServer, startHeldServer } from "./held-server.ts";
import { type Asked, openBrowserSession, send, setUpAccount } from "./hosted.ts";
import { type Inserters, startInserters } from "./inserters.ts";
import { commandOf, descendants } from "./process-tree.ts";
import { queryCluster } from "./served.ts";
import { archiveOf, fileEntry } from "./tree.ts";

export const FAULT_VICTIMS = ["server", "supervisor", "postgres", "worker", "control postgres"] as const;
export type FaultVictim = (typeof FAULT_VICTIMS)[number];

export interface SeenDatabase {
  readonly id: string;
  readonly state: string;
  readonly generation: number;
  readonly resources: { readonly memory_mb: number };
  readonly failure: { readonly code: string; readonly detail: string; readonly hint: string | null } | null;
  readonly operation: { readonly id: string } | null;
  readonly pods: readonly { readonly state: string; readonly reason: string | null }[];
}

/** A server with an organization whose database `data` constantly receives rows. */
export interface FaultTarget extends AsyncDisposable {
  readonly project: TestProject;
  readonly server: HeldServer;
  readonly inserters: Inserters;
  /** Sends a request with the organization's API key, below `/v1/orgs/acme`. */
  ask(method: string, path: string, body?: object): Promise<Asked>;
  /** Retries until the server responds, which may be starting. */
  insist(method: string, path: string, body?: object): Promise<Asked>;
  see(db: string): Promise<SeenDatabase>;
  /** Waits until the database has this state and no running operation. */
  settles(db: string, state: string): Promise<SeenDatabase>;
  /** Payload of an update: settings, the uploaded files, and an environment without packages. */
  upload(app: string, settings?: object): Promise<object>;
  /** Creates a database from these files, or updates it. */
  update(db: string, payload: object): Promise<Asked>;
  /** Queries the database's own PostgreSQL. */
  queryData(id: string, text: string): Promise<unknown[][]>;
  /** Queries the control plane's PostgreSQL. */
  queryControl(text: string): Promise<unknown[][]>;
  /** Pids of a kind of process; of the database's own where applicable. */
  find(victim: FaultVictim, id: string): number[];
  /** Processes of the project that belong neither to the server nor to a pod that must run. */
  orphans(awake: readonly string[]): string[];
  /** Kills all processes of the project at the same instant and waits for their end. */
  cutPower(): Promise<void>;
}

const SETTLE_MS = 60_000;
const INSERTING = 2;
/** About 20 rows a second, so that inserts overlap with every step without slowing down the operation. */
const INSERT_PAUSE_MS = 100;

/** `extra` additional columns that need Python. */
export function faultApp(extra: number): string {
  const columns = Array.from({ length: extra }, (_, index) => `    extra_${index} = slow(token)\n`);
  return `import time
import appdb as db
from appdb.functions import uuid7


@db.udf
def measure(text: str) -> int:
    return len(text)


@db.udf
def slow(text: str) -> int:
    time.sleep(0.0002)
    return len(text)


class Docs(db.model_base(), name="docs"):
    id = db.Column(value=uuid7(), primary_key=True)
    token: db.String
    size = measure(token)
${columns.join("")}`;
}

const APP = { app_file: "app.py", folders: [], file_digests: null } as const;

/** Plans and applies the tables of the database's files. Returns the last line or the refusal. */
export async function applySchema({ insist, ask }: Pick<FaultTarget, "ask" | "insist">, db: string): Promise<string> {
  const planned = await insist("POST", `/databases/${db}/schema/plan`, { ...APP, files: null });
  expect(planned, JSON.stringify(planned)).toMatchObject({ status: 200 });
  const { catalog_version: catalogVersion } = planned.json.plan;
  const body = { ...APP, catalog_version: catalogVersion, allow_destructive: false };
  const applied = await ask("POST", `/databases/${db}/schema/apply`, body);
  const lines = applied.text.trim().split("\n");
  return lines.at(-1) ?? "";
}

export async function openFaultTarget(env: Readonly<Record<string, string>> = {}): Promise<FaultTarget> {
  const project = openTestProject({ env: { SERVICE_DATABASE_QUOTA: "10000", SERVICE_MAX_CPU: "16", ...env } });
  let server: HeldServer | undefined;
  try {
    server = await startHeldServer(project);
    return await openOn(project, server);
  } catch (error) {
    const said = (server?.output() ?? "").split("\n").slice(-30).join("\n");
    await server?.[Symbol.asyncDispose]();
    await cutPower(project);
    await project[Symbol.asyncDispose]();
    throw new Error(`The server was not set up:\n${said}`, { cause: error });
  }
}

async function openOn(project: TestProject, server: HeldServer): Promise<FaultTarget> {
  const browse = openBrowserSession(server.url);
  await setUpAccount(browse, server.setup_link, "ann@example.com");
  expect(await browse("POST", "/v1/orgs", { name: "acme" })).toMatchObject({ status: 201 });
  const key: string = (await browse("POST", "/v1/orgs/acme/keys", { name: "faults" })).json.api_key;

  const ask: FaultTarget["ask"] = (method, path, body) => send(`${server.url}/v1/orgs/acme${path}`, key, method, body);
  const insist: FaultTarget["insist"] = (method, path, body) =>
    eventually(
      async () => {
        const answer = await ask(method, path, body);
        expect(answer.status, JSON.stringify(answer.json)).toBeLessThan(500);
        return answer;
      },
      { timeout_ms: SETTLE_MS },
    );
  const see = async (db: string) => (await insist("GET", `/databases/${db}`)).json as SeenDatabase;
  const settles: FaultTarget["settles"] = (db, state) =>
    eventually(
      async () => {
        const seen = await see(db);
        expect(seen, JSON.stringify(seen)).toMatchObject({ state, operation: null });
        return seen;
      },
      { timeout_ms: SETTLE_MS },
    );
  const update: FaultTarget["update"] = async (db, payload) => {
    const planned = await insist("POST", `/databases/${db}/plan`, payload);
    expect(planned, JSON.stringify(planned)).toMatchObject({ status: 200 });
    const { generation } = planned.json;
    const body = { ...payload, expected_generation: generation, allow_destructive: true };
    return await insist("POST", `/databases/${db}/update`, body);
  };
  const upload: FaultTarget["upload"] = async (app, settings = {}) => {
    const texts = { "app.py": app, "requirements.txt": "# none\n" };
    const archive = archiveOf(Object.values(texts));
    await eventually(async () => expect(await ask("PUT", "/blobs", archive)).toMatchObject({ status: 200 }), {
      timeout_ms: SETTLE_MS,
    });
    const files = Object.entries(texts).map(([path, text]) => fileEntry(path, text));
    const requirements = [{ path: "requirements.txt", text: texts["requirements.txt"] }];
    const environment = { source: "requirements.txt", files: requirements, python_version: null, system_packages: [] };
    return { settings, files, environment: { ...environment, uv_options: null } };
  };
  const clusterOf = (id: string) => join(project.home, "server", "databases", id, "data", "postgres");
  const control = join(project.home, "server", "postgres");

  await settles("main", "AVAILABLE");
  const created = await update("data", await upload(faultApp(0)));
  expect(created, JSON.stringify(created)).toMatchObject({ status: 202 });
  await settles("data", "AVAILABLE");
  expect(await applySchema({ ask, insist }, "data")).toContain('"done"');
  const stopped = await ask("POST", "/databases/main/stop");
  expect(stopped.status, stopped.text).toBeLessThan(300);
  const rows = `${server.url}/v1/orgs/acme/databases/data/tables/docs/rows`;
  const inserters = startInserters(rows, INSERTING, { "x-api-key": key }, INSERT_PAUSE_MS);
  const find: FaultTarget["find"] = (victim, id) => {
    if (victim === "server") return [server.pid];
    if (victim === "control postgres") return postmaster(control);
    if (victim === "postgres") return postmaster(clusterOf(id));
    const pod = supervisor(project, id);
    if (victim === "supervisor") return pod;
    return descendants(pod).filter((pid) => /\bappdb\.worker\b/.test(commandOf(pid)));
  };
  return {
    project,
    server,
    inserters,
    ask,
    insist,
    see,
    settles,
    upload,
    update,
    find,
    queryData: (id, text) => queryCluster(clusterOf(id), "main", text),
    queryControl: (text) => queryCluster(control, "control", text),
    orphans: (awake) => {
      // a killed server left its gateway, which the next one adopts
      const gateway = findLockOwner(join(project.home, "server", "locks"), "gateway.")?.pid ?? server.pid;
      const roots = [server.pid, gateway, ...awake.flatMap((id) => supervisor(project, id))];
      // each pod has a shell above it; PostgreSQL servers are children of the server and the pods
      const known = new Set([...roots, ...descendants(roots), ...ancestors(roots)]);
      return processesOf(project)
        .filter((pid) => !known.has(pid))
        .map((pid) => `${pid} ${commandOf(pid).slice(0, 160)}`)
        .filter((line) => !line.endsWith(" "));
    },
    cutPower: () => cutPower(project),
    [Symbol.asyncDispose]: async () => {
      await inserters.stop();
      await server[Symbol.asyncDispose]();
      // left by a server that died
      await cutPower(project);
      await project[Symbol.asyncDispose]();
    },
  };
}

/** Pauses all of them before the first kill, so that none can react to the end of another. */
async function cutPower(project: TestProject): Promise<void> {
  await eventually(
    () => {
      const pids = processesOf(project);
      for (const signal of ["SIGSTOP", "SIGKILL"] as const) for (const pid of pids) sendIfThere(pid, signal);
      expect(pids).toEqual([]);
    },
    { timeout_ms: SETTLE_MS, interval_ms: 5 },
  );
}

/** Includes pods, which get the project only on standard input, by their output file. */
function processesOf(project: TestProject): number[] {
  const printing = readProcesses()
    .map(({ pid }) => pid)
    .filter((pid) => outputOf(pid).startsWith(project.home));
  return [...new Set([...project.processes(), ...printing])];
}

function outputOf(pid: number): string {
  try {
    return readlinkSync(`/proc/${pid}/fd/1`);
  } catch {
    // it has ended
    return "";
  }
}

function sendIfThere(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

function supervisor({ home }: TestProject, id: string): number[] {
  const file = join(home, "server", "pods", `db-${id}`, "pod.json");
  if (!existsSync(file)) return [];
  const { process: found } = JSON.parse(readFileSync(file, "utf8"));
  return found !== null && /pod\.js database/.test(commandOf(found.pid)) ? [found.pid] : [];
}

function postmaster(folder: string): number[] {
  const file = join(folder, "18", "postmaster.pid");
  const pid = existsSync(file) ? Number.parseInt(readFileSync(file, "utf8"), 10) : Number.NaN;
  return commandOf(pid).includes(folder) ? [pid] : [];
}

/** Up to the test's process. */
function ancestors(pids: readonly number[]): number[] {
  const parents = new Map(readProcesses().map(({ pid, parent }) => [pid, parent]));
  return pids.flatMap((pid) => {
    const line: number[] = [];
    for (let at = parents.get(pid); at !== undefined && at > 1; at = parents.get(at)) line.push(at);
    return line;
  });
}
