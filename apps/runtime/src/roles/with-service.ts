import { toProblem } from "@appdb/contract/errors";
import { type BodyLimit, limitsOfPod } from "@appdb/contract/service-limits";
import type { ServiceSpec } from "@appdb/contract/service-spec";
import { VERSION } from "@appdb/contract/version";
import { SERVICE_CONNECTIONS } from "@appdb/engine/catalog/reader-connections";
import { declaresMedia, destinationsOf } from "@appdb/engine/endpoints/media-routes";
import { type Endpoints, openEndpoints } from "@appdb/engine/endpoints/open-endpoints";
import type { HandlerRunner } from "@appdb/engine/handler-ports";
import type { Logger, SqlPool, UdfStats } from "@appdb/engine/ports";
import type { ArrivingBodies } from "@appdb/engine/routes/arriving-bodies";
import type { CompiledRoute } from "@appdb/engine/routes/route";
import { createPgPool } from "@appdb/postgres/client/pg-pool";
import { createFileSpool } from "@appdb/system/files/file-spool";
import { openTracer } from "@appdb/system/traces/open-tracer";
import { collectHourly } from "../databases/collect-hourly.ts";
import { LazyHandlers, LazyWorkers } from "../databases/lazy-workers.ts";
import { logOutagesOnce } from "../http/log-outages.ts";
import { countForms, limitWholeBodies } from "../http/whole-bodies.ts";
import { mediaDeps, openMedia } from "../media/open-media.ts";
import { callsFunctions } from "./calls-functions.ts";
import { ExportPools, type ExportReach } from "./export-pools.ts";
import { workInBackground } from "./work-in-background.ts";

/** Spec parts that every kind of service needs. */
export interface WorkingSpec
  extends Pick<ServiceSpec, "dsn" | "target" | "manifest" | "services" | "runtime" | "limits" | "media"> {
  /** Folder for answers that are spooled before sending; defaults to the system's temporary folder. */
  readonly scratch_folder?: string;
  /** As for a pool. A local database with such a connection is not deleted. */
  readonly keeps_connection?: boolean;
  /** Allowed export targets of its routes; defaults to `own`. */
  readonly export_reach?: ExportReach;
  /** Memory of its pod; omitted for this machine. */
  readonly memory_mb?: number;
  /** Waits until the tables are readable. False when the service must not start. Optional. */
  awaitTables?(sql: SqlPool): Promise<boolean>;
}

/** A service whose routes can be served. */
export interface WorkingService {
  readonly endpoints: Endpoints;
  /** Its bodies in memory. */
  readonly bodies: ArrivingBodies;
  /** Checks the token of a signed address. Undefined without media columns. @throws media_address_invalid */
  readonly checkAddress: ((token: string) => unknown) | undefined;
  /** Statistics of the workers; undefined before their first start. */
  stats(): UdfStats | undefined;
  /**
   * Starts Python before the first row when routes need it.
   * @throws worker_unavailable when every route needs it and it cannot start
   */
  startPython(): Promise<void>;
  /** Accepts no further background jobs; running ones may end. */
  stopJobs(): void;
  /** Removes files of requests that will not end, before the process ends without closing. */
  abandonFiles(): Promise<void>;
}

/**
 * Opens a service's resources (connections, compiled routes, workers, background jobs) for the duration of `serve`, and
 * closes them in order.
 * @throws the errors of openEndpoints
 */
export async function withService(
  spec: WorkingSpec,
  given: Logger,
  serve: (service: WorkingService) => Promise<void>,
): Promise<void> {
  const log = logOutagesOnce(given);
  await using sql = createPgPool({
    dsn: spec.dsn,
    max: spec.limits.connections,
    statement_timeout_ms: spec.limits.statement_timeout_ms,
    keeps_connection: spec.keeps_connection,
    application_name: `${SERVICE_CONNECTIONS} ${spec.services.join(",")}`,
    log,
    status_command: spec.target.startsWith("cloud://") ? `cli db status ${spec.target}` : "cli health",
  });
  const bodies = limitWholeBodies(spec.limits.body_bytes, spec.memory_mb);
  const { tables } = spec.manifest;
  const mediaInput = {
    place: spec.media,
    env: spec.runtime.env,
    hosted: spec.runtime.hosted,
    destinations: destinationsOf(tables),
    sql,
    log,
  };
  await using media = declaresMedia(spec.manifest) ? openMedia(mediaInput) : undefined;
  // Workers call back for columns with queries; the first row creates them, after the endpoints.
  await using workers = new LazyWorkers({ ...spec, media }, log, (query, args) => endpoints.answerQuery(query, args));
  const udf = () => workers.get();
  // Python's start takes as long as the following steps
  if (callsFunctions(spec.manifest, spec.services)) void workers.start();
  if (spec.awaitTables !== undefined && !(await spec.awaitTables(sql))) return;
  await media?.serve();
  await using handlers = new LazyHandlers(spec, log, () => endpoints);
  const { manifest, target, services, scratch_folder: scratchFolder } = spec;
  await using exports = new ExportPools(spec.runtime.env, spec.export_reach ?? "own");
  const name = `${target}/${services.join(",")}`;
  await using tracer = await openTracer(spec.runtime.env, { name, version: VERSION, role: "service" }, log);
  await using endpoints = await openEndpoints(
    {
      sql,
      udf,
      log,
      handlers: () => handlers.get(),
      clock: { now: Date.now },
      openSpool: () => createFileSpool(scratchFolder),
      connectExport: (to) => exports.connect(to),
      tracer,
      ...mediaDeps(media),
      ...(media === undefined ? {} : { forms: countForms(media.forms, bodies) }),
    },
    { manifest, target, services, limits: limitsOf(spec) },
  );
  if (!endpoints.uses_python) await workers.end();
  using _collecting = collectHourly(endpoints, log);
  await using background = workInBackground(endpoints, log);
  await serve({
    endpoints,
    bodies,
    checkAddress: media === undefined ? undefined : (token) => media.files.readAddress(token),
    stats: () => workers.stats(),
    startPython: async () => {
      if (endpoints.uses_python) await startWorkers(workers, endpoints, log);
      if (endpoints.routes.some(isHandler)) await startHandlers(handlers.get(), endpoints, log);
    },
    stopJobs: () => background.stop(),
    abandonFiles: async () => await media?.abandon(),
  });
}

function limitsOf({ limits, memory_mb: memoryMb }: WorkingSpec): WorkingSpec["limits"] & BodyLimit {
  return memoryMb === undefined ? limits : limitsOfPod(limits, memoryMb);
}

/**
 * Starts the workers before the first row. When they fail, the service continues for routes without Python, and the
 * other routes report the error.
 * @throws worker_unavailable when every route needs them
 */
async function startWorkers(workers: LazyWorkers, endpoints: Endpoints, log: Logger): Promise<void> {
  try {
    await workers.start();
  } catch (error) {
    if (endpoints.routes.every((route) => route.uses_python)) throw error;
    const { code, detail } = toProblem(error);
    log.error({ code, detail }, "the workers cannot be started; routes that need them will report it");
  }
}

/** Like `startWorkers`, for the processes of handlers. @throws worker_unavailable when every route needs them */
async function startHandlers(handlers: HandlerRunner, endpoints: Endpoints, log: Logger): Promise<void> {
  try {
    await handlers.start();
  } catch (error) {
    if (endpoints.routes.every(isHandler)) throw error;
    const { code, detail } = toProblem(error);
    log.error({ code, detail }, "the handlers' workers cannot be started; handlers will report it");
  }
}

function isHandler(route: CompiledRoute): boolean {
  return route.is_handler === true;
}
