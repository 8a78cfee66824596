import { appError } from "@appdb/contract/errors";
import type { Manifest, ManifestRoute, ManifestService } from "@appdb/contract/manifest";
import type { Refuse } from "../route-kinds/route-kind.ts";
import { routeKind } from "../route-kinds/route-kinds.ts";

/** Paths that every service answers itself. A person's own GET of /docs would win; the others cannot be taken. */
const RESERVED = new Set(["/health", "/openapi.json"]);

/**
 * Finds what would make a route fail at each of its requests, before anything is served: unknown tables and columns,
 * computed inputs, required columns that are no inputs, two routes of one path.
 * @throws app_invalid naming file and line
 */
export function checkRoutes(manifest: Manifest, service: ManifestService): void {
  const paths = new Set<string>();
  for (const route of service.routes) {
    const path = service.prefix + route.path;
    const refuse = refuser(service, route, path);
    if (!path.startsWith("/")) refuse(`The path ${path} does not start with "/".`);
    if (RESERVED.has(path)) refuse(`The path ${path} is answered by every service itself.`);
    // A parameter is one whatever its name.
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
        ...workedOn(route),
      },
    });
  };
}

/** The table, query or function that a route works with. */
function workedOn(route: ManifestRoute): Record<string, string> {
  if ("table" in route) return { table: route.table };
  if ("query" in route) return { query: route.query };
  return "handler" in route ? { handler: route.handler.id } : {};
}
