import type { Manifest, ManifestRoute, ManifestService, ManifestTable } from "@appdb/contract/manifest";
import type { ServiceRoute } from "@appdb/contract/routes/service-route";
import type { Json } from "../kinds/kind.ts";
import type { NamedSchemas } from "../openapi/named-schemas.ts";
import type { CompiledRoute } from "../routes/route.ts";
import type { RouteContext } from "../routes/route-context.ts";
import type { RouteChanges } from "./route-changes.ts";

/** Throws: the route cannot be served. */
export type Refuse = (detail: string) => never;

export interface OpenApiInput {
  readonly manifest: Manifest;
  /** With the service's prefix. */
  readonly path: string;
  /** Takes the schemas that get a name. */
  readonly schemas: NamedSchemas;
}

/** The application before and after an update. */
export interface Manifests {
  readonly before: Manifest;
  readonly after: Manifest;
}

/**
 * Everything that the engine knows about one kind of route; its part of the manifest is in `packages/contract/src/manifest.ts`. The rest of
 * the product asks for it here (`routeKind`). These are methods, so that a kind may take only routes of its own.
 */
export interface RouteKind<Route extends ManifestRoute = ManifestRoute> {
  /** As plans name it, with its article: `an insert`. */
  readonly title: string;
  /** Whether processes of the application answer its requests, and not the engine. */
  readonly isHandler: boolean;
  /** Whether it computes columns of its table. */
  readonly computesColumns: boolean;

  /** Refuses what would make the route fail at each of its requests. */
  check(route: Route, manifest: Manifest, refuse: Refuse): void;
  compile(context: RouteContext, service: ManifestService, route: Route): CompiledRoute;
  /** The route for people, apart from its place. */
  describe(route: Route, queries: Manifest["queries"]): Omit<ServiceRoute, "method" | "path" | "route_type">;
  /** Its operation in OpenAPI; undefined where it is not shown. */
  openapi(route: Route, input: OpenApiInput): Json | undefined;
  /** Notes what changes for clients. `before` may be of another kind. */
  compare(before: ManifestRoute, after: Route, manifests: Manifests, changes: RouteChanges): void;
  /** The route by which handlers change rows of a table; undefined where the kind has none for it. */
  overTable(table: ManifestTable): Route | undefined;
}
