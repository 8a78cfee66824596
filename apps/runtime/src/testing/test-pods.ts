import { type ChildProcess, spawn } from "node:child_process";
import { createHash, generateKeyPairSync, randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { writeKeyText } from "@appdb/contract/control/key-text";
import { manifestSchema } from "@appdb/contract/manifest";
import { localMediaPlace } from "@appdb/contract/media-place";
import type { DatabasePodSpec, ServicePodSpec } from "@appdb/contract/pod-spec";
import { DEFAULT_LIMITS } from "@appdb/contract/service-spec";
import { resolveRuntime } from "@appdb/python-runtime/images/resolve-runtime";
import { hashKey } from "@appdb/system/keys/key-hash";
import { type SnapshotKey, signSnapshot } from "@appdb/system/keys/key-snapshot";
import { identifyProcess, isProcessAlive, type ProcessIdentity } from "@appdb/system/processes/process-identity";
import { findFamily } from "@appdb/system/processes/process-table";
import { locateTools, requirePostgresBin } from "@appdb/system/tools/locate-tools";
import { BUILT_POD, hasEnded, ROOT, waitFor } from "./test-home.ts";

/** Real pods of one hosted database: its own and those of its services. For tests only. */
export interface TestPods extends AsyncDisposable {
  readonly folder: string;
  readonly service_log_folder: string;
  spec(more?: Partial<DatabasePodSpec>): Promise<DatabasePodSpec>;
  /** Creates a tree of project files and returns its digest. */
  putTree(files: Record<string, string>): string;
  start(spec: DatabasePodSpec | string, env?: Record<string, string>): StartedPod;
  /** Creates a key. */
  key(id: string, grants: readonly string[]): TestKey;
  /** A snapshot of the keys as the control plane would sign it. */
  snapshot(version: number, keys: readonly TestKey[]): string;
  /** Spec of the service `ingest` of `files`, which the database pod has read. */
  serviceSpec(database: StartedPod, files: string, keys: readonly TestKey[]): Promise<ServicePodSpec>;
  startService(spec: ServicePodSpec): StartedService;
}

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
  /** The pod and its descendants. */
  processes(): ProcessIdentity[];
  /** Resolves to its exit status; its output is in `said`. */
  ended(): Promise<number | null>;
  readonly said: () => string;
}

export interface StartedService extends StartedPod {
  /** Calls one of its routes. */
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<PodAnswer>;
}

/** A key with its text. */
export interface TestKey {
  readonly text: string;
  readonly entry: SnapshotKey;
}

const DATABASE_ID = "0190a0a0-0000-7000-8000-000000000000";

