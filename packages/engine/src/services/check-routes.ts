import { appError } from "@appdb/contract/errors";
import type { Manifest, ManifestRoute, ManifestService } from "@appdb/contract/manifest";
import type { Refuse } from "../route-kinds/route-kind.ts";
import { routeKind } from "../route-kinds/route-kinds.ts";

/** Paths that every service reserves. An application's own GET of /docs takes precedence; these paths cannot be
 *  taken. */
const RESERVED = new Set(["/health", "/openapi.json"]);

/**
 * Finds errors that would fail every request of a route, before anything is served. Examples: unknown tables and
 * columns, computed inputs, required columns that are not inputs, two routes with one path.
 * @throws app_invalid naming file and line
 */
export function checkRoutes(manifest: Manifest, service: ManifestService): void {
  const paths = new Set<string>();
  for (const route of service.routes) {
    const path = service.prefix + route.path;
    const refuse = refuser(service, route, path);
    if (!path.startsWith("/")) refuse(`The path ${path} does not start with "/".`);
    if (RESERVED.has(path)) refuse(`The path ${path} is reserved: every service answers it.`);
    // Path parameters are equal whatever their names.
    const place = `${route.method} ${path.replace(/\{[^/]*\}/g, "{}")}`;
    if (paths.has(place)) refuse(`The path ${path} is declared twice.`);
    paths.add(place);
    routeKind(route).check(route, manifest, refuse);
  }
}

function refuser(service: ManifestService, route: ManifestRoute, path: string): Refuse {
  return (detail) => {
    throw appError("app_invalid", {
      detail: `${route.source.file}:${route.source.line}: ${detail}`,
      hint: `Correct the route ${path} of service ${service.name}.`,
      meta: {
        service: service.name,
        path,
        ...routeSubject(route),
      },
    });
  };
}

/** The table, query or function of a route. */
function routeSubject(route: ManifestRoute): Record<string, string> {
  if ("table" in route) return { table: route.table };
  if ("query" in route) return { query: route.query };
  return "handler" in route ? { handler: route.handler.id } : {};
}
