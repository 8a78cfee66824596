import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { request } from "node:http";
import { join } from "node:path";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { isProcessAlive, type ProcessIdentity } from "@appdb/system/processes/process-identity";
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
  /** The pod and its descendants. */
  processes(): ProcessIdentity[];
  /** Resolves to its exit status; its output is in `said`. */
  ended(): Promise<number | null>;
  readonly said: () => string;
}

export interface PodToStart {
  readonly role: "database" | "service-pod";
  readonly run_folder: string;
  readonly token: string;
  /** Written to its standard input. */
  readonly input: unknown;
  readonly env?: Record<string, string>;
}

/** Real pods. Disposing ends all their processes. For tests only. */
export interface StartedPods extends AsyncDisposable {
  start(pod: PodToStart): StartedPod;
}

/** Creates the starter of pods. */
export function openStartedPods(): StartedPods {
  const started: StartedPod[] = [];
  const left: ProcessIdentity[] = [];
  return {
    start({ role, run_folder: runFolder, token, input, env = {} }) {
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
    },
    [Symbol.asyncDispose]: async () => {
      for (const { child } of started) if (!hasEnded(child)) child.kill("SIGTERM");
      for (const pod of started) await pod.ended();
      for (const one of left) if (isProcessAlive(one)) process.kill(one.pid, "SIGKILL");
    },
  };
}

/** Sends one request to a unix socket. */
export function askSocket(
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
