import { handlerNames } from "@appdb/contract/handler-names";
import type { Manifest, ManifestHandlerRoute, ManifestQuery, ManifestRoute } from "@appdb/contract/manifest";
import type { ServiceRoute } from "@appdb/contract/routes/service-route";
import { findService } from "./compare-routes.ts";

/** The part of a manifest that routes are described by. */
export type Declared = Pick<Manifest, "services" | "queries">;

/** The routes of a service for people, with the paths that clients ask for; none when the manifest does not define it. */
export function describeRoutes(manifest: Declared, name: string): ServiceRoute[] {
  const service = findService(manifest, name);
  return (service?.routes ?? []).map((route) => describeRoute(manifest, service?.prefix ?? "", route));
}

function describeRoute(manifest: Declared, prefix: string, route: ManifestRoute): ServiceRoute {
  const place = { method: route.method.toUpperCase(), path: `${prefix}${route.path}`, route_type: route.kind };
  if (route.kind === "handler") {
    const { inputs, outputs } = handlerNames(route);
    return { ...place, table: null, query: null, one_row: false, inputs: [...inputs], outputs: [...outputs] };
  }
  const query = route.kind === "query" ? manifest.queries.find((found) => found.id === route.query) : undefined;
  return {
    ...place,
    table: route.kind === "query" ? null : route.table,
    query: query?.name ?? null,
    one_row: route.kind === "query" && route.one_row,
    inputs: inputsOf(route),
    outputs: outputsOf(route, query),
  };
}

type DeclaredRoute = Exclude<ManifestRoute, ManifestHandlerRoute>;

/** What a request may bring. */
function inputsOf(route: DeclaredRoute): string[] {
  if (route.kind === "delete") return route.match_columns;
  return route.kind === "update" ? [...route.key, ...route.inputs] : route.inputs;
}

function outputsOf(route: DeclaredRoute, query: ManifestQuery | undefined): string[] {
  if (route.kind === "query") return query?.query.select.map((value) => value.name) ?? [];
  return route.kind === "delete" ? ["num_rows"] : route.outputs;
}
