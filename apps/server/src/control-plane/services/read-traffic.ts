import type { Manifest, ManifestService } from "@appdb/contract/manifest";
import type { ServiceTraffic, serviceTrafficQuerySchema, TrafficReport } from "@appdb/contract/routes/control-services";
import { describeService } from "@appdb/engine/endpoints/openapi";
import { sql } from "kysely";
import type * as z from "zod";
import type { ControlDatabase } from "../../database/pool.ts";
import type { CountedRoute } from "../../database/service-tables.ts";
import { addLatencies, countLatencies, latencyQuantile } from "../../edge/latencies.ts";

/** Finds the route of a request, `PUT /visits/{id}` for `PUT /visits/7`. Null if no route matches. */
export function createNameRoute(routes: readonly string[]): (label: string) => string | null {
  const exact = new Set(routes);
  const patterns = routes.flatMap((route) => (route.includes("{") ? [{ route, parts: readParts(route) }] : []));
  return (label) => {
    if (exact.has(label)) return label;
    return patterns.find(({ parts }) => fits(label, parts))?.route ?? null;
  };
}

/**
 * Whether a text has these parts in order, with non-empty text without a slash in between. Tenants control both, so no
 * regular expression is used: it could take hours. Each search starts where the previous part ended.
 */
function fits(text: string, parts: readonly string[]): boolean {
  const [first = "", ...rest] = parts;
  const last = rest.pop() ?? "";
  if (!text.startsWith(first) || !text.endsWith(last)) return false;
  let at = first.length;
  for (const part of rest) {
    const found = text.indexOf(part, at + 1);
    if (found === -1 || hasSlash(text, at, found)) return false;
    at = found + part.length;
  }
  const end = text.length - last.length;
  return end > at && !hasSlash(text, at, end);
}

function hasSlash(text: string, from: number, to: number): boolean {
  const slash = text.indexOf("/", from);
  return slash !== -1 && slash < to;
}

/** The constant parts of a route, around its parameters. */
function readParts(route: string): string[] {
  const parts: string[] = [];
  let at = 0;
  for (let open = route.indexOf("{"); open !== -1; open = route.indexOf("{", at)) {
    const close = route.indexOf("}", open);
    if (close === -1) break;
    parts.push(route.slice(at, open));
    at = close + 1;
  }
  return [...parts, route.slice(at)];
}

const MINUTE_MS = 60_000;

export interface MeasuredService {
  readonly service_id: string;
  /** The manifest of the release, which defines the routes. */
  readonly manifest: Manifest;
  readonly service: ManifestService | undefined;
}

/** Requests to a service in the last minutes, by minute and route, over all gateways. */
export async function readTraffic(
  db: ControlDatabase,
  { service_id: serviceId, manifest, service }: MeasuredService,
  { minutes, route }: z.output<typeof serviceTrafficQuerySchema>,
): Promise<ServiceTraffic> {
  const { rows } = await sql<{ minute: Date | null; routes: Record<string, CountedRoute> | null; now: Date }>`
    select t.minute, t.routes, now() as now from (select now()) as clock
    left join control.traffic t on t.service_id = ${serviceId}
      and t.minute > date_trunc('minute', now()) - make_interval(mins => ${minutes})`.execute(db);
  const nameRoute = createNameRoute(service === undefined ? [] : listRoutes(manifest, service));
  const routes = new Map<string | null, Sums>();
  const byMinute = new Map<number, Sums>();
  const total = newSums();
  for (const row of rows) {
    for (const [label, counted] of Object.entries(row.routes ?? {})) {
      const named = nameRoute(label);
      add(found(routes, named), counted);
      if (route !== undefined && named !== route) continue;
      add(found(byMinute, (row.minute as Date).getTime()), counted);
      add(total, counted);
    }
  }
  const last = Math.floor((rows[0]?.now.getTime() ?? 0) / MINUTE_MS);
  return {
    total: toTraffic(total),
    routes: [...routes]
      .sort(([left], [right]) => compareRoutes(left, right))
      .map(([named, sums]) => ({ route: named, ...toTraffic(sums) })),
    minutes: Array.from({ length: minutes }, (_, at) => {
      const minute = (last - minutes + 1 + at) * MINUTE_MS;
      return { at: new Date(minute).toISOString(), ...toTraffic(byMinute.get(minute) ?? newSums()) };
    }),
  };
}

interface Sums {
  client_errors: number;
  server_errors: number;
  readonly latencies: number[];
}

function newSums(): Sums {
  return { client_errors: 0, server_errors: 0, latencies: [] };
}

function found<Key>(all: Map<Key, Sums>, key: Key): Sums {
  const sums = all.get(key) ?? newSums();
  all.set(key, sums);
  return sums;
}

function add(to: Sums, { client_errors: clientErrors, latencies, server_errors: serverErrors }: CountedRoute): void {
  to.client_errors += clientErrors;
  to.server_errors += serverErrors;
  addLatencies(to.latencies, latencies);
}

function toTraffic({ client_errors: clientErrors, latencies, server_errors: serverErrors }: Sums): TrafficReport {
  return {
    requests: countLatencies(latencies),
    client_errors: clientErrors,
    server_errors: serverErrors,
    p50_ms: latencyQuantile(latencies, 0.5),
    p95_ms: latencyQuantile(latencies, 0.95),
    p99_ms: latencyQuantile(latencies, 0.99),
  };
}

/** Sorts routes by name. Requests outside any route come last. */
function compareRoutes(left: string | null, right: string | null): number {
  if (left === null || right === null) return Number(left === null) - Number(right === null);
  return left < right ? -1 : 1;
}

/** Declared routes and the routes that an application object reports. */
function listRoutes(manifest: Manifest, service: ManifestService): string[] {
  const described = Object.entries(describeService(manifest, service).paths ?? {});
  return [
    ...service.routes.map(({ method, path }) => `${method.toUpperCase()} ${service.prefix}${path}`),
    ...described.flatMap(([path, operations]) =>
      Object.keys(operations ?? {}).map((method) => `${method.toUpperCase()} ${path}`),
    ),
  ];
}
