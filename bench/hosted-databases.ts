// The hosted product with one organization's databases, and operations for its benchmarks.
import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { openTestProject, type TestProject } from "@appdb/testkit/test-project";
import { type Hosted, setHosted } from "./hosted.ts";
import { cliCommand, command, time } from "./support/served-project.ts";

export const ORGANIZATION = "bench";
export const MAIN = `cloud://${ORGANIZATION}:main`;
/** Polling interval: each request takes time from the server's work. */
const POLL_MS = 20;
const READ_MS = 20;
const PATIENCE_MS = 60_000;
/** Maximum wait of one request. */
const OPERATION_MS = 30_000;

const APP = `import appdb as db

Base = db.model_base()


class Notes(Base, name="notes"):
    id = db.Column(type=db.Int, primary_key=True)
    note: db.String
`;

export interface HostedDatabases extends AsyncDisposable {
  readonly folder: string;
  readonly home: string;
  /** The organization's key with every grant; created after its organization was timed. */
  key(): string;
  command(...args: string[]): Promise<string>;
  /** Duration of a command in seconds. */
  time(...args: string[]): number;
  timeCreation(): Promise<number>;
  create(name: string): Promise<void>;
  post(path: string): Promise<void>;
  until(name: string, state: string): Promise<void>;
  /** Seconds from the start request to its first rows. */
  timeWake(name: string): Promise<number>;
  insert(name: string, id: number): Promise<void>;
  hasRow(name: string, id: number): Promise<boolean>;
  /** Reads the list of databases until stopped; returns the milliseconds of each read. */
  readMeanwhile(): () => Promise<number[]>;
  /** MB of this home's pods with all their processes. */
  memory(): Promise<number>;
  /** Private MB of the pods, and of the server with its PostgreSQL and the gateway. */
  ownMemory(): Promise<Record<Part, number>>;
  /** Average MB of a database's folder. */
  diskOf(): Promise<number>;
  /** MB of the organization's images. */
  diskOfImages(): Promise<number>;
}

/**
 * Starts the product on a separate home with a project of this many files and a sign-in. Rejects with the server's
 * message when the driver does not work on this machine.
 */
export async function setDatabases(
  driver: "process" | "sandbox",
  files: number,
  further: Readonly<Record<string, string>> = {},
): Promise<HostedDatabases> {
  const settings = { SERVICE_PODS: driver, SERVICE_DATABASE_QUOTA: "1000", SERVICE_LOG_LEVEL: "warn", ...further };
  const project = openTestProject({ env: settings });
  const { env, folder } = project;
  await mkdir(join(folder, "lib"), { recursive: true });
  await writeFile(join(folder, "app.py"), APP);
  for (let at = 0; at < files - 1; at += 1) await writeFile(join(folder, "lib", `file_${at}.py`), `VALUE = ${at}\n`);
  let hosted: Hosted | undefined;
  const dispose = async () => {
    await hosted?.[Symbol.asyncDispose]();
    await project[Symbol.asyncDispose]();
  };
  try {
    await command(env, folder, ["init"]);
    hosted = await setHosted(env);
    return { ...openDatabases(hosted.url, project), [Symbol.asyncDispose]: dispose };
  } catch (error) {
    await dispose();
    throw error;
  }
}

