import type { Manifest } from "@appdb/contract/manifest";
import type { Progress } from "@appdb/contract/routes/local";
import { DEFAULT_LIMITS } from "@appdb/contract/service-spec";
import { type RouteAnswer, wholeText } from "@appdb/engine/answers/answers";
import { ensureCatalog } from "@appdb/engine/catalog/ensure-catalog";
import { loadCatalog } from "@appdb/engine/catalog/load-catalog";
import { type Endpoints, openEndpoints } from "@appdb/engine/endpoints/open-endpoints";
import type { JobDeps } from "@appdb/engine/jobs/job-deps";
import { runJobs } from "@appdb/engine/jobs/run-jobs";
import { watchJobs } from "@appdb/engine/jobs/watch-jobs";
import type { Clock, Logger, SqlPool } from "@appdb/engine/ports";
import type { RouteRequest } from "@appdb/engine/routes/route";
import type { EndpointsDeps } from "@appdb/engine/routes/route-context";
import { type ApplyInput, applySchema } from "@appdb/engine/schema/apply-schema";
import { createPgPool } from "@appdb/postgres/client/pg-pool";
import { readCatalogMigrations } from "@appdb/postgres/migrations/read-migrations";
import { EventReader } from "./event-reader.ts";
import { createFakeUdfRunner, type FakeStep, type FakeUdfRunner } from "./fake-udf-runner.ts";
import { createSilentLog } from "./silent-log.ts";
import { createTestDatabase, type TestTemplate } from "./test-database.ts";

export interface TestCatalogOptions {
  /** Default: the system clock. */
  readonly clock?: Clock;
  readonly log?: Logger;
  readonly statement_timeout_ms?: number;
}

/** A database with a catalog, for manifests that tests apply and serve. Disposing removes it. */
export interface TestCatalog extends AsyncDisposable {
  readonly sql: SqlPool;
  readonly dsn: string;
  readonly clock: Clock;
  readonly log: Logger;
  /** The functions of the columns that need Python, by name. */
  readonly steps: Record<string, FakeStep>;
  readonly udf: FakeUdfRunner;
  /**
   * Applies a manifest. Defaults of `options`: the current catalog version, no destructive changes.
   * @throws as `applySchema`
   */
  apply(manifest: Manifest, options?: Partial<Omit<ApplyInput, "manifest">>): ReturnType<typeof applySchema>;
  /** Serves an applied manifest until the catalog is disposed. @throws as `openEndpoints` */
  serve(manifest: Manifest, parts?: ServeParts): Promise<ServedRoutes>;
  rows(text: string): Promise<readonly (readonly (string | null)[])[]>;
  count(table: string): Promise<number>;
}

export interface ServeParts {
  /** Default: the catalog's pool, clock, log and `steps`. */
  readonly deps?: Partial<EndpointsDeps>;
  readonly limits?: Partial<typeof DEFAULT_LIMITS>;
}

/** The routes of a manifest, as one process serves them. Addresses are paths, with a query where the route has one. */
export interface ServedRoutes extends AsyncDisposable {
  readonly manifest: Manifest;
  readonly endpoints: Endpoints;
  send(address: string, request: Partial<RouteRequest>, method?: string): Promise<Answered>;
  get(address: string, request?: Partial<RouteRequest>): Promise<AnsweredJson>;
  /** Sends text and bytes unchanged, everything else as JSON. */
  post(address: string, body: unknown, request?: Partial<RouteRequest>): Promise<AnsweredJson>;
  /** The response of a route to `accept: text/event-stream`. */
  stream(address: string, request?: Partial<RouteRequest>): Promise<EventReader>;
}

