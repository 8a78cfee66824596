/**
 * A service process: serves routes of one application over HTTP (http/serve-endpoints.ts) from its database. The daemon
 * and `service run` start it with a private spec file (contract/src/service-spec.ts). It runs until it is stopped, or
 * until its starter is gone.
 */
import { readFileSync, rmSync } from "node:fs";
import { appError, toProblem } from "@appdb/contract/errors";
import { type ServiceMessage, type ServiceSpec, serviceSpecSchema } from "@appdb/contract/service-spec";
import type { Logger } from "@appdb/engine/ports";
import { pino } from "pino";
import { serveEndpoints } from "../http/serve-endpoints.ts";
import { printMetrics } from "../http/service-metrics.ts";
import { withService } from "./with-service.ts";

/** Shorter than the daemon's timeout, so that a service ends on its own. */
const DRAIN_MS = 8_000;

/** Serves until it is stopped and returns the exit status. Removes the file after reading it. */
export async function runServiceRole(specFile: string): Promise<number> {
  const stop = listenForStop();
  const log = createServiceLog();
  try {
    const spec = readSpec(specFile);
    await serve(spec, log, stop);
    return 0;
  } catch (error) {
    const problem = toProblem(error);
    log.error(
      { code: problem.code, detail: problem.detail, ...(problem.code === "internal_error" ? { err: error } : {}) },
      "service failed",
    );
    await notifyParent({ event: "failed", problem: { ...problem } });
    return 1;
  }
}

async function serve(spec: ServiceSpec, log: Logger, stop: Promise<string>): Promise<void> {
  await withService({ ...spec, keeps_connection: true }, log, async (service) => {
    const { bodies, endpoints, stats, startPython, stopJobs } = service;
    const { host, port, services, target } = spec;
    const { body_bytes: bodyBytes } = spec.limits;
    await using server = await serveEndpoints(endpoints, {
      host,
      port,
      log,
      body_bytes: bodyBytes,
      bodies,
      metrics: () => printMetrics(stats()),
    });
    await startPython();
    log.info({ services, target, address: server.address, port: server.port }, "service listens");
    await notifyParent({ event: "listening", address: server.address, port: server.port });
    const reason = await stop;
    log.info({ reason }, "service stops");
    stopJobs();
    // Running requests are cut off at the timeout. The exit status still reports an intended end.
    setTimeout(() => {
      log.warn({ after_ms: DRAIN_MS }, "running requests were cut off");
      void service
        .abandonFiles()
        .catch((error: unknown) =>
          log.warn({ err: error }, "files of requests were not removed; the next start does so"),
        )
        .finally(() => process.exit(0));
    }, DRAIN_MS).unref();
  });
}

function readSpec(file: string): ServiceSpec {
  const text = readFileSync(file, "utf8");
  rmSync(file, { force: true });
  const parsed = serviceSpecSchema.safeParse(JSON.parse(text));
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw appError("service_failed", {
    detail: `The service's spec is invalid: ${issue?.path.join(".")}: ${issue?.message}.`,
    hint: "Command and service must have the same version: cli daemon stop, then start the service again.",
  });
}

/** Writes JSON lines to stdout, which the daemon stores as the service's log. */
function createServiceLog(): Logger {
  return pino({
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    redact: { paths: ["dsn", "env", "*.dsn", "*.env"], censor: "***" },
  });
}

/** Resolves with the reason to stop. A second signal of one kind ends the process immediately. */
function listenForStop(): Promise<string> {
  return new Promise((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      process.once(signal, () => {
        resolve(signal);
        process.once(signal, () => process.exit(1));
      });
    }
    process.once("disconnect", () => resolve("parent gone"));
  });
}

async function notifyParent(message: ServiceMessage): Promise<void> {
  if (process.send === undefined || !process.connected) return;
  await new Promise<void>((resolve) => process.send?.(message, undefined, {}, () => resolve()));
}