function openDatabases(url: string, { env, folder, home }: TestProject): Omit<HostedDatabases, keyof AsyncDisposable> {
  let key = "";
  const databases = `${url}/v1/orgs/${ORGANIZATION}/databases`;
  const ask = (method: string, path: string, body?: object) =>
    fetch(`${databases}/${path}`.replace(/\/$/, ""), {
      method,
      headers: { "x-api-key": key, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  const demand = async (method: string, path: string, body?: object) => {
    const response = await ask(method, path, body);
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text === "" ? undefined : JSON.parse(text);
  };
  /** Waits like the command: one long-polling request until the operation has ended. */
  const wait = async (id: string) => {
    const { error, state } = await demand("GET", `../operations/${id}?wait_ms=${OPERATION_MS}`);
    if (state !== "succeeded") throw new Error(`The operation ${id} is ${state}: ${JSON.stringify(error)}`);
  };
  const until = (name: string, state: string) =>
    untilTrue(async () => {
      const response = await ask("GET", name);
      const found = response.ok ? ((await response.json()) as { state: string; failure: unknown }) : undefined;
      if (found?.state === "FAILED") throw new Error(`${name} has failed: ${JSON.stringify(found.failure)}`);
      return found?.state === state;
    });
  const opened: Omit<HostedDatabases, keyof AsyncDisposable> = {
    folder,
    home,
    key: () => key,
    command: (...args) => command(env, folder, args),
    time: (...args) => {
      const { args: whole, program } = cliCommand(args);
      return time(program, whole, { env, cwd: folder }) / 1000;
    },
    async timeCreation() {
      const began = Date.now();
      await opened.command("org", "create", ORGANIZATION);
      // needs an organization, so there is none before
      key = JSON.parse(await opened.command("key", "create", "bench", "--json")).api_key;
      await until("main", "AVAILABLE");
      const { items } = await demand("GET", "../operations");
      const made = items.find(({ kind }: { kind: string }) => kind === "database.provision");
      const took = (Date.parse(made.ended_at) - began) / 1000;
      await opened.command("db", "update", MAIN, "-f");
      return took;
    },
    create: async (name) => {
      await opened.command("db", "update", `cloud://${ORGANIZATION}:${name}`, "-f");
    },
    post: async (path) => {
      await demand("POST", path, {});
    },
    until,
    async timeWake(name) {
      const began = performance.now();
      const { operation } = await demand("POST", `${name}/start`, {});
      await wait(operation.id);
      await demand("GET", `${name}/tables/notes/rows`);
      return seconds(began);
    },
    insert: async (name, id) => {
      await demand("POST", `${name}/tables/notes/rows`, { id, note: `of ${name}` });
    },
    hasRow: async (name, id) => {
      const { rows } = await demand("GET", `${name}/tables/notes/rows`);
      return JSON.stringify(rows) === JSON.stringify([{ id, note: `of ${name}` }]);
    },
    readMeanwhile() {
      const times: number[] = [];
      let isOver = false;
      const reading = (async () => {
        while (!isOver) {
          const began = performance.now();
          await (await ask("GET", "")).arrayBuffer();
          times.push(performance.now() - began);
          await sleep(READ_MS);
        }
      })();
      return async () => {
        isOver = true;
        await reading;
        return times;
      };
    },
    memory: async () => (await measureHome(home, ["Pss"])).pods,
    // shared pages are programs, whose share per process depends on the number of processes
    ownMemory: () => measureHome(home, ["Pss_Anon", "Pss_Shmem"]),
    async diskOf() {
      const databases = join(home, "server", "databases");
      const names = await readdir(databases);
      return (await sizeOf(databases)) / 1_000_000 / names.length;
    },
    diskOfImages: async () => (await sizeOf(join(home, "server", "images"))) / 1_000_000,
  };
  return opened;
}

type Part = "pods" | "server";

/** Memory of the home's pods and of all its other processes in MB: the sum of these kernel figures. */
async function measureHome(home: string, figures: readonly string[]): Promise<Record<Part, number>> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const parents = new Map<string, string>();
  const [pods, servers] = [new Set<string>(), new Set<string>()];
  for (const pid of pids) {
    const [stat = "", line = "", environment = ""] = await Promise.all(
      ["stat", "cmdline", "environ"].map((name) => readFile(`/proc/${pid}/${name}`, "utf8").catch(() => "")),
    );
    parents.set(pid, /\) \S+ (\d+)/.exec(stat)?.[1] ?? "");
    // the shell of a pod's program has the pod's folder as an argument
    if (line.includes(join(home, "server", "pods"))) pods.add(pid);
    if (line.includes("server.js") && environment.split("\0").includes(`SERVICE_HOME=${home}`)) servers.add(pid);
  }
  const isOf = (roots: ReadonlySet<string>, pid: string): boolean =>
    roots.has(pid) || (parents.has(pid) && isOf(roots, parents.get(pid) ?? ""));
  const found = { pods: 0, server: 0 };
  for (const pid of pids) {
    const isPod = isOf(pods, pid);
    if (!isPod && !isOf(servers, pid)) continue;
    const part = isPod ? "pods" : "server";
    const text = await readFile(`/proc/${pid}/smaps_rollup`, "utf8").catch(() => "");
    for (const figure of figures) {
      found[part] += Number(new RegExp(`^${figure}:\\s+(\\d+) kB`, "m").exec(text)?.[1] ?? 0) / 1000;
    }
  }
  return found;
}

async function sizeOf(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const sizes = await Promise.all(
    files.map(async ({ name, parentPath }) => (await stat(join(parentPath, name)).catch(() => undefined))?.blocks ?? 0),
  );
  return sizes.reduce((sum, blocks) => sum + blocks * 512, 0);
}

async function untilTrue(check: () => Promise<boolean>): Promise<void> {
  const began = performance.now();
  while (!(await check())) {
    if (performance.now() - began > PATIENCE_MS) throw new Error(`Not true after ${PATIENCE_MS / 1000} s.`);
    await sleep(POLL_MS);
  }
}

/** Seconds since a performance.now() value. */
export function seconds(since: number): number {
  return (performance.now() - since) / 1000;
}
