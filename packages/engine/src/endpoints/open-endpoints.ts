import { performance } from "node:perf_hooks";
import { appError } from "@appdb/contract/errors";
import type { Manifest, ManifestRoute, ManifestService } from "@appdb/contract/manifest";
import { limitVariable } from "@appdb/contract/service-limits";
import { answerError, type RouteAnswer } from "../answers/answers.ts";
import { withAddresses } from "../answers/media-addresses.ts";
import { BackgroundRoutes, compileJobRoutes } from "../background/background-routes.ts";
import { collectBackground } from "../background/background-store.ts";
import { hasBackground } from "../background/describe-background.ts";
import type { BackgroundRunner } from "../background/run-background.ts";
import { readDefinitions } from "../catalog/load-catalog.ts";
import { compileManifestChecks } from "../kinds/json-checks.ts";
import { collectMedia } from "../media/collect-media.ts";
import type { OpenApiDocument } from "../openapi/schemas.ts";
import type { Logger, QueryAnswerer } from "../ports.ts";
import type { RequestTracer } from "../request-tracer.ts";
import { routeKind } from "../route-kinds/route-kinds.ts";
import { readPreferences } from "../routes/prefer.ts";
import type { CompiledRoute, RouteRequest } from "../routes/route.ts";
import { type EndpointsDeps, type EndpointsInput, RouteContext } from "../routes/route-context.ts";
import { checkRoutes } from "../services/check-routes.ts";
import { TableWriter } from "../table-writes/table-writer.ts";
import { Timing } from "../timing.ts";
import { lowerViews } from "../views/lower-views.ts";
import { compileApplication, type InnerRoutes, openInnerRoutes } from "./app-routes.ts";
import { checkTables } from "./check-tables.ts";
import { compileMediaRoute, declaresMedia, withFileResponse, withMediaAddresses } from "./media-routes.ts";
import { describeService } from "./openapi.ts";
import { haveHandlers, tableRouteId, tableService } from "./table-routes.ts";

/**
 * Wraps a route: with `Prefer: timing` the response has a `Server-Timing` header. It also records the times for the
 * tracer, if any.
 */
function withTiming(route: CompiledRoute, tracer?: RequestTracer): CompiledRoute {
  const handle = (request: RouteRequest): Promise<RouteAnswer> => {
    const isWanted = request.headers.prefer !== undefined && readPreferences(request.headers).has("timing");
    return isWanted ? handleTimed(route, request) : route.handle(request);
  };
  if (tracer === undefined) return { ...route, handle };
  const traced = { service: route.service, method: route.method, route: route.path };
  return {
    ...route,
    handle: async (request) => {
      const trace = tracer.begin({ ...traced, id: request.id, headers: request.headers });
      if (trace === undefined) return await handle(request);
      // For a streaming response: until its head is available.
      const answer = await handle({ ...request, timing: new Timing(trace.note) });
      trace.end(answer.status);
      return answer;
    },
  };
}

async function handleTimed(route: CompiledRoute, request: RouteRequest): Promise<RouteAnswer> {
  const { timing = new Timing() } = request;
  const since = performance.now();
  const answer = await route.handle({ ...request, timing });
  const total = performance.now() - since;
  const shown = Object.entries({ db: timing.db, py: timing.py, total }).map(
    ([name, ms]) => `${name};dur=${ms.toFixed(2)}`,
  );
  return { ...answer, headers: { ...answer.headers, "server-timing": shown.join(", ") } };
}

/**
 * The route with a limit on concurrent requests. For a streaming route, a request counts until its head is sent.
 * Requests above the limit fail at once with `overloaded`, so that a slow route does not block the service.
 */
export function withBound(route: CompiledRoute, max: number, log: Logger): CompiledRoute {
  const { method, path } = route;
  let waiting = 0;
  const ended = (answer: RouteAnswer): RouteAnswer => {
    waiting -= 1;
    return answer;
  };
  return {
    ...route,
    handle(request) {
      if (waiting >= max) {
        return Promise.resolve(answerError(tooMany(`${method} ${path}`, max), request.id, log));
      }
      waiting += 1;
      // The handler never rejects.
      return route.handle(request).then(ended);
    },
  };
}

function tooMany(route: string, max: number): Error {
  return appError("overloaded", {
    detail: `${max} requests to ${route} are already in progress, the maximum of one route. Nothing was done.`,
    hint: `Send the request again in a moment. To allow more concurrent requests, raise ${limitVariable("route_requests")}.`,
    meta: { route, limit: "route_requests", value: max },
  });
}

export interface Endpoints extends AsyncDisposable {
  readonly services: readonly string[];
  readonly routes: readonly CompiledRoute[];
  /** True when some route calls a function of the application, so workers should start early. */
  readonly uses_python: boolean;
  openapi(service: string): OpenApiDocument;
  /** The routes that application objects and handlers can call. */
  readonly inside: InnerRoutes;
  /** Runs a query for a computed column that uses it. */
  readonly answerQuery: QueryAnswerer;
  /** Runs a query for a handler. Addresses of media begin with the path below the service's own one. */
  readonly answerHandler: QueryAnswerer;
  /** Makes the writer of rows of a table of the manifest. */
  writer(table: string): TableWriter;
  /** Makes the runner of the services' background jobs; undefined when no route has any. `owner`: this process. */
  background(owner: string): BackgroundRunner | undefined;
  /** Removes expired idempotent responses and background jobs. Returns their number. @throws database_unavailable */
  collect(): Promise<number>;
  /** Sends a query to PostgreSQL. @throws database_unavailable */
  checkHealth(): Promise<void>;
}