export interface Answered {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

export interface AnsweredJson extends Answered {
  // What tests look into is JSON of any shape.
  // biome-ignore lint/suspicious/noExplicitAny: the shape is what the test asserts
  readonly json: any;
}

/** An empty catalog. The name is enough: the PostgreSQL of a run serves one version of the sources. */
const WITH_CATALOG: TestTemplate = {
  made_of: "an empty catalog",
  async fill(dsn) {
    await using sql = createPgPool({ dsn, max: 1, application_name: "testkit" });
    await ensureCatalog(sql, readCatalogMigrations());
  },
};

/** Creates the database and its catalog. */
export async function openTestCatalog(options: TestCatalogOptions = {}): Promise<TestCatalog> {
  const { clock = { now: Date.now }, log = createSilentLog(), ...pool } = options;
  const database = await createTestDatabase(WITH_CATALOG);
  const sql = createPgPool({ dsn: database.dsn, max: 8, application_name: "test", ...pool });
  const rows = async (text: string) => (await sql.query({ text })).rows;
  const steps: Record<string, FakeStep> = {};
  const udf = createFakeUdfRunner(steps);
  const opened: Endpoints[] = [];
  return {
    sql,
    clock,
    log,
    steps,
    udf,
    rows,
    dsn: database.dsn,
    apply: async (manifest, options = {}) => {
      const { version: catalogVersion } = await loadCatalog(sql);
      const input = {
        manifest,
        target: "main",
        catalog_version: catalogVersion,
        allow_destructive: false,
        runtime_id: "r1",
      };
      return applySchema({ sql, clock, log }, { ...input, ...options });
    },
    async serve(manifest, { deps = {}, limits = {} } = {}) {
      const services = manifest.services.map(({ name }) => name);
      const endpoints = await openEndpoints(
        { sql, clock, log, udf: () => udf, ...deps },
        { manifest, target: "main", services, limits: { ...DEFAULT_LIMITS, ...limits } },
      );
      opened.push(endpoints);
      return servedRoutes(manifest, endpoints);
    },
    count: async (table) => Number((await rows(`select count(*) from ${table}`))[0]?.[0]),
    async [Symbol.asyncDispose]() {
      for (const endpoints of opened) await endpoints[Symbol.asyncDispose]();
      await sql[Symbol.asyncDispose]();
      await database.drop();
    },
  };
}

/** Runs jobs until the named ones have ended. @throws errors of `watchJobs` */
export async function finishJobs(deps: JobDeps, ids: readonly string[]): Promise<readonly Progress[]> {
  const stop = new AbortController();
  const running = runJobs(deps, stop.signal);
  const seen: Progress[] = [];
  try {
    await watchJobs(deps, ids, (progress) => seen.push(progress), stop.signal);
  } finally {
    stop.abort();
    await running;
  }
  return seen;
}

function servedRoutes(manifest: Manifest, endpoints: Endpoints): ServedRoutes {
  const handle = async (method: string, address: string, request: Partial<RouteRequest>): Promise<RouteAnswer> => {
    const [path, search = ""] = address.split("?", 2);
    const found = endpoints.routes.find((route) => route.path === path && route.method === method);
    if (found === undefined) throw new Error(`no route ${method} ${path}`);
    return found.handle({ body: "", headers: {}, id: "req-1", search, ...request });
  };
  const send: ServedRoutes["send"] = async (address, request, method = "POST") => {
    const answer = await handle(method, address, request);
    return { status: answer.status, headers: answer.headers, text: await textOf(answer) };
  };
  const ask = async (method: string, address: string, request: Partial<RouteRequest>): Promise<AnsweredJson> => {
    const answer = await send(address, request, method);
    return { ...answer, json: answer.text === "" ? null : JSON.parse(answer.text) };
  };
  return {
    manifest,
    endpoints,
    send,
    get: (address, request = {}) => ask("GET", address, request),
    post: (address, body, request) => {
      const isRaw = typeof body === "string" || body instanceof Uint8Array;
      return ask("POST", address, { body: isRaw ? body : JSON.stringify(body), ...request });
    },
    stream: async (address, request) => {
      const headers = { ...request?.headers, accept: "text/event-stream" };
      const { status, body } = await handle("GET", address, { ...request, headers });
      if (typeof body === "string" || Buffer.isBuffer(body)) throw new Error(`no stream: ${status} ${body}`);
      return new EventReader(body);
    },
    [Symbol.asyncDispose]: () => endpoints[Symbol.asyncDispose](),
  };
}

async function textOf(answer: RouteAnswer): Promise<string> {
  const { body } = answer;
  if (typeof body === "string" || Buffer.isBuffer(body)) return wholeText(answer);
  const pieces: Uint8Array[] = [];
  for await (const piece of body) pieces.push(typeof piece === "string" ? Buffer.from(piece) : piece);
  return Buffer.concat(pieces).toString("utf8");
}
