// HTTP load: wrk if installed, otherwise our own loader in a separate process. Both report their own processor time,
// because they share the cores with the measured product.
import { execFile, fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

export interface Load {
  readonly url: string;
  /** One body for all requests, or several in turn; empty with `get_with`. */
  readonly body: string | readonly string[];
  /** Sends GET requests with these headers. */
  readonly get_with?: Readonly<Record<string, string>>;
  /** Headers of POSTs besides content-type; only with the loader process. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Connects to this socket instead of the address's host; only with the loader process. */
  readonly socket?: string;
  readonly connections: number;
  readonly seconds: number;
  /** Sends a unique Idempotency-Key with each request. */
  readonly with_keys?: boolean;
  /** Sends another body on a separate connection once per this many requests, without counting or awaiting it. */
  readonly beside?: { readonly body: string; readonly one_in: number };
}

export interface LoadResult {
  readonly per_second: number;
  readonly p50_ms: number;
  readonly p99_ms: number;
  readonly failed: number;
  /** Processor time of the loader divided by wall time: 1 is one core. */
  readonly loader_cpu: number;
}

type Loader = (load: Load) => Promise<LoadResult>;

/** Selects the loader and names it. */
export async function chooseLoader(): Promise<{ name: string; load: Loader }> {
  try {
    await run("wrk", ["-v"]).catch((error: { code?: unknown }) => {
      if (error.code === "ENOENT") throw error;
    });
    return { name: "wrk", load: loadWithWrk };
  } catch {
    return {
      name: "the loader of bench/support/load-process.ts (install wrk for a lighter one)",
      load: loadWithProcess,
    };
  }
}

async function loadWithWrk(load: Load): Promise<LoadResult> {
  const folder = await mkdtemp(join(tmpdir(), "appdb-bench-"));
  try {
    const script = join(folder, "post.lua");
    await writeFile(script, wrkScript(load));
    const args = ["-t1", `-c${load.connections}`, `-d${load.seconds}s`, "--latency", "-s", script, load.url];
    const { stdout, stderr } = await run("bash", ["-c", 'TIMEFORMAT="cpu %U %S"; time wrk "$@"', "bash", ...args]);
    const cpu = /cpu ([\d.]+) ([\d.]+)/.exec(stderr);
    const found = /result (\S+) (\S+) (\S+) (\S+)/.exec(stdout);
    if (cpu === null || found === null) throw new Error(`wrk printed no readable result:\n${stdout}${stderr}`);
    const [rate, p50, p99, failed] = found.slice(1).map(Number) as [number, number, number, number];
    const loaderCpu = (Number(cpu[1]) + Number(cpu[2])) / load.seconds;
    return { per_second: rate, p50_ms: p50, p99_ms: p99, failed, loader_cpu: loaderCpu };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function wrkScript({ body, with_keys: withKeys, get_with: getWith }: Load): string {
  const bodies = (typeof body === "string" ? [body] : body).map((one) => JSON.stringify(one));
  const headers = Object.entries(getWith ?? { "content-type": "application/json" });
  return `
wrk.method = "${getWith === undefined ? "POST" : "GET"}"
${headers.map(([name, value]) => `wrk.headers[${JSON.stringify(name)}] = ${JSON.stringify(value)}`).join("\n")}
local bodies = {${bodies.join(", ")}}
local requests = {}
local turn = 0
local keys = "${withKeys === true ? randomUUID() : ""}"
function init(args)
  for i, body in ipairs(bodies) do requests[i] = wrk.format(nil, nil, nil, body) end
end
function request()
  turn = turn + 1
  local chosen = requests[(turn - 1) % #requests + 1]
  if keys == "" then return chosen end
  local line, rest = chosen:match("^([^\\r]+)(.*)$")
  return line .. "\\r\\nidempotency-key: " .. keys .. "-" .. turn .. rest
end
function done(summary, latency, requests)
  local errors = summary.errors
  local failed = errors.connect + errors.read + errors.write + errors.status + errors.timeout
  local rate = (summary.requests - errors.status) / (summary.duration / 1e6)
  io.write(string.format("result %f %f %f %d\\n", rate, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3, failed))
end
`;
}

/** Runs load from a separate process; required for a second body, headers, or a unix socket. */
export async function loadWithProcess(load: Load): Promise<LoadResult> {
  const child = fork(new URL("./load-process.ts", import.meta.url), { execArgv: process.execArgv });
  try {
    child.send(load);
    const [result] = (await once(child, "message")) as [LoadResult];
    return result;
  } finally {
    child.disconnect();
  }
}
