import { Readable } from "node:stream";
import type { OutdatedService, RecomputeResult } from "@appdb/contract/jobs";
import { MEDIA_STORE_PATH } from "@appdb/contract/media-uri";
import { parseLocalTarget, parseTablePath } from "@appdb/contract/names";
import { LOCAL_API } from "@appdb/contract/routes/local-api";
import { LOCAL_ROUTES } from "@appdb/contract/routes/local-paths";
import { listLimits } from "@appdb/contract/service-limits";
import { CLIENT_VERSION_HEADER, VERSION } from "@appdb/contract/version";
import { cancelJob } from "@appdb/engine/background/list-jobs";
import { loadDefinitions } from "@appdb/engine/catalog/load-catalog";
import { endOf } from "@appdb/http/mount-api";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { DaemonDeps } from "../composition/compose.ts";
import { findErrors } from "../databases/cell-errors.ts";
import { dataHandlers } from "../databases/data-handlers.ts";
import { describeFailure } from "../databases/explain-outage.ts";
import { listJobsOf } from "../databases/list-jobs-of.ts";
import { openKnown } from "../databases/open-known.ts";
import { planTableRecompute, recomputeTable } from "../databases/recompute.ts";
import { mediaHandlers } from "../media/store-handlers.ts";
import { createLocalDatabase, deleteLocalDatabase, listLocalDatabases } from "../services/local-databases.ts";
import { findOutdatedServices } from "../services/outdated-services.ts";
import { planServiceUpdate, pruneLocalServices, updateLocalServices } from "../services/update-services.ts";
import { openAddressed } from "./forged-address.ts";
import { checkClientVersion, checkToken } from "./handshake.ts";
import { addUnread, createJsonApi, type Handlers, mountApi } from "./json-api.ts";
import { psqlHandlers } from "./psql-routes.ts";
import { queryHandlers } from "./query-handlers.ts";
import { rowHandlers } from "./row-routes.ts";
import { schemaHandlers } from "./schema-routes.ts";
import { tableChangeHandlers } from "./table-change-routes.ts";

type Names = "Apply" | "List" | "Logs" | "Plan" | "Prune" | "Restart" | "Stop";

/** Routes for the home's services. */
function serviceHandlers(deps: DaemonDeps): Pick<Handlers<typeof LOCAL_API>, `service${Names}`> {
  const { services } = deps;
  return {
    servicePlan: async ({ body }) => ({ plan: await planServiceUpdate(deps, body) }),
    serviceApply:
      ({ body }) =>
      async () => ({ plan: await updateLocalServices(deps, body) }),
    servicePrune: async ({ body }) => ({ plan: await pruneLocalServices(deps, body) }),
    serviceList: ({ query: { target } }) => {
      const failure = describeFailure(deps.postgres)?.detail;
      const listed = services.list(target === undefined ? undefined : parseLocalTarget(target).text);
      // each runs and answers that its database is unavailable
      return { services: listed.map((one) => ({ ...one, error: one.error ?? failure ?? null })) };
    },
    serviceRestart: ({ body }) => services.restart(services.resolve(body.name)),
    serviceStop: ({ body }) => services.stop(services.resolve(body.name)),
    serviceLogs: ({ query: { follow, name, tail } }) => {
      const log = services.log(services.resolve(name));
      return async (emit, signal) => {
        for (const line of log.tail(tail)) emit({ event: "log", line });
        if (follow === "1" && !signal.aborted) {
          const unfollow = log.follow((line) => emit({ event: "log", line }));
          await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
          unfollow();
        }
        return {};
      };
    },
  };
}

/** Health and stop, and operations on the home's databases. All requests except health and stop count as activity. */
function daemonHandlers(
  app: FastifyInstance,
  deps: DaemonDeps,
): Pick<
  Handlers<typeof LOCAL_API>,
  | "databaseCreate"
  | "databaseDelete"
  | "databaseList"
  | "health"
  | "limitList"
  | "scratchCreate"
  | "scratchDelete"
  | "stop"
> {
  let requests = 0;
  app.addHook("onRequest", async (request, reply) => {
    if (request.url.startsWith(LOCAL_ROUTES.health.path) || request.url.startsWith(LOCAL_ROUTES.stop.path)) return;
    requests += 1;
    // also when the client disconnects before its answer
    reply.raw.once("close", () => {
      requests -= 1;
    });
  });
  return {
    health: async () => {
      const fills = await deps.databases.countFills();
      return {
        version: VERSION,
        pid: process.pid,
        home: deps.home,
        started_at: deps.started_at,
        postgres: deps.postgres.state(),
        postgres_failure: describeFailure(deps.postgres) ?? null,
        busy: requests + fills + deps.services.countRunning(),
        services: deps.services.countRunning(),
      };
    },
    limitList: () => ({ limits: listLimits(deps.limits) }),
    stop: ({ reply }) => {
      // the answer is sent before the listener closes
      reply.raw.once("close", () => deps.requestStop());
      return {};
    },
    databaseList: async () => ({ databases: await listLocalDatabases(deps) }),
    databaseCreate: ({ body }) => createLocalDatabase(deps, body),
    databaseDelete: ({ body }) => deleteLocalDatabase(deps, body),
    scratchCreate: ({ body }) => deps.scratch.create(body),
    scratchDelete: ({ body }) => {
      deps.scratch.delete(body.name);
      return {};
    },
  };
}

