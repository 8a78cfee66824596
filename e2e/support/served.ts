import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Problem } from "@appdb/contract/errors";
import { clusterDsn } from "@appdb/testkit/cluster-dsn";
import { type Finished, openTestProject, type TestProject, type TestProjectInput } from "@appdb/testkit/test-project";
import pg from "pg";
import { expect } from "vitest";

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests only read members of answers
  readonly json: any;
}

/** Creates a test project with this `app.py`. Applies nothing yet. */
export async function makeProject(app: string, input: TestProjectInput = {}): Promise<TestProject> {
  const project = openTestProject(input);
  writeFile(project, "app.py", app);
  await expectExit(project, 0, "init");
  return project;
}

/** Applies `app.py` to `main` and serves it in the background. Returns the service's address. */
export async function serveProject(project: TestProject): Promise<string> {
  await expectExit(project, 0, "schema", "update", "app.py", "main");
  await expectExit(project, 0, "service", "update", "app.py", "main", "-f");
  const [service] = await listServices(project);
  return service?.endpoint ?? "";
}

export interface Listed {
  readonly name: string;
  readonly endpoint: string | null;
  readonly port: number;
  readonly state: string;
  readonly error: string | null;
  readonly pid: number | null;
}

/** The services of a database, or of all. */
export async function listServices(project: TestProject, ...database: readonly string[]): Promise<readonly Listed[]> {
  return JSON.parse((await expectExit(project, 0, "service", "list", ...database, "--json")).stdout).services;
}

/** Runs a command that must exit with this status. */
export async function expectExit(project: TestProject, exit: number, ...args: string[]): Promise<Finished> {
  const ran = await project.cli(...args);
  expect(ran.code, `cli ${args.join(" ")}\n${ran.stdout}${ran.stderr}`).toBe(exit);
  return ran;
}

/**
 * Runs a command that must fail, with and without `--json`, and returns its problem, which must be complete and plain.
 */
export async function expectProblem(project: TestProject, exit: number, ...args: string[]): Promise<Problem> {
  const ran = await expectExit(project, exit, ...args, "--json");
  const problem = JSON.parse(ran.stdout) as Problem;
  expect(ran.stderr).toContain(`error: ${problem.detail}\n`);
  expect(ran.stderr).toContain(`hint: ${problem.hint}\n`);
  expect(ran.stderr).not.toMatch(/Traceback|at \S+ \(.*:\d+:\d+\)/);
  return problem;
}

export function writeFile(project: TestProject, name: string, text: string): void {
  writeFileSync(join(project.folder, name), text);
}

/** Replaces a part of a project file, which must exist. */
export function editFile(project: TestProject, name: string, before: string, after: string): void {
  const path = join(project.folder, name);
  const text = readFileSync(path, "utf8");
  expect(text).toContain(before);
  writeFileSync(path, text.replace(before, after));
}

/** Posts JSON; sends text and bytes unchanged. */
export async function post(url: string, body: object | string, headers: Record<string, string> = {}): Promise<Answer> {
  const answer = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: typeof body === "string" || body instanceof Uint8Array ? Buffer.from(body) : JSON.stringify(body),
  });
  return await read(answer);
}

export async function read(answer: Response): Promise<Answer> {
  const text = await answer.text();
  return { status: answer.status, headers: answer.headers, text, json: JSON.parse(text) };
}

/** Queries the database directly by PostgreSQL's protocol on the running cluster's socket. */
export async function query(project: TestProject, text: string, database = "main"): Promise<unknown[][]> {
  return await queryCluster(join(project.home, "postgres"), database, text);
}

/** Queries a database of the running cluster in a folder of a home. */
export async function queryCluster(folder: string, database: string, text: string): Promise<unknown[][]> {
  const client = await connectCluster(folder, database);
  // a test may kill the server
  client.on("error", () => undefined);
  try {
    return (await client.query({ text, rowMode: "array" })).rows;
  } finally {
    await client.end();
  }
}

/** Takes locks by a statement, like a user of psql, and holds them until disposed. */
export async function hold(project: TestProject, text: string): Promise<AsyncDisposable> {
  const client = await connectCluster(join(project.home, "postgres"), "main");
  await client.query("begin");
  await client.query(text);
  return {
    [Symbol.asyncDispose]: async () => {
      await client.query("commit");
      await client.end();
    },
  };
}

/** Connects to the running cluster in a folder of a home. */
export async function connectCluster(folder: string, database: string): Promise<pg.Client> {
  const pidFile = join(folder, "18", "postmaster.pid");
  expect(existsSync(pidFile), "PostgreSQL does not run").toBe(true);
  const client = new pg.Client({ connectionString: clusterDsn(folder, database) });
  await client.connect();
  return client;
}

/** Everything that a refused command must not change: databases, catalog and tables. */
export async function snapshot(project: TestProject): Promise<unknown> {
  return [
    await query(project, "select datname from pg_database order by 1"),
    await query(project, "select * from appdb.state"),
    await query(
      project,
      "select table_schema, table_name, column_name, data_type from information_schema.columns where table_schema = 'public' order by 1, 2, 3",
    ),
  ];
}
