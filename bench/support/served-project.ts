// The product under test: a separate home with the benchmark's application, served by the built command.
import { execFile, fork, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cp, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { clusterDsn } from "@appdb/testkit/cluster-dsn";
import { openTestProject, ROOT, type TestProject } from "@appdb/testkit/test-project";
import pg from "pg";

const run = promisify(execFile);
const CLI = join(ROOT, "dist", "cli.js");
const TARGET = "bench";

export interface ServedProject extends TestProject {
  /** Address of the service without a final slash. */
  readonly service: string;
  /** Pid of the service's process. */
  readonly pid: number;
  readonly echo: string;
  /** Connection string of the benchmark's database, also for PostgreSQL's own programs. */
  readonly dsn: string;
  /** Connection string of another database of the home's PostgreSQL. */
  dsnOf(database: string): string;
  openPool(database: string, max: number): pg.Pool & AsyncDisposable;
  readonly binaries: string;
  /** Proportional set size of the service's Node and its Python workers in MB. */
  memory(): Promise<number>;
}

/** Sets up tables, service and echo server. Disposing stops and removes everything. */
export async function serveBenchmark(): Promise<ServedProject> {
  const project = openTestProject();
  const echo = fork(fileURLToPath(new URL("./echo-server.ts", import.meta.url)), { execArgv: process.execArgv });
  const dispose = async () => {
    echo.disconnect();
    await project[Symbol.asyncDispose]();
  };
  try {
    const [{ port }] = (await once(echo, "message")) as [{ port: number }];
    const { endpoint, pid } = await serveApplication(project, "app");
    return {
      ...project,
      service: endpoint,
      pid,
      echo: `http://127.0.0.1:${port}`,
      ...(await findDatabase(project.home)),
      memory: () => measureMemory(pid),
      [Symbol.asyncDispose]: dispose,
    };
  } catch (error) {
    await dispose();
    throw error;
  }
}

/** Address without a final slash, and pid, of the service of an application in a folder of the benchmark. With `python`,
 *  its packages are those of that Python. */
export async function serveApplication(
  { env, folder }: Pick<TestProject, "env" | "folder">,
  application: string,
  python?: string,
): Promise<{ endpoint: string; pid: number }> {
  await cp(fileURLToPath(new URL(`../${application}`, import.meta.url)), folder, { recursive: true });
  const options = python === undefined ? ["-f"] : ["-f", "--python", python];
  await command(env, folder, ["init"]);
  await command(env, folder, ["schema", "update", "app.py", TARGET, ...options]);
  await command(env, folder, ["service", "update", "app.py", TARGET, ...options]);
  const listed = JSON.parse(await command(env, folder, ["service", "list", TARGET, "--json"]));
  const { endpoint, pid } = listed.services[0] as { endpoint: string; pid: number };
  return { endpoint: endpoint.replace(/\/$/, ""), pid };
}

/** Runs the built command. @throws with its output when it fails */
export async function command(env: TestProject["env"], cwd: string, args: readonly string[]): Promise<string> {
  const { stdout } = await run(process.execPath, [CLI, ...args], { env, cwd });
  return stdout;
}

/** Milliseconds of one process from start to end. */
export function time(
  program: string,
  args: readonly string[],
  options: { cwd?: string; env?: TestProject["env"] },
): number {
  const began = performance.now();
  const done = spawnSync(program, args, { ...options, stdio: "pipe" });
  const took = performance.now() - began;
  if (done.status !== 0) throw new Error(`${program} ${args.join(" ")} ended with ${done.status}: ${done.stderr}`);
  return took;
}

export function cliCommand(args: readonly string[]): { program: string; args: readonly string[] } {
  return { program: process.execPath, args: [CLI, ...args] };
}

/** Address and programs of the cluster, from this home's running postmaster. */
export async function findDatabase(
  home: string,
): Promise<Pick<ServedProject, "dsn" | "dsnOf" | "openPool" | "binaries">> {
  const clusters = await readdir(join(home, "postgres"), { recursive: true });
  const file = clusters.find((path) => path.endsWith("postmaster.pid"));
  if (file === undefined) throw new Error(`no PostgreSQL runs in ${home}`);
  const [pid] = (await readFile(join(home, "postgres", file), "utf8")).split("\n");
  const [program] = (await readFile(`/proc/${pid}/cmdline`, "utf8")).split("\0");
  if (program === undefined) throw new Error(`the PostgreSQL of ${home} does not say where it is`);
  const dsnOf = (database: string) => clusterDsn(join(home, "postgres"), database);
  const openPool = (database: string, max: number) => {
    const pool = new pg.Pool({ connectionString: dsnOf(database), max });
    return Object.assign(pool, { [Symbol.asyncDispose]: () => pool.end() });
  };
  return { dsn: dsnOf(TARGET), dsnOf, openPool, binaries: join(program, "..") };
}

/** Proportional set size of a process and its children in MB. A child that has just ended has none. */
export async function measureMemory(pid: number): Promise<number> {
  const pids = [pid, ...(await childrenOf(pid))];
  const sizes = await Promise.all(
    pids.map(
      async (pid) =>
        /^Pss:\s+(\d+) kB/m.exec(await readFile(`/proc/${pid}/smaps_rollup`, "utf8").catch(() => ""))?.[1] ?? "0",
    ),
  );
  return sizes.reduce((sum, size) => sum + Number(size) / 1000, 0);
}

/** Notes the highest memory until the returned function is called. */
export function sampleMemory(pid: number, into: number[]): () => Promise<void> {
  let most = 0;
  let isEnded = false;
  const sampling = (async () => {
    while (!isEnded) {
      most = Math.max(most, await measureMemory(pid));
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  })();
  return async () => {
    isEnded = true;
    await sampling;
    into.push(most);
  };
}

async function childrenOf(pid: number): Promise<number[]> {
  const children: number[] = [];
  for (const entry of await readdir("/proc")) {
    const stat = /^\d+$/.test(entry) ? await readFile(`/proc/${entry}/stat`, "utf8").catch(() => "") : "";
    const parent = /\) \S+ (\d+)/.exec(stat)?.[1];
    if (parent === String(pid)) children.push(Number(entry));
  }
  return children;
}