/** Routes for recomputes, failing cells and jobs. */
function jobHandlers(
  deps: DaemonDeps,
): Pick<Handlers<typeof LOCAL_API>, "errors" | "jobCancel" | "jobList" | "recompute" | "recomputePlan"> {
  const open = (text: string) => openKnown(deps, text);
  return {
    recomputePlan: async ({ body }) => ({ plan: await planTableRecompute({ open }, body) }),
    recompute:
      ({ body }) =>
      async (emit, signal) => {
        const result = await recomputeTable({ ...deps, open }, body, emit, signal);
        const outdated = await findOutdated(deps, result);
        return { result: outdated.length === 0 ? result : { ...result, outdated } };
      },
    errors: async ({ query }) => ({ tables: await findErrors(open, query) }),
    jobList: async ({ query: { all, target: text } }) => {
      const { sql, name, target } = await open(text);
      const of = { sql, uri: name, path: target.folders.join("/"), all: all === "1" };
      return { jobs: [...(await listJobsOf(of))] };
    },
    jobCancel: async ({ body: { id, target } }) => {
      const { sql } = await open(target);
      return await cancelJob(sql, deps.clock, id);
    },
  };
}

/** Services that still compute the recomputed columns by previous code. */
async function findOutdated(deps: DaemonDeps, result: RecomputeResult): Promise<OutdatedService[]> {
  const { sql, target } = await openKnown(deps, parseTablePath(result.table).target.text);
  const { functions } = await loadDefinitions(sql);
  const digests = new Map([...functions].map(([id, { digest }]) => [id, digest]));
  const columns = new Set([...result.columns, ...result.cascade]);
  const running = deps.services.present(target.text).filter(({ endpoint }) => endpoint !== null);
  return findOutdatedServices(
    running.map(({ stored }) => stored),
    digests,
    (table, column) => table === result.table && columns.has(column),
  );
}

/**
 * The daemon's API (contract/routes/local-api.ts). Every request must send the home's token and the client's version.
 */
export function createDaemonApi(deps: DaemonDeps): FastifyInstance {
  const authorize = ({ headers, routeOptions }: FastifyRequest) => {
    // its token says what it may do
    if (routeOptions.url === STORE_ADDRESS || routeOptions.url === LOCAL_ROUTES.fileShow.path) return;
    checkToken(headers.authorization, deps.token);
    checkClientVersion(header(headers[CLIENT_VERSION_HEADER]));
  };
  const app = createJsonApi({ ...deps, name: "daemon", close: "all", authorize });
  const data = dataHandlers(async ({ db }: { readonly db: string }) => {
    const { name, sql } = await openKnown(deps, db);
    return { sql, row_files: deps.rowFilesOf(name, sql), uri: name };
  });
  mountApi(app, deps, LOCAL_API, {
    ...daemonHandlers(app, deps),
    ...jobHandlers(deps),
    ...mediaHandlers(
      ({ db }: { readonly db: string }) => deps.openManagedStore(db),
      ({ db }) => `${MEDIA_STORE_PATH}/${db}`,
    ),
    ...data,
    fileShow: (call) => openAddressed("file", call.query.token, () => data.fileShow(call)),
    ...queryHandlers<{ readonly db: string }>(deps.log, {
      openReads: async ({ params: { db } }) => deps.readsOf(await openKnown(deps, db)),
      openSql: async ({ db }) => deps.sqlReadsOf(await openKnown(deps, db)),
    }),
    ...psqlHandlers<{ readonly db: string }>(deps.log, async ({ db }) => deps.psqlOf(await openKnown(deps, db))),
    ...rowHandlers(app, deps, async ({ db }: { readonly db: string }) => {
      const { name, sql } = await openKnown(deps, db);
      return { sql, uri: name, writes: deps.writesOf(name, sql), check: () => undefined };
    }),
    ...schemaHandlers(deps),
    ...tableChangeHandlers(deps),
    ...serviceHandlers(deps),
  });
  addUnread(app, {
    method: ["GET", "HEAD", "PUT"],
    url: STORE_ADDRESS,
    handler: (request, reply) => answerAddress(deps, request, reply),
  });
  return app;
}

/** Addresses of media stores: `/_media/main/holiday.jpg?<token>`. */
const STORE_ADDRESS = `${MEDIA_STORE_PATH}/:db/:name`;

async function answerAddress(deps: DaemonDeps, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { db } = request.params as { readonly db: string };
  const token = request.url.slice(request.url.indexOf("?") + 1);
  const store = await openAddressed("store", token, () => deps.openManagedStore(db));
  const { body, headers, status } = await store.handle({
    method: request.method,
    token,
    headers: request.headers,
    body: request.raw,
    id: request.id,
    signal: endOf(reply),
  });
  const isWhole = typeof body === "string" || Buffer.isBuffer(body);
  return reply
    .code(status)
    .headers(headers)
    .send(isWhole ? body : Readable.from(body));
}

function header(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}
