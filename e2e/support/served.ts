import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Problem } from "@appdb/contract/errors";
import { clusterDsn } from "@appdb/testkit/cluster-dsn";
import pg from "pg";
import { expect } from "vitest";
import { type Finished, makePlace, type Place, type PlaceInput } from "./place.ts";

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests only read members of answers
  readonly json: any;
}

/** Creates a place with a project that has this `app.py`. Applies nothing yet. */
export async function makeProject(app: string, input: PlaceInput = {}): Promise<Place> {
  const place = makePlace(input);
  writeFile(place, "app.py", app);
  await expectExit(place, 0, "init");
  return place;
}

/** Applies `app.py` to `main` and serves it in the background. Returns the service's address. */
export async function serveProject(place: Place): Promise<string> {
  await expectExit(place, 0, "schema", "update", "app.py", "main");
  await expectExit(place, 0, "service", "update", "app.py", "main", "-f");
  const [service] = await listServices(place);
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
export async function listServices(place: Place, ...database: readonly string[]): Promise<readonly Listed[]> {
  return JSON.parse((await expectExit(place, 0, "service", "list", ...database, "--json")).stdout).services;
}

/** Runs a command that must exit with this status. */
export async function expectExit(place: Place, exit: number, ...args: string[]): Promise<Finished> {
  const ran = await place.cli(...args);
  expect(ran.code, `cli ${args.join(" ")}\n${ran.stdout}${ran.stderr}`).toBe(exit);
  return ran;
}

/**
 * Runs a command that must fail, with and without `--json`, and returns its problem, which must be complete and plain.
 */
export async function expectProblem(place: Place, exit: number, ...args: string[]): Promise<Problem> {
  const ran = await expectExit(place, exit, ...args, "--json");
  const problem = JSON.parse(ran.stdout) as Problem;
  expect(ran.stderr).toContain(`error: ${problem.detail}\n`);
  expect(ran.stderr).toContain(`hint: ${problem.hint}\n`);
  expect(ran.stderr).not.toMatch(/Traceback|at \S+ \(.*:\d+:\d+\)/);
  return problem;
}

export function writeFile(place: Place, name: string, text: string): void {
  writeFileSync(join(place.project, name), text);
}

/** Replaces a part of a project file, which must exist. */
export function editFile(place: Place, name: string, before: string, after: string): void {
  const path = join(place.project, name);
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
export async function query(place: Place, text: string, database = "main"): Promise<unknown[][]> {
  const client = await connect(place, database);
  try {
    return (await client.query({ text, rowMode: "array" })).rows;
  } finally {
    await client.end();
  }
}

/** Takes locks by a statement, like a user of psql, and holds them until disposed. */
export async function hold(place: Place, text: string): Promise<AsyncDisposable> {
  const client = await connect(place, "main");
  await client.query("begin");
  await client.query(text);
  return {
    [Symbol.asyncDispose]: async () => {
      await client.query("commit");
      await client.end();
    },
  };
}

async function connect(place: Place, database: string): Promise<pg.Client> {
  return await connectCluster(join(place.home, "postgres"), database);
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
export async function snapshot(place: Place): Promise<unknown> {
  return [
    await query(place, "select datname from pg_database order by 1"),
    await query(place, "select * from appdb.state"),
    await query(
      place,
      "select table_schema, table_name, column_name, data_type from information_schema.columns where table_schema = 'public' order by 1, 2, 3",
    ),
  ];
}
