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
  /** Collects the named schemas. */
  readonly schemas: NamedSchemas;
}

/** The application before and after an update. */
export interface Manifests {
  readonly before: Manifest;
  readonly after: Manifest;
}

/**
 * Everything that the engine knows about one kind of route. Its part of the manifest is in
 * `packages/contract/src/manifest.ts`. Other code gets it from `routeKind`. These are methods, so that a kind can
 * restrict the type of its routes.
 */
export interface RouteKind<Route extends ManifestRoute = ManifestRoute> {
  /** The name in plans, with its article: `an insert`. */
  readonly title: string;
  /** Whether application processes handle its requests instead of the engine. */
  readonly isHandler: boolean;
  /** Whether it computes columns of its table. */
  readonly computesColumns: boolean;
  /** Whether its requests can change rows: of its table, or of any table if it names none. */
  readonly changesRows: boolean;

  /** Refuses errors that would fail every request of the route. */
  check(route: Route, manifest: Manifest, refuse: Refuse): void;
  compile(context: RouteContext, service: ManifestService, route: Route): CompiledRoute;
  /** The description of the route for people, without method and path. */
  describe(route: Route, queries: Manifest["queries"]): Omit<ServiceRoute, "method" | "path" | "route_type">;
  /** Its operation in OpenAPI; undefined where it is not shown. */
  openapi(route: Route, input: OpenApiInput): Json | undefined;
  /** Notes the changes for clients. `before` may be of another kind. */
  compare(before: ManifestRoute, after: Route, manifests: Manifests, changes: RouteChanges): void;
  /** The route that handlers use to change rows of a table; undefined if the kind has none for it. */
  overTable(table: ManifestTable): Route | undefined;
}
