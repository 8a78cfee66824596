// Control plane reads by session and by API key, compared with a bare Fastify route that runs the same query with the
// same number of connections.
import { type ChildProcess, fork, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Bench } from "./support/bench.ts";
import { query } from "./support/psql.ts";
import type { Measure } from "./support/report.ts";
import type { ServedProject } from "./support/served-project.ts";

const DATABASE = "control";
const ORGANIZATION = "bench";
const KEYS = 20;
const CONNECTIONS = 16;
/** Connections of each server. */
const POOL = 16;
const SERVER = fileURLToPath(new URL("../dist/server.js", import.meta.url));

/** Lists the API keys of an organization with 20 of them. */
export async function measureControl(bench: Bench): Promise<Measure[]> {
  const served = await bench.served();
  await query(served, `create database ${DATABASE}`);
  const folder = await mkdtemp(join(tmpdir(), "appdb-bench-"));
  const dsn = served.dsnOf(DATABASE);
  const server = await startServer(served, folder, dsn);
  const limit = fork(fileURLToPath(new URL("./control-limit.ts", import.meta.url)), [dsn, String(POOL), ORGANIZATION], {
    execArgv: process.execArgv,
  });
  try {
    const [{ port }] = (await once(limit, "message")) as [{ port: number }];
    const { cookie, api_key: apiKey } = await prepare(server);
    const keys = `${server.url}/v1/orgs/${ORGANIZATION}/keys`;
    const rates = new Map<string, number[]>();
    const slowest: number[] = [];
    const drive = async (name: string, url: string, getWith: Readonly<Record<string, string>>) => {
      const { per_second: perSecond, p99_ms: p99Ms } = await bench.load({
        url,
        body: "",
        get_with: getWith,
        connections: CONNECTIONS,
        seconds: bench.seconds,
      });
      rates.set(name, [...(rates.get(name) ?? []), perSecond]);
      if (name === "key") slowest.push(p99Ms);
    };
    for (let run = 1; run <= bench.runs; run += 1) {
      bench.say(`run ${run} of ${bench.runs}`);
      await drive("limit", `http://127.0.0.1:${port}/keys`, {});
      await drive("key", keys, { "x-api-key": apiKey });
      await drive("session", keys, { cookie });
    }
    const of = (name: string) => rates.get(name) ?? [];
    const read = `control plane: list of ${KEYS} API keys, ${CONNECTIONS} conn.`;
    const against = "against Fastify asking for the same rows";
    return [
      {
        name: `${read}, by key, ${against}`,
        unit: "/s",
        ours: of("key"),
        limit: of("limit"),
        reach: { at_least: 0.5 },
      },
      {
        name: `${read}, by session, ${against}`,
        unit: "/s",
        ours: of("session"),
        limit: of("limit"),
        reach: { at_least: 0.5 },
      },
      { name: `${read}, by key: p99`, unit: "ms", digits: 1, ours: slowest, limit: undefined, reach: { at_most: 50 } },
    ];
  } finally {
    limit.disconnect();
    server.child.kill("SIGTERM");
    await server.ended;
    await rm(folder, { recursive: true, force: true });
  }
}

interface StartedServer {
  readonly child: ChildProcess;
  readonly ended: Promise<unknown>;
  readonly url: string;
  /** Token of the first account's setup link. */
  readonly token: string;
}

async function startServer(served: ServedProject, home: string, dsn: string): Promise<StartedServer> {
  const settings = { SERVICE_DATABASE_URL: dsn, SERVICE_PODS: "process", SERVICE_LOG_LEVEL: "warn" };
  const env = { ...served.env, ...settings, SERVICE_HOME: home };
  const child = spawn(process.execPath, [SERVER], { env, stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(child, "close");
  for await (const line of createInterface({ input: child.stdout })) {
    const [, url, token] = /^Make the first account: (.*)\/setup\?token=(.*)$/.exec(line) ?? [];
    // keep reading the stream, so that the server can continue writing
    child.stdout.resume();
    if (url !== undefined && token !== undefined) return { child, ended, url, token };
  }
  throw new Error("The server did not start.");
}

/** Creates an account with an organization and its keys; returns the session's cookie and the last key. */
async function prepare({ url, token }: StartedServer): Promise<{ cookie: string; api_key: string }> {
  const person = { email: "bench@example.com", name: "Bench", password: "a password of the benchmark" };
  const signedIn = await post(`${url}/v1/setup`, { token, ...person }, { origin: url });
  const cookie = signedIn.headers
    .getSetCookie()
    .map((one) => one.split(";")[0])
    .join("; ");
  const headers = { origin: url, cookie };
  await post(`${url}/v1/orgs`, { name: ORGANIZATION }, headers);
  let apiKey = "";
  for (let at = 1; at <= KEYS; at += 1) {
    const made = await post(`${url}/v1/orgs/${ORGANIZATION}/keys`, { name: `key-${at}` }, headers);
    ({ api_key: apiKey } = (await made.json()) as { api_key: string });
  }
  return { cookie, api_key: apiKey };
}

async function post(url: string, body: unknown, headers: Readonly<Record<string, string>>) {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${await response.text()}`);
  return response;
}
