import { randomUUID } from "node:crypto";
import { appError } from "@appdb/contract/errors";
import type {
  Manifest,
  ManifestQueryRoute,
  ManifestRoute,
  ManifestRowRoute,
  ManifestService,
} from "@appdb/contract/manifest";
import { DEFAULT_LIMITS } from "@appdb/contract/service-spec";
import { withJsonChecks } from "../compute/checked-runner.ts";
import type { Clock, Logger, QueryAnswerer, SqlPool, UdfRunner } from "../ports.ts";
import { OpenQueries } from "../queries/open-queries.ts";
import type { QueryLimits } from "../queries/query-limits.ts";
import { compileManifestChecks, type JsonChecks } from "../rows/json-checks.ts";
import { RowComputer } from "../rows/row-computer.ts";
import { layOutRow, type RowLayout } from "../rows/row-layout.ts";
import { TableWriter, type TableWriterDeps } from "../rows/table-writer.ts";
import { createUuid7 } from "../rows/uuid7.ts";
import { compileRowReader } from "../rows/validate-row.ts";
import { planWriteTarget } from "../rows/write-target.ts";
import type { Catalog, CatalogFunction } from "../schema/catalog.ts";
import { emptyCatalog, hasCatalog, loadCatalog } from "../schema/load-catalog.ts";
import { answerError, JSON_HEADERS, type RouteAnswer } from "./answers.ts";
import { cellErrorHeaders } from "./cell-error-header.ts";
import { checkRoutes } from "./check-routes.ts";
import { checkTables } from "./check-tables.ts";
import { declaredTable } from "./declared-table.ts";
import { describeService, type OpenApiDocument } from "./openapi.ts";
import { compileQueryRoute } from "./query-routes.ts";
import { compileOutputs } from "./render-outputs.ts";

export interface EndpointsDeps {
  readonly sql: SqlPool;
  /** Called when a row needs Python for the first time at the latest. */
  readonly udf: () => UdfRunner;
  readonly log: Logger;
  readonly clock: Clock;
}

export interface EndpointsInput {
  readonly manifest: Manifest;
  /** Parsed local target: `main`, `main/reports`. */
  readonly target: string;
  readonly services: readonly string[];
  /** The service's own; the defaults when left out. */
  readonly limits?: QueryLimits;
}

export interface RouteRequest {
  readonly body: Uint8Array | string;
  /** The URL's part behind `?`, as it came. */
  readonly search?: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Stands in the answer's problem and in the log. */
  readonly id: string;
  /** Ends the wait for a function when the caller is gone. */
  readonly signal?: AbortSignal | undefined;
}

export interface CompiledRoute {
  readonly service: string;
  readonly kind: ManifestRoute["kind"];
  readonly method: "POST" | "GET";
  /** With the service's prefix; a service's own place (`/<service>`) is added by whoever serves it. */
  readonly path: string;
  /** True when a request may wait for Python: workers are worth starting ahead. */
  readonly uses_python: boolean;
  /** True when a request may be ended early once its caller is gone. */
  readonly takes_signal: boolean;
  /** Answers every request; never rejects. */
  handle(request: RouteRequest): Promise<RouteAnswer>;
}

export interface Endpoints extends AsyncDisposable {
  readonly services: readonly string[];
  readonly routes: readonly CompiledRoute[];
  /** True when some route calls a function of the application: workers are worth starting ahead. */
  readonly uses_python: boolean;
  openapi(service: string): OpenApiDocument;
  /** Runs a query for a computed column that asks it. */
  readonly answerQuery: QueryAnswerer;
  /** Asks PostgreSQL. @throws database_unavailable */
  checkHealth(): Promise<void>;
}

/**
 * Compiles the routes of services against the tables as they are. Disposing waits for the rows that are on their way;
 * pool and workers stay with whoever made them.
 * @throws service_not_found, app_invalid, schema_mismatch when the tables lack what the manifest declares
 */
export async function openEndpoints(deps: EndpointsDeps, input: EndpointsInput): Promise<Endpoints> {
  const services = input.services.map((name) => findService(input.manifest, name));
  for (const service of services) checkRoutes(input.manifest, service);
  const catalog = (await hasCatalog(deps.sql)) ? await loadCatalog(deps.sql) : emptyCatalog();
  checkTables(input, catalog);
  const checks = await compileManifestChecks(input.manifest);
  const compiler = new RouteCompiler(deps, input, catalog, checks);
  const routes = services.flatMap((service) => service.routes.map((route) => compiler.compile(service, route)));
  return {
    services: services.map((service) => service.name),
    routes,
    uses_python: routes.some((route) => route.uses_python),
    answerQuery: (query, args) => compiler.queries.answer(query, args),
    openapi: (name) => describeService(input.manifest, findService(input.manifest, name)),
    checkHealth: async () => void (await deps.sql.query({ text: "select 1", name: "health" })),
    [Symbol.asyncDispose]: () => compiler.drain(),
  };
}

class RouteCompiler {
  readonly #deps: EndpointsDeps;
  readonly #rowDeps: TableWriterDeps;
  readonly #input: EndpointsInput;
  readonly #catalog: Catalog;
  readonly #checks: JsonChecks;
  readonly #functions: ReadonlyMap<string, CatalogFunction>;
  readonly #tables = new Map<string, { layout: RowLayout; writer: TableWriter }>();
  readonly #computers: RowComputer[] = [];
  readonly queries: OpenQueries;