/**
 * Compiles the routes of services against the current tables. Disposing waits for rows in flight. The caller owns pool
 * and workers.
 * @throws service_not_found, app_invalid, export_refused, schema_mismatch when the tables lack something that the
 * manifest declares
 */
export async function openEndpoints(deps: EndpointsDeps, declared: EndpointsInput): Promise<Endpoints> {
  const input = { ...declared, manifest: lowerViews(declared.manifest) };
  const services = input.services.map((name) => findService(input.manifest, name));
  for (const service of services) checkRoutes(input.manifest, service);
  const catalog = await readDefinitions(deps.sql);
  checkTables({ ...input, is_started: true, onStale: deps.onStale }, catalog);
  const checks = await compileManifestChecks(input.manifest);
  const tables = haveHandlers(services) ? tableService(input.manifest) : undefined;
  const context = new RouteContext(deps, withService(input, tables), catalog, checks);
  const media = declaresMedia(input.manifest) ? deps.media : undefined;
  const addressed = (route: CompiledRoute) =>
    media === undefined ? route : withMediaAddresses(route, media, deps.log);
  const compileRoute = (service: ManifestService, route: ManifestRoute): CompiledRoute => {
    const compiled = background.compile(service, route);
    const isFile = "file_response" in route && route.file_response === true && media !== undefined;
    return addressed(isFile ? withFileResponse(compiled, media, deps.log) : compiled);
  };
  const background = new BackgroundRoutes(context, input.services, (service, route) =>
    routeKind(route).compile(context, service, route),
  );
  const compiled = services.map((service) => ({
    service,
    app: service.app ?? undefined,
    // Inside an application object, the object itself calls a handler.
    routes: service.routes.map((route) =>
      service.app != null && routeKind(route).isHandler
        ? undefined
        : withTiming(compileRoute(service, route), deps.tracer),
    ),
  }));
  for (const exported of context.exports) await exported.check();
  const routes = compiled.flatMap(({ service, app, routes: own }) =>
    app === undefined
      ? own.flatMap((route) => (route === undefined ? [] : { ...route, cors: service.cors ?? null }))
      : [compileApplication(context, service)],
  );
  const jobs = services.filter(hasBackground).flatMap((service) => compileJobRoutes(context, service).map(addressed));
  const files = media === undefined ? [] : services.map(({ name }) => compileMediaRoute(name, media, deps.log));
  const applications = compiled.flatMap(({ app, routes: own }) => (app === undefined ? [] : [{ app, routes: own }]));
  return {
    services: services.map((service) => service.name),
    routes: [...routes, ...jobs, ...files].map((route) => withBound(route, context.limits.route_requests, deps.log)),
    writer: (table) => new TableWriter(context, table),
    background: (owner) => background.runner(owner),
    uses_python: compiled.some((one) => one.routes.some((route) => route?.uses_python)),
    inside: openInnerRoutes(applications, routesOnDemand(context, tables, addressed), deps.log),
    answerQuery: (query, args) => context.queries.answer(query, args),
    answerHandler: (query, args) =>
      context.queries.answer(
        query,
        args,
        media === undefined ? undefined : (text) => withAddresses(text, (cell) => media.addressOf(cell, "")),
      ),
    collect: async () => {
      const deleted = (await context.once.collect()) + (await collectBackground(deps));
      if (media === undefined) return deleted;
      const objects = await collectMedia(deps.sql, media);
      await media.endAbandoned();
      return deleted + objects;
    },
    openapi: (name) => describeService(input.manifest, findService(input.manifest, name)),
    checkHealth: async () => void (await deps.sql.query({ text: "select 1", name: "health" })),
    [Symbol.asyncDispose]: () => context.drain(),
  };
}

/** For a service without external clients: compiles each route on first use. */
function routesOnDemand(
  context: RouteContext,
  service: ManifestService | undefined,
  addressed: (route: CompiledRoute) => CompiledRoute,
) {
  const compiledRoutes = new Map<string, CompiledRoute>();
  return (id: string): CompiledRoute | undefined => {
    const known = compiledRoutes.get(id);
    const route = service?.routes.find((candidate) => tableRouteId(candidate) === id);
    if (known !== undefined || service === undefined || route === undefined) return known;
    const compiled = addressed(routeKind(route).compile(context, service, route));
    compiledRoutes.set(id, compiled);
    return compiled;
  };
}

function withService(input: EndpointsInput, more: ManifestService | undefined): EndpointsInput {
  if (more === undefined) return input;
  const { manifest, services } = input;
  return {
    ...input,
    services: [...services, more.name],
    manifest: { ...manifest, services: [...manifest.services, more] },
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
