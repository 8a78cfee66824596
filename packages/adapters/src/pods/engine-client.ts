import { request } from "node:http";
import type { Duplex } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { appError } from "@appdb/contract/errors";
import type Docker from "dockerode";

/** Since Docker 20.10; Podman 4 and 5 speak it as well. */
const API_VERSION = "v1.41";
const ANSWER_TIMEOUT_MS = 60_000;
const REMOVE_TIMEOUT_MS = 10_000;
const REMOVE_PAUSE_MS = 100;

/** A container engine of this machine, by its socket. */
export interface Engine {
  readonly socket: string;
  readonly docker: Docker;
  /** The same for what takes as long as a container runs. */
  readonly patient: Docker;
}

/** Makes a client; nothing is asked yet. */
export async function openEngine(socket: string, timeout = ANSWER_TIMEOUT_MS): Promise<Engine> {
  const { default: Client } = await import("dockerode");
  const options = { socketPath: socket, version: API_VERSION };
  return { socket, docker: new Client({ ...options, timeout }), patient: new Client(options) };
}

/**
 * Connects to a container's standard streams before it is started. Written by hand: the client writes its options into the
 * stream, where Podman takes them for input. What the container writes comes in frames (`demuxStream`).
 * @throws pod_failed
 */
export async function attachContainer(
  engine: Engine,
  id: string,
  streams: { readonly stdin: boolean; readonly output: boolean },
): Promise<Duplex> {
  const output = streams.output ? "&stdout=1&stderr=1" : "";
  const path = `/${API_VERSION}/containers/${id}/attach?stream=1${streams.stdin ? "&stdin=1" : ""}${output}`;
  const headers = { connection: "Upgrade", upgrade: "tcp" };
  return await new Promise((resolve, reject) => {
    const refuse = (why: string, cause?: unknown) =>
      reject(appError("pod_failed", { detail: `The container engine did not connect to a container: ${why}.`, cause }));
    const asked = request({ socketPath: engine.socket, method: "POST", path, headers });
    asked.once("upgrade", (_, socket) => resolve(socket));
    asked.once("response", (response) => {
      const said: string[] = [];
      response.setEncoding("utf8").on("data", (piece: string) => said.push(piece));
      response.once("close", () => refuse(`it answered ${response.statusCode} ${said.join("").trim()}`));
    });
    asked.once("error", (error) => refuse(error.message, error));
    asked.end();
  });
}

/**
 * Whether the engine is Podman, by the head of its shortest answer: asked for its version it looks for the packages that all of
 * its parts come from, which takes a second.
 * @throws pod_failed when it does not answer
 */
export async function isPodman({ socket }: Engine): Promise<boolean> {
  const refuse = (cause: Error) => engineError("say what it is", cause);
  return await new Promise((resolve, reject) => {
    const asked = request({ socketPath: socket, path: "/_ping", timeout: ANSWER_TIMEOUT_MS });
    asked.once("response", (response) => {
      response.resume();
      resolve(response.headers["libpod-api-version"] !== undefined);
    });
    asked.once("timeout", () => asked.destroy(new Error(`no answer within ${ANSWER_TIMEOUT_MS / 1000} s`)));
    asked.once("error", (error) => reject(refuse(error)));
    asked.end();
  });
}

/** The answer of the engine; undefined when it knows nothing of that name. @throws pod_failed with what it said */
export async function askEngine<T>(what: string, answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (statusOf(error) === 404) return undefined;
    throw engineError(what, error);
  }
}

/** As `askEngine`, where 404 is an error too. @throws pod_failed with what it said */
export async function demandEngine<T>(what: string, answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    throw engineError(what, error);
  }
}

/** Ends and removes a container; nothing for one that is not there. @throws pod_failed when the engine does not come to it in ten seconds */
export async function removeContainer({ docker }: Engine, name: string): Promise<void> {
  for (const until = performance.now() + REMOVE_TIMEOUT_MS; ; await sleep(REMOVE_PAUSE_MS)) {
    try {
      await askEngine("remove a container", docker.getContainer(name).remove({ force: true, v: true }));
      return;
    } catch (error) {
      // the engine has not come to know yet that its processes have ended, or removes it already
      if (performance.now() > until) throw error;
    }
  }
}

/** The HTTP status that the engine answered. */
export function statusOf(error: unknown): number | undefined {
  return error instanceof Error && "statusCode" in error && typeof error.statusCode === "number"
    ? error.statusCode
    : undefined;
}

function engineError(what: string, error: unknown): Error {
  const said = error instanceof Error ? error.message.replace(/\s+/g, " ").trim() : String(error);
  return appError("pod_failed", { detail: `The container engine could not ${what}: ${said}`, cause: error });
}