  constructor(deps: EndpointsDeps, input: EndpointsInput, catalog: Catalog, checks: JsonChecks) {
    this.#checks = checks;
    this.#deps = deps;
    this.#input = input;
    this.#catalog = catalog;
    this.#functions = new Map(input.manifest.functions.map((fn) => [fn.id, fn]));
    this.#rowDeps = {
      sql: deps.sql,
      udf: checkedRunner(deps.udf, checks),
      uuid7: createUuid7(() => deps.clock.now()),
      uuid4: randomUUID,
      limits: input.limits ?? DEFAULT_LIMITS,
    };
    const { app_file, queries } = input.manifest;
    this.queries = new OpenQueries(
      {
        sql: deps.sql,
        udf: deps.udf,
        functions: this.#functions,
        limits: input.limits ?? DEFAULT_LIMITS,
        service: { app_file, target: input.target },
        findTable: (name) => declaredTable(this.#input, this.#catalog, name),
      },
      queries,
    );
  }

  compile(service: ManifestService, route: ManifestRoute): CompiledRoute {
    return route.kind === "query" ? this.#compileQuery(service, route) : this.#compileRow(service, route);
  }

  #compileQuery(service: ManifestService, route: ManifestQueryRoute): CompiledRoute {
    const query = this.queries.open(route.query);
    return {
      service: service.name,
      kind: route.kind,
      method: route.method === "get" ? "GET" : "POST",
      path: service.prefix + route.path,
      uses_python: query.runner.uses_python,
      takes_signal: query.asker.takes_signal,
      handle: compileQueryRoute(this.#deps, route, query.named, query.asker),
    };
  }

  #compileRow(service: ManifestService, route: ManifestRowRoute): CompiledRoute {
    const { layout, writer } = this.#table(route.table);
    const read = compileRowReader(layout, route.inputs, this.#checks);
    const render = compileOutputs(layout, route.outputs);
    const runner = route.kind === "insert" ? writer : this.#computer(layout, route.outputs);
    const { log } = this.#deps;
    const { on_error } = route;
    const headersOf = on_error === "ignore" ? cellErrorHeaders(layout) : () => JSON_HEADERS;
    return {
      service: service.name,
      kind: route.kind,
      method: "POST",
      path: service.prefix + route.path,
      uses_python: runner.uses_python,
      takes_signal: runner.uses_python,
      async handle(request) {
        try {
          const row = read(request.body);
          await runner.run(row, request.signal, on_error);
          return { status: 200, headers: headersOf(row), body: render(row) };
        } catch (error) {
          return answerError(error, request.id, log, request.signal);
        }
      },
    };
  }

  async drain(): Promise<void> {
    await Promise.all([...this.#tables.values()].map(({ writer }) => writer.drain()));
    await Promise.all(this.#computers.map((computer) => computer.drain()));
    await this.queries.drain();
  }

  /** One writer per table, so that the rows of all its routes go out together. */
  #table(name: string): { layout: RowLayout; writer: TableWriter } {
    const known = this.#tables.get(name);
    if (known !== undefined) return known;
    const service = { app_file: this.#input.manifest.app_file, target: this.#input.target };
    const layout = layOutRow(declaredTable(this.#input, this.#catalog, name));
    const routes = this.#insertRoutes(name);
    const writer = new TableWriter(this.#rowDeps, {
      layout,
      functions: this.#functions,
      read: new Set(routes.flatMap((route) => route.outputs)),
      keeps_errors: routes.some((route) => route.on_error === "ignore"),
      service,
      target: planWriteTarget(layout, this.#catalog, service),
    });
    const opened = { layout, writer };
    this.#tables.set(name, opened);
    return opened;
  }

  #insertRoutes(table: string): readonly ManifestRowRoute[] {
    const { manifest, services } = this.#input;
    return manifest.services
      .filter((service) => services.includes(service.name))
      .flatMap((service) => service.routes)
      .flatMap((route) => (route.kind === "insert" && route.table === table ? [route] : []));
  }

  #computer(layout: RowLayout, outputs: readonly string[]): RowComputer {
    const computer = new RowComputer(this.#rowDeps, { layout, functions: this.#functions, outputs });
    this.#computers.push(computer);
    return computer;
  }
}

/** The runner is made when it is first asked for, and then wrapped once. */
function checkedRunner(udf: () => UdfRunner, checks: JsonChecks): () => UdfRunner {
  let wrapped: { readonly inner: UdfRunner; readonly outer: UdfRunner } | undefined;
  return () => {
    const inner = udf();
    if (wrapped?.inner !== inner) wrapped = { inner, outer: withJsonChecks(inner, checks) };
    return wrapped.outer;
  };
}

function findService(manifest: Manifest, name: string): ManifestService {
  const service = manifest.services.find((candidate) => candidate.name === name);
  if (service !== undefined) return service;
  const known = manifest.services.map((candidate) => candidate.name).join(", ") || "none";
  throw appError("service_not_found", {
    detail: `${manifest.app_file} declares no service ${name}; it declares: ${known}.`,
    hint: "Name one of the services that the file declares.",
    meta: { service: name },
  });
}
