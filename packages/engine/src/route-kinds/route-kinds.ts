import type { ManifestRoute } from "@appdb/contract/manifest";
import { computeKind } from "./compute.ts";
import { deleteKind } from "./delete.ts";
import { handlerKind } from "./handler.ts";
import { insertKind } from "./insert.ts";
import { queryKind } from "./query.ts";
import type { RouteKind } from "./route-kind.ts";
import { updateKind } from "./update.ts";

export const ROUTE_KINDS = {
  insert: insertKind,
  compute: computeKind,
  update: updateKind,
  delete: deleteKind,
  query: queryKind,
  handler: handlerKind,
} as const satisfies { readonly [Name in ManifestRoute["kind"]]: RouteKind<Extract<ManifestRoute, { kind: Name }>> };

/** The definition of a kind of route. */
export function routeKind({ kind }: Pick<ManifestRoute, "kind">): RouteKind {
  return ROUTE_KINDS[kind];
}
