import { type ClientRequest, request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { Fetched, FetchLike } from "@appdb/contract/clients/client";
import { createLocalClient, type LocalClient } from "@appdb/contract/clients/local-client";
import { AppError, appError } from "@appdb/contract/errors";
import { compareVersions, VERSION } from "@appdb/contract/version";
import { isOtherFolder } from "@appdb/system/files/is-other-folder";
import { headersOf } from "@appdb/system/network/headers-of";
import type { SentBody } from "@appdb/system/network/http-fetch";
import type { CliConfig } from "../config/config.ts";
import type { FoundDaemon } from "../context.ts";
import type { Program } from "../program.ts";
import { readDaemonAddress } from "./daemon-files.ts";
import { isDaemonAlive } from "./is-daemon-alive.ts";

/** `fetch` over node:http. The global one adds 25 ms to a command's start, this one 10 ms. */
const nodeFetch: FetchLike<Fetched, SentBody> = (url, init) =>
  new Promise<Fetched>((resolve, reject) => {
    const { method, headers, body, signal } = init;
    const stream = typeof body === "object" && Symbol.asyncIterator in body ? body : undefined;
    const whole = stream === undefined ? (body as string | Uint8Array | undefined) : undefined;
    const sent = request(url, {
      method,
      headers: whole === undefined ? headers : { ...headers, "content-length": String(Buffer.byteLength(whole)) },
      // There are only a few calls; a kept connection would delay the command's end.
      agent: false,
      ...(signal === undefined ? {} : { signal }),
    });
    sent.on("response", (response) =>
      resolve({
        status: response.statusCode ?? 0,
        body: response,
        headers: headersOf(response),
        text: async () => Buffer.concat(await response.toArray()).toString("utf8"),
      }),
    );
    sent.on("error", reject);
    if (stream === undefined) sent.end(whole);
    else sendStream(sent, stream).catch((error: Error) => sent.destroy(error));
  });

async function sendStream(sent: ClientRequest, stream: AsyncIterable<Uint8Array>): Promise<void> {
  const { writeBody } = await import("@appdb/system/network/write-body");
  await writeBody(sent, stream);
}

export interface EnsureDaemonDeps {
  readonly config: Pick<CliConfig, "home" | "daemon_env">;
  readonly program: Program;
  /** Prints a message for the user: starting a daemon on an empty home takes a second or two. */
  readonly note: (text: string) => void;
  /** Time for its answer about its state; then it counts as hung. */
  readonly answer_timeout_ms?: number;
  /** Result of a recent `findDaemon`. */
  readonly found?: Promise<FoundDaemon | undefined> | undefined;
}

/**
 * Longer than a daemon gives its services and PostgreSQL, whose shutdown takes half a minute after hundreds of new
 * databases.
 */
const STOP_TIMEOUT_MS = 60_000;
const POLL_MS = 15;
/** A busy daemon answers in milliseconds, also during long requests: they do not block it. */
const ANSWER_TIMEOUT_MS = 10_000;

/**
 * A client of the home's daemon, which is started when none responds. The home's lock lets only one daemon run, and all
 * concurrent commands find it. An idle daemon of an older version is replaced.
 * @throws daemon_failed with the last lines of its log; daemon_busy, daemon_hung; home_not_writable
 */
export async function ensureDaemon(deps: EnsureDaemonDeps, signal: AbortSignal): Promise<LocalClient> {
  const found = await (deps.found ?? findDaemon(deps));
  if (found === undefined) return await start(deps, signal);
  if (compareVersions(found.health.version, VERSION) >= 0) return found.client;
  if (found.health.busy > 0) throw busyError(found);
  deps.note(`The daemon has version ${found.health.version} and is replaced by version ${VERSION}.`);
  await found.client.call("stop", {}, { signal });
  await waitUntilGone(found.file.pid);
  return await start(deps, signal);
}

/** Loads what starts processes only when a daemon must be started. */
async function start(deps: EnsureDaemonDeps, signal: AbortSignal): Promise<LocalClient> {
  const { startDaemon } = await import("./start-daemon.ts");
  return await startDaemon({ ...deps, find: () => findDaemon(deps) }, signal);
}

/** The home's daemon if it responds; undefined when none runs. Starts nothing. @throws daemon_hung, daemon_failed */
export async function findDaemon(
  deps: Pick<EnsureDaemonDeps, "answer_timeout_ms" | "config">,
): Promise<FoundDaemon | undefined> {
  const address = readDaemonAddress(deps.config.home);
  if (address === undefined) return undefined;
  const client = createLocalClient({ port: address.file.port, token: address.token, fetch: nodeFetch });
  const timeout = AbortSignal.timeout(deps.answer_timeout_ms ?? ANSWER_TIMEOUT_MS);
  try {
    const health = await client.call("health", {}, { signal: timeout });
    // this home is a copy, and the files belong to the daemon of the original
    if (isOtherFolder(health.home, deps.config.home)) return undefined;
    return { file: address.file, client, health };
  } catch (error) {
    // Nothing listens, or another program uses the port and does not know the token: the file belongs to a daemon that
    // is gone.
    const isMissing =
      error instanceof AppError && (error.code === "daemon_not_running" || error.code === "unauthorized");
    if (isMissing || !isDaemonAlive(address.file.pid)) return undefined;
    const { findHungDaemon } = await import("./hung-daemon.ts");
    const hung = findHungDaemon(deps.config.home, address.file.pid);
    if (hung === undefined) return undefined;
    throw timeout.aborted ? hung : error;
  }
}

/** Waits until a daemon's process has ended. @throws daemon_failed after a minute */
export async function waitUntilGone(pid: number): Promise<void> {
  const until = Date.now() + STOP_TIMEOUT_MS;
  while (isDaemonAlive(pid)) {
    if (Date.now() > until) {
      throw appError("daemon_failed", {
        detail: `The daemon (process ${pid}) did not stop within ${STOP_TIMEOUT_MS / 1000} s.`,
        hint: "Find its log: cli daemon status",
        meta: { pid },
      });
    }
    await sleep(POLL_MS);
  }
}

function busyError(found: FoundDaemon): AppError {
  const { version, busy, services } = found.health;
  return appError("daemon_busy", {
    detail: `The daemon has version ${version} and this command ${VERSION}. The daemon is busy (${busy} running, ${services} of them services).`,
    hint: "Replace it when that work can stop: cli daemon restart",
    meta: { daemon_version: version, version: VERSION, busy, services },
  });
}
