import { chmodSync, rmSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { appError, toProblem } from "@appdb/contract/errors";
import type { Runtime } from "@appdb/contract/runtime";
import type { Logger } from "@appdb/engine/ports";
import type { FastifyInstance } from "fastify";
import type { ZodType } from "zod";
import { readPodLauncher } from "../config/config.ts";
import { createProgramLogger, createRequestLog, type RequestLog } from "../daemon/logger.ts";
import { RotatingFile } from "../daemon/rotating-file.ts";
import { endWithHome } from "./end-with-home.ts";

const LOG_BYTES = 5_000_000;
const LOG_FILES = 3;
/** What requests to a pod's API have to end when the pod stops. */
const DRAIN_MS = 5_000;
/** What the pod makes is its own. */
const PRIVATE_UMASK = 0o077;

/** What every pod is told. */
interface AnyPodSpec {
  readonly log_folder: string;
  readonly notices: readonly string[];
  readonly runtime: Runtime;
  /** Of a service: while it is updated two of them write to one log. */
  readonly instance?: number;
}

/**
 * What all pods have in common: they are told what to do on their standard input, and keep their log in `log_folder`; `logRequest`
 * writes there too. Gives the exit status.
 * @throws pod_failed for what is no spec; what `run` throws
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
    // each role stops in order when it is asked to by a signal
    const end = () => void process.kill(process.pid, "SIGTERM");
    using _home = endWithHome({ folder: spec.log_folder, log, end });
    await run(spec, log, createRequestLog(logFile, who));
    log.info({}, "the pod has stopped");
    return 0;
  } catch (error) {
    // the log is its owner's to read; the stack of a mistake of ours goes where we alone look
    const { code, detail } = toProblem(error);
    log.error({ code, detail }, "the pod failed");
    throw error;
  }
}

/** Listens in `run_folder` for whoever runs the pod; disposing takes no more requests, and lets those that are under way end for a time. */
export async function listenToPod(api: FastifyInstance, runFolder: string): Promise<AsyncDisposable> {
  const socket = join(runFolder, "pod.sock");
  // of a pod that was killed; the driver runs one of this name at a time
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

function readSpec<Spec extends AnyPodSpec>(schema: ZodType<Spec>, input: string): Spec {
  const parsed = schema.safeParse(parseJson(input));
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
      detail: "The pod's standard input is not a JSON document.",
      hint: "A driver of pods starts this program; it is not for the command line.",
      cause,
    });
  }
}
