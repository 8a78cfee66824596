import type { Manifest, ManifestRoute } from "@appdb/contract/manifest";
import type { ServiceRoute } from "@appdb/contract/routes/service-route";
import { routeKind } from "../route-kinds/route-kinds.ts";
import { findService } from "./compare-routes.ts";

/** The part of a manifest that describes routes. */
export type Declared = Pick<Manifest, "services" | "queries">;

/** The routes of a service for people, with the clients' paths; empty when the manifest does not define the service. */
export function describeRoutes(manifest: Declared, name: string): ServiceRoute[] {
  const service = findService(manifest, name);
  return (service?.routes ?? []).map((route) => describeRoute(manifest, service?.prefix ?? "", route));
}

function describeRoute(manifest: Declared, prefix: string, route: ManifestRoute): ServiceRoute {
  const place = { method: route.method.toUpperCase(), path: `${prefix}${route.path}`, route_type: route.kind };
  return { ...place, ...routeKind(route).describe(route, manifest.queries) };
}
