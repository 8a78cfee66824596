/**
 * A database pod: one hosted database, with PostgreSQL as its child, the engine's data API on a unix socket
 * (database-api/server.ts), and Python when rows need it. Started by a driver of pods, which writes on its standard input
 * what it is told (contract/src/pod-spec.ts). It ends when it is told to; what it started ends with it, also when it is killed.
 */
import { chmodSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { SOLE_DATABASE } from "@appdb/adapters/postgres/cluster-template";
import { EmbeddedPostgres } from "@appdb/adapters/postgres/embedded-postgres";
import { postgresSettings } from "@appdb/adapters/postgres/postgres-settings";
import { appError, toProblem } from "@appdb/contract/errors";
import { type DatabasePodSpec, databasePodSpecSchema } from "@appdb/contract/pod-spec";
import { VERSION } from "@appdb/contract/version";
import type { Logger } from "@appdb/engine/ports";
import { CATALOG_FORMAT } from "@appdb/engine/schema/ensure-catalog";
import type { FastifyInstance } from "fastify";
import type { DatabasePodDeps } from "../compose-database.ts";
import { readPodLauncher } from "../config.ts";
import { listenForStop } from "../daemon/listen-for-stop.ts";
import { createLogger } from "../daemon/logger.ts";
import { RotatingFile } from "../daemon/rotating-file.ts";
import { keepWorking } from "../databases/keep-working.ts";

const LOG_BYTES = 5_000_000;
const LOG_FILES = 3;
/** What requests have to end when the pod stops. */
const DRAIN_MS = 5_000;
/** What the pod makes is its own. */
const PRIVATE_UMASK = 0o077;

/**
 * Runs until it is told to stop: by its API, SIGTERM, SIGINT or SIGHUP.
 * @throws pod_failed for what is no spec; postgres_failed, postgres_unsupported, catalog_too_new
 */
export async function runDatabase(): Promise<number> {
  process.umask(PRIVATE_UMASK);
  const spec = readSpec(await text(process.stdin));
  mkdirSync(spec.data_folder, { recursive: true });
  using log_file = new RotatingFile({ path: join(spec.log_folder, "pod.log"), max_bytes: LOG_BYTES, keep: LOG_FILES });
  const log = createLogger(log_file, "info");
  try {
    await runPod(spec, log);
    log.info({}, "the pod has stopped");
    return 0;
  } catch (error) {
    // the log is its owner's to read; the stack of a mistake of ours goes where we alone look
    const { code, detail } = toProblem(error);
    log.error({ code, detail }, "the pod failed");
    throw error;
  }
}

async function runPod(spec: DatabasePodSpec, log: Logger): Promise<void> {
  const stop = listenForStop("pod", log);
  await using postgres = new EmbeddedPostgres({
    bin: spec.postgres_bin,
    folder: join(spec.data_folder, "postgres"),
    runtime_folder: spec.run_folder,
    keeps_runtime_folder: true,
    log_file: join(spec.log_folder, "postgres.log"),
    log,
    template_folder: spec.template_folder,
    settings: postgresSettings(spec.resources),
    dies_with_parent: true,
    format: CATALOG_FORMAT,
  });
  // it takes longest: it starts while the rest of the program is loaded
  const starting = postgres.start();
  starting.catch(() => undefined);
  const [{ composeDatabase }, { createDatabaseApi }] = await Promise.all([
    import("../compose-database.ts"),
    import("../database-api/server.ts"),
  ]);
  await using deps = composeDatabase({
    ...{ spec, log, postgres },
    database: SOLE_DATABASE,
    requestStop: stop.request,
  });
  const api = createDatabaseApi(deps);
  const socket = join(spec.run_folder, "pod.sock");
  // of a pod that was killed; the driver runs one of this database at a time
  rmSync(socket, { force: true });
  try {
    await api.listen({ path: socket });
    chmodSync(socket, 0o600);
    for (const notice of spec.notices) log.warn({}, notice);
    log.info({ version: VERSION, uri: spec.uri }, "the pod listens");
    // without its PostgreSQL a pod is nothing: whoever runs it tries again, and knows why it ended
    await Promise.race([deps.ready().then(() => setReady(deps)), stop.requested]);
    await using _work = keepWorking(deps);
    const reason = await stop.requested;
    deps.lifecycle.is_stopping = true;
    log.info({ reason }, "the pod stops");
  } finally {
    await drain(api);
    rmSync(socket, { force: true });
  }
}

function setReady({ lifecycle }: DatabasePodDeps): void {
  lifecycle.is_ready = true;
}

/** Takes no more requests, and lets those that are under way end for a time. */
async function drain(api: FastifyInstance): Promise<void> {
  const timer = setTimeout(() => api.server.closeAllConnections(), DRAIN_MS);
  await api.close();
  clearTimeout(timer);
}

function readSpec(input: string): DatabasePodSpec {
  const parsed = databasePodSpecSchema.safeParse(parseJson(input));
  if (!parsed.success) {
    const problems = parsed.error.issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`);
    throw appError("pod_failed", {
      detail: `What the pod was told is not valid: ${problems.slice(0, 5).join("; ")}.`,
      hint: "The driver of the pods and the pod must be of one version.",
    });
  }
  const launcher = readPodLauncher();
  const { runtime } = parsed.data;
  // the tree is read-only, and nobody's to leave files in
  const env = { PYTHONDONTWRITEBYTECODE: "1", ...runtime.env };
  return { ...parsed.data, runtime: { ...runtime, env, ...(launcher === undefined ? {} : { launcher }) } };
}

function parseJson(input: string): unknown {
  try {
    return JSON.parse(input);
  } catch (cause) {
    throw appError("pod_failed", {
      detail: "What the pod was told on its standard input is no JSON document.",
      hint: "A driver of pods starts this program; it is not for the command line.",
      cause,
    });
  }
}
