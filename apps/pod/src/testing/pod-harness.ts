import { type ChildProcess, spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { resolveRuntime } from "@appdb/adapters/images/resolve-runtime";
import { isAlive, type ProcessIdentity } from "@appdb/adapters/processes/process-identity";
import { locateTools, requirePostgresBin } from "@appdb/adapters/tools/locate-tools";
import type { DatabasePodSpec } from "@appdb/contract/pod-spec";
import { DEFAULT_LIMITS } from "@appdb/contract/service-spec";
import { BUILT_POD, hasEnded, waitFor } from "./daemon-harness.ts";
import { processesBelow } from "./processes-below.ts";

const ROOT = fileURLToPath(new URL("../../../../", import.meta.url));

export interface PodAnswer {
  readonly status: number;
  readonly text: string;
  json<T = Record<string, unknown>>(): T;
  /** Lines of an NDJSON answer. */
  lines(): Record<string, unknown>[];
}

export interface StartedPod {
  readonly child: ChildProcess;
  ask(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<PodAnswer>;
  /** Resolves when its health is 200. */
  ready(): Promise<void>;
  /** It and all that it started. */
  processes(): ProcessIdentity[];
  /** Resolves to its exit status; what it said is in `said`. */
  ended(): Promise<number | null>;
  readonly said: () => string;
}

/** Folders of one hosted database, and real pods in them. For tests alone. */
export interface PodHarness extends AsyncDisposable {
  readonly folder: string;
  spec(more?: Partial<DatabasePodSpec>): Promise<DatabasePodSpec>;
  /** Makes a tree of project files and gives its digest. */
  putTree(files: Record<string, string>): string;
  start(spec: DatabasePodSpec | string, env?: Record<string, string>): StartedPod;
}

/** Opens a harness; disposing it ends every process of its pods and removes its folders. */
export function openPodHarness(): PodHarness {
  const folder = mkdtempSync(join(tmpdir(), "appdb-pod-"));
  const run_folder = mkdtempSync(join(tmpdir(), "pod-"));
  const token = randomBytes(24).toString("base64url");
  const started: StartedPod[] = [];
  const left: ProcessIdentity[] = [];

  async function spec(more: Partial<DatabasePodSpec> = {}): Promise<DatabasePodSpec> {
    const tools = locateTools({ program_url: import.meta.url, postgres_bin: undefined });
    const home = join(folder, "home");
    // biome-ignore lint/style/noProcessEnv: a test passes the environment of its run on
    const env = { PATH: process.env.PATH ?? "", HOME: folder };
    mkdirSync(join(folder, "empty"), { recursive: true });
    const runtime = await resolveRuntime({ project_root: join(folder, "empty"), python: undefined, env, home, tools });
    return {
      role: "database",
      database_id: "0190a0a0-0000-7000-8000-000000000000",
      uri: "cloud://acme:main",
      data_folder: join(folder, "data"),
      template_folder: join(folder, "template", "18"),
      postgres_bin: requirePostgresBin(tools),
      run_folder,
      log_folder: join(folder, "log"),
      token,
      resources: { cpu: 1, memory_mb: 512, disk_gb: 1, workers: 1 },
      limits: DEFAULT_LIMITS,
      runtime,
      files_folder: join(folder, "files"),
      notices: [],
      ...more,
    };
  }

  function putTree(files: Record<string, string>): string {
    const digest = createHash("sha256").update(JSON.stringify(files)).digest("hex");
    for (const [path, content] of Object.entries(files)) {
      const file = join(folder, "files", digest, path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, content);
    }
    return digest;
  }

  function start(input: DatabasePodSpec | string, env: Record<string, string> = {}): StartedPod {
    const child = spawn(process.execPath, [BUILT_POD, "database"], {
      cwd: ROOT,
      // biome-ignore lint/style/noProcessEnv: a test passes the environment of its run on
      env: { ...process.env, ...env },
      stdio: ["pipe", "ignore", "pipe"],
    });
    let said = "";
    child.stderr?.on("data", (chunk: Buffer) => {
      said += chunk.toString("utf8");
    });
    child.stdin?.on("error", () => undefined);
    child.stdin?.end(typeof input === "string" ? input : JSON.stringify(input));
    const ask: StartedPod["ask"] = (method, path, body, headers) =>
      askSocket(join(run_folder, "pod.sock"), { authorization: `Bearer ${token}`, ...headers }, method, path, body);
    const pod: StartedPod = {
      child,
      ask,
      said: () => said,
      ready: () =>
        waitFor(async () => {
          if (hasEnded(child)) throw new Error(`The pod ended: ${said}`);
          return (await ask("GET", "/v1/health").catch(() => undefined))?.status === 200;
        }),
      processes: () => {
        const found = processesBelow(child.pid ?? 0);
        left.push(...found);
        return found;
      },
      ended: async () => {
        if (!hasEnded(child)) await once(child, "exit");
        return child.exitCode;
      },
    };
    started.push(pod);
    return pod;
  }

  return {
    folder,
    spec,
    putTree,
    start,
    [Symbol.asyncDispose]: async () => {
      for (const { child } of started) if (!hasEnded(child)) child.kill("SIGTERM");
      for (const pod of started) await pod.ended();
      for (const one of left) if (isAlive(one)) process.kill(one.pid, "SIGKILL");
      for (const path of [folder, run_folder]) rmSync(path, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

function askSocket(
  socketPath: string,
  headers: Record<string, string>,
  method: string,
  path: string,
  body: unknown,
): Promise<PodAnswer> {
  return new Promise((resolve, reject) => {
    const type = body === undefined ? {} : { "content-type": "application/json" };
    const sent = request({ socketPath, method, path, headers: { ...type, ...headers }, agent: false });
    sent.on("error", reject);
    sent.on("response", (response) => {
      text(response).then((answer) => {
        resolve({
          status: response.statusCode ?? 0,
          text: answer,
          json: () => JSON.parse(answer),
          lines: () =>
            answer
              .trim()
              .split("\n")
              .map((line) => JSON.parse(line)),
        });
      }, reject);
    });
    if (body instanceof Readable) body.pipe(sent);
    else sent.end(body === undefined || typeof body === "string" ? body : JSON.stringify(body));
  });
}
