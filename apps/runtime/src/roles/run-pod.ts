import { chmodSync, rmSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { appError, toProblem } from "@appdb/contract/errors";
import type { Runtime } from "@appdb/contract/runtime";
import type { Logger } from "@appdb/engine/ports";
import { type LinkServer, type ServeLinkInput, serveLink } from "@appdb/pods/link/serve-link";
import type { Secret } from "@appdb/system/secret";
import type { FastifyInstance } from "fastify";
import type { ZodType } from "zod";
import { readPodLauncher } from "../config/config.ts";
import { createProgramLogger, createRequestLog, type RequestLog } from "../daemon/logger.ts";
import { RotatingFile } from "../daemon/rotating-file.ts";
import { endWithHome } from "./end-with-home.ts";

const LOG_BYTES = 5_000_000;
const LOG_FILES = 3;
/** Time for running API requests when the pod stops. */
const DRAIN_MS = 5_000;
/** Files of the pod are private. */
const PRIVATE_UMASK = 0o077;

/** Common part of all pod specs. */
interface AnyPodSpec {
  readonly log_folder: string;
  readonly notices: readonly string[];
  readonly runtime: Runtime;
  /** Instance of a service. During an update, two instances write to one log. */
  readonly instance?: number;
}

/**
 * Common part of all pods: reads the spec from standard input and logs to `log_folder`, also through `logRequest`.
 * Returns the exit status.
 * @throws pod_failed for an invalid spec; errors of `run`
 */
export async function runPod<Spec extends AnyPodSpec>(
  schema: ZodType<Spec>,
  run: (spec: Spec, log: Logger, logRequest: RequestLog) => Promise<void>,
): Promise<number> {
  process.umask(PRIVATE_UMASK);
  const spec = readSpec(schema, await text(process.stdin));
  using logFile = new RotatingFile({ path: join(spec.log_folder, "pod.log"), max_bytes: LOG_BYTES, keep: LOG_FILES });
  process.once("exit", () => logFile.flush());
  const who = spec.instance === undefined ? {} : { instance: spec.instance };
  const log = createProgramLogger(logFile, "info", who);
  try {
    for (const notice of spec.notices) log.warn({}, notice);
    // each role shuts down on this signal
    const end = () => void process.kill(process.pid, "SIGTERM");
    using _home = endWithHome({ folder: spec.log_folder, log, end });
    await run(spec, log, createRequestLog(logFile, who));
    log.info({}, "the pod has stopped");
    return 0;
  } catch (error) {
    // the log is readable for its owner; the stack of an internal error goes where only we look
    const { code, detail } = toProblem(error);
    log.error({ code, detail }, "the pod failed");
    throw error;
  }
}

/**
 * Listens in `run_folder` for the pod's owner. Disposing accepts no new requests and gives running ones time to end.
 */
export async function listenToPod(api: FastifyInstance, runFolder: string): Promise<AsyncDisposable> {
  const socket = join(runFolder, "pod.sock");
  // left by a killed pod; the driver runs one pod of this id at a time
  rmSync(socket, { force: true });
  await api.listen({ path: socket });
  chmodSync(socket, 0o600);
  return {
    async [Symbol.asyncDispose]() {
      const timer = setTimeout(() => api.server.closeAllConnections(), DRAIN_MS);
      await api.close();
      clearTimeout(timer);
      rmSync(socket, { force: true });
    },
  };
}

/** Accepts links of the gateway, which sends the token. */
export async function listenToGateway(
  runFolder: string,
  token: Secret,
  handle: ServeLinkInput["handle"],
  log: Logger,
): Promise<LinkServer> {
  const socket = join(runFolder, "link.sock");
  // left by a killed pod
  rmSync(socket, { force: true });
  return await serveLink({ socket, token, log, handle });
}

function readSpec<Spec extends AnyPodSpec>(schema: ZodType<Spec>, input: string): Spec {
  const parsed = schema.safeParse(parseJson(input));
  if (!parsed.success) {
    const problems = parsed.error.issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`);
    throw appError("pod_failed", {
      detail: `The pod's spec is invalid: ${problems.slice(0, 5).join("; ")}.`,
      hint: "The pod driver and the pod must have the same version.",
    });
  }
  const launcher = readPodLauncher();
  const { runtime } = parsed.data;
  // the tree is read-only, and Python must not write files there
  const env = { PYTHONDONTWRITEBYTECODE: "1", ...runtime.env };
  return { ...parsed.data, runtime: { ...runtime, env, ...(launcher === undefined ? {} : { launcher }) } };
}

function parseJson(input: string): unknown {
  try {
    return JSON.parse(input);
  } catch (cause) {
    throw appError("pod_failed", {
      detail: "The pod's standard input is not a JSON document.",
      hint: "A pod driver starts this program. Do not run it on the command line.",
      cause,
    });
  }
}