/** Creates the folders. Disposing ends every process of the pods and removes the folders. */
export function openTestPods(): TestPods {
  const folder = mkdtempSync(join(tmpdir(), "appdb-pod-"));
  const [runFolder, serviceRunFolder] = ["pod-", "svc-"].map((name) => mkdtempSync(join(tmpdir(), name))) as [
    string,
    string,
  ];
  const serviceLogFolder = join(folder, "service-log");
  const token = randomBytes(24).toString("base64url");
  const pair = generateKeyPairSync("ed25519");
  const started: StartedPod[] = [];
  const left: ProcessIdentity[] = [];

  async function spec(more: Partial<DatabasePodSpec> = {}): Promise<DatabasePodSpec> {
    const tools = locateTools({ program_url: import.meta.url, postgres_bin: undefined });
    const home = join(folder, "home");
    // biome-ignore lint/style/noProcessEnv: a test passes on its environment
    const env = { PATH: process.env.PATH ?? "", HOME: folder };
    mkdirSync(join(folder, "empty"), { recursive: true });
    const runtime = await resolveRuntime({ project_root: join(folder, "empty"), python: undefined, env, home, tools });
    return {
      role: "database",
      database_id: DATABASE_ID,
      uri: "cloud://acme:main",
      data_folder: join(folder, "data"),
      template_folder: join(folder, "template", "18"),
      postgres_bin: requirePostgresBin(tools),
      run_folder: runFolder,
      log_folder: join(folder, "log"),
      services_folder: join(folder, "services"),
      token,
      link_token: `link of ${token}`,
      resources: { cpu: 1, memory_mb: 512, disk_gb: 1, workers: 1 },
      limits: DEFAULT_LIMITS,
      runtime,
      files_folder: join(folder, "files"),
      media: localMediaPlace(join(folder, "media"), {}),
      notices: [],
      ...more,
    };
  }

  const snapshot: TestPods["snapshot"] = (version, keys) =>
    signSnapshot(
      { organization: "acme", database: "main", version, issued_ms: Date.now(), keys: keys.map(({ entry }) => entry) },
      pair.privateKey,
    );

  function launch(pod: PodToStart): StartedPod {
    const one = startPod(pod, left);
    started.push(one);
    return one;
  }

  return {
    folder,
    service_log_folder: serviceLogFolder,
    spec,
    snapshot,
    putTree(files) {
      const digest = createHash("sha256").update(JSON.stringify(files)).digest("hex");
      for (const [path, content] of Object.entries(files)) {
        const file = join(folder, "files", digest, path);
        mkdirSync(dirname(file), { recursive: true });
        writeFileSync(file, content);
      }
      return digest;
    },
    start: (input, env = {}) => launch({ role: "database", run_folder: runFolder, token, input, env }),
    key(id, grants) {
      const text = writeKeyText({ id, secret: randomBytes(32).toString("base64url") });
      const hashes = [{ hash: hashKey(text), until_ms: null }];
      return { text, entry: { id, name: `key ${id}`, hashes, grants, role: null, expires_ms: null } };
    },
    async serviceSpec(database, files, keys) {
      const { resources, runtime, files_folder: filesFolder } = await spec();
      const role = await database.ask("POST", "/v1/service-roles", { role: "svc_0123456789ab" });
      const read = await database.ask("POST", "/v1/manifest", { app_file: "app.py", files });
      return {
        role: "service-pod",
        service_id: "0190a0a0-0000-7000-8000-00000000000a",
        instance: 1,
        database_id: DATABASE_ID,
        organization: "acme",
        database: "main",
        service: "ingest",
        uri: "cloud://acme:main/ingest",
        token: randomBytes(24).toString("base64url"),
        dsn: role.json<{ dsn: string }>().dsn,
        scratch_folder: join(folder, "scratch"),
        run_folder: serviceRunFolder,
        log_folder: serviceLogFolder,
        resources,
        limits: DEFAULT_LIMITS,
        may_export_private: false,
        media: localMediaPlace(join(folder, "media"), {}),
        manifest: manifestSchema.parse(read.json<{ manifest: unknown }>().manifest),
        runtime: { ...runtime, project_root: join(filesFolder, files) },
        keys: {
          public_key: pair.publicKey.export({ format: "der", type: "spki" }).toString("base64"),
          snapshot: snapshot(1, keys),
        },
        notices: [],
      };
    },
    startService(spec) {
      const { run_folder: runFolder, token } = spec;
      const pod = launch({ role: "service-pod", run_folder: runFolder, token, input: spec, env: {} });
      const socket = join(runFolder, "http.sock");
      return { ...pod, call: (method, path, body, headers = {}) => askSocket(socket, headers, method, path, body) };
    },
    [Symbol.asyncDispose]: async () => {
      // services need their database until they have ended
      for (const { child, ended } of started.toReversed()) {
        if (!hasEnded(child)) child.kill("SIGTERM");
        await ended();
      }
      for (const one of left) if (isProcessAlive(one)) process.kill(one.pid, "SIGKILL");
      for (const path of [folder, runFolder, serviceRunFolder])
        rmSync(path, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

interface PodToStart {
  readonly role: "database" | "service-pod";
  readonly run_folder: string;
  readonly token: string;
  /** Written to its standard input. */
  readonly input: unknown;
  readonly env: Record<string, string>;
}

/** `left` gets the processes of the pod that the test has seen. */
function startPod({ role, run_folder: runFolder, token, input, env }: PodToStart, left: ProcessIdentity[]): StartedPod {
  const child = spawn(process.execPath, [BUILT_POD, role], {
    cwd: ROOT,
    // biome-ignore lint/style/noProcessEnv: a test passes on its environment
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
    askSocket(join(runFolder, "pod.sock"), { authorization: `Bearer ${token}`, ...headers }, method, path, body);
  return {
    child,
    ask,
    said: () => said,
    ready: () =>
      waitFor(async () => {
        if (hasEnded(child)) throw new Error(`The pod ended: ${said}`);
        return (await ask("GET", "/v1/health").catch(() => undefined))?.status === 200;
      }),
    processes: () => {
      const found = findFamily([child.pid ?? 0]).flatMap(({ pid }) => identifyProcess(pid) ?? []);
      left.push(...found);
      return found;
    },
    ended: async () => {
      if (!hasEnded(child)) await once(child, "exit");
      return child.exitCode;
    },
  };
}

/** Sends one request to a unix socket. */
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
