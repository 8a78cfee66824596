/**
 * A service pod: one instance of a hosted service. It runs the same service as the local role (with-service.ts), plus
 * an API for its owner (service-api/server.ts) and a socket that requires API keys. A pod driver starts it and writes
 * its spec to standard input (contract/src/pod-spec.ts). Its child processes end with it, even when it is killed.
 */
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type ServicePodHealth, type ServicePodSpec, servicePodSpecSchema } from "@appdb/contract/pod-spec";
import { VERSION } from "@appdb/contract/version";
import type { Logger, SqlPool } from "@appdb/engine/ports";
import { readCatalogMigrations } from "@appdb/postgres/migrations/read-migrations";
import { createSteadyClock } from "@appdb/system/processes/steady-clock";
import { Secret } from "@appdb/system/secret";
import { listenForStop } from "../daemon/listen-for-stop.ts";
import type { RequestLog } from "../daemon/logger.ts";
import { serveOnSocket } from "../http/serve-endpoints.ts";
import { printMetrics } from "../http/service-metrics.ts";
import { openServiceKeys } from "../service-api/caller-keys.ts";
import { LinkCarrier } from "../service-api/carry-link.ts";
import { createRequestMetrics } from "../service-api/request-metrics.ts";
import { createServiceApi } from "../service-api/server.ts";
import { TrafficCounter } from "../service-api/traffic-counter.ts";
import { watchRequests } from "../service-api/watch-requests.ts";
import { awaitCatalog } from "./await-catalog.ts";
import { listenToGateway, listenToPod, runPod } from "./run-pod.ts";
import { type WorkingService, type WorkingSpec, withService } from "./with-service.ts";

/** A gateway that does not know the other instance yet sends its next request within this time. */
const QUIET_MS = 300;
/** Shorter than the caller's timeout for a drain, so that the pod ends on its own. */
const DRAIN_MS = 55_000;
/** Time for running requests after the last one was accepted. */
const STOP_MS = 8_000;

/**
 * Runs until it is stopped by its API, SIGTERM, SIGINT or SIGHUP, or until it has drained.
 * @throws pod_failed for an invalid spec; schema_mismatch, database_unavailable, app_invalid, worker_unavailable
 */
export async function runServicePod(): Promise<number> {
  return await runPod(servicePodSpecSchema, serveService);
}

async function serveService(spec: ServicePodSpec, log: Logger, logRequest: RequestLog): Promise<void> {
  const stop = listenForStop("pod", log);
  let requestDrain = () => {};
  const drained = new Promise<string>((resolve) => {
    requestDrain = () => resolve("drained");
  });
  const keys = openServiceKeys(spec, log);
  const traffic = new TrafficCounter(createSteadyClock());
  const metrics = createRequestMetrics(() => traffic.in_flight);
  const lifecycle: { state: ServicePodHealth["state"] } = { state: "starting" };
  let stats: WorkingService["stats"] = () => undefined;
  const api = createServiceApi({
    spec,
    log,
    keys,
    traffic,
    lifecycle,
    metrics: () => Promise.all([metrics.print(), printMetrics(stats())]),
    requestDrain,
    requestStop: stop.request,
  });
  await using _api = await listenToPod(api, spec.run_folder);
  log.info({ version: VERSION, uri: spec.uri, instance: spec.instance }, "the pod listens");
  mkdirSync(spec.scratch_folder, { recursive: true });
  const awaitTables = (sql: SqlPool) => awaitCatalog(sql, readCatalogMigrations(), stop.requested, log);
  await withService({ ...workingSpec(spec), awaitTables }, log, async (service) => {
    stats = service.stats;
    const socket = join(spec.run_folder, "http.sock");
    // left by a killed pod
    rmSync(socket, { force: true });
    await using http = await serveOnSocket(service.endpoints, {
      socket,
      log,
      body_bytes: spec.limits.body_bytes,
      bodies: service.bodies,
      prefix: `/${spec.service}`,
      needs_key: true,
      prepare: (server) =>
        watchRequests(server, { keys, traffic, metrics, logRequest, checkAddress: service.checkAddress }),
    });
    const carrier = new LinkCarrier(service.endpoints.routes, {
      traffic,
      metrics,
      logRequest,
      body_bytes: spec.limits.body_bytes,
      prefix: `/${spec.service}`,
      listen: http.listen,
    });
    await using link = await listenToGateway(
      spec.run_folder,
      new Secret(spec.token),
      (...args) => carrier.handle(...args),
      log,
    );
    await Promise.race([service.startPython(), stop.requested]);
    lifecycle.state = "ready";
    log.info({ uri: spec.uri, instance: spec.instance }, "service listens");
    const reason = await Promise.race([stop.requested, drained]);
    lifecycle.state = "draining";
    log.info({ reason }, "the pod stops");
    http.beginDrain();
    link.drain();
    service.stopJobs();
    if (reason === "drained") await awaitQuiet(traffic, stop.requested, log);
    // Running requests are cut off at the timeout. The exit status still reports an intended end.
    setTimeout(() => {
      log.warn({ after_ms: STOP_MS }, "running requests were cut off");
      process.exit(0);
    }, STOP_MS).unref();
    await link.whenIdle();
  });
}

/** Answers requests until none arrive. */
async function awaitQuiet(traffic: TrafficCounter, stopped: Promise<string>, log: Logger): Promise<void> {
  const stopping = new AbortController();
  void stopped.then(() => stopping.abort());
  const isQuiet = await traffic.settle({ quiet_ms: QUIET_MS, limit_ms: DRAIN_MS, signal: stopping.signal });
  if (!isQuiet) log.warn({ in_flight: traffic.in_flight }, "requests are still running at the end of the drain");
}

function workingSpec(spec: ServicePodSpec): WorkingSpec {
  const { dsn, manifest, runtime, limits, resources, scratch_folder: scratchFolder, media } = spec;
  const cut = spec.uri.lastIndexOf("/");
  return {
    dsn,
    manifest,
    media,
    runtime,
    scratch_folder: scratchFolder,
    export_reach: spec.may_export_private ? "private" : "public",
    target: spec.uri.slice(0, cut),
    services: [spec.uri.slice(cut + 1)],
    limits: { ...limits, workers: resources.workers },
    memory_mb: resources.memory_mb,
  };
}
