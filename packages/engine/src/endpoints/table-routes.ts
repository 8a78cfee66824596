import type { OnError } from "@appdb/contract/jobs";
import type { Manifest, ManifestRoute, ManifestService } from "@appdb/contract/manifest";
import { computeOver } from "../route-kinds/compute.ts";
import { insertKind } from "../route-kinds/insert.ts";
import type { RouteKind } from "../route-kinds/route-kind.ts";
import { ROUTE_KINDS, routeKind } from "../route-kinds/route-kinds.ts";

/** No declared service can have this name. */
const NAME = "(handlers)";

/** The id by which handlers call the routes of `tableService`: `table insert items`. */
export function tableRouteId(route: ManifestRoute): string {
  return `table ${route.kind} ${"table" in route ? route.table : ""}`;
}

/** An internal service: the routes by which handlers change rows of the application's tables. */
export function tableService(
  manifest: Manifest,
  kinds: readonly RouteKind[] = Object.values(ROUTE_KINDS),
): ManifestService {
  const source = { file: manifest.app_file, line: 1 };
  const routes = manifest.tables
    .filter((table) => table.rows_of === undefined)
    .flatMap((table) => kinds.flatMap((kind) => kind.overTable(table) ?? []));
  return { name: NAME, prefix: "", routes, source };
}

/** Insert routes over the tables of a manifest, without its views, for people: by how they handle a cell that fails. */
export function insertServices(manifest: Manifest): Readonly<Record<OnError, ManifestService>> {
  const service = tableService(manifest, []);
  const inserts = manifest.tables
    .filter(({ rows_of: rowsOf, view }) => rowsOf === undefined && view === undefined)
    .flatMap((table) => insertKind.overTable(table) ?? []);
  return {
    abort: { ...service, name: "(inserts)", routes: inserts },
    ignore: {
      ...service,
      name: "(inserts that ignore errors)",
      routes: inserts.map((route) => ({ ...route, on_error: "ignore" })),
    },
  };
}

/** A service whose only route computes rows of a table or view of a manifest, for people. */
export function computeService(
  manifest: Manifest,
  {
    name,
    on_error: onError,
    outputs,
  }: { readonly name: string; readonly on_error: OnError; readonly outputs: readonly string[] },
): ManifestService {
  const route = { ...computeOver(manifest, name, outputs), on_error: onError };
  return { ...tableService(manifest, []), name: "(computes)", routes: [route] };
}

/** Whether functions of these services may read or change rows. */
export function haveHandlers(services: readonly ManifestService[]): boolean {
  return services.some(({ app, routes }) => app != null || routes.some((route) => routeKind(route).isHandler));
}
