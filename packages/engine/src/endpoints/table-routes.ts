import type { Manifest, ManifestRoute, ManifestService, ManifestTable } from "@appdb/contract/manifest";

/** No service that a file declares has this name. */
const NAME = "(handlers)";

/** What handlers call the routes of `tableService` by: `table insert items`. */
export function tableRouteId(route: ManifestRoute): string {
  return `table ${route.kind} ${"table" in route ? route.table : ""}`;
}

/** A service that nobody is served: the routes by which handlers change rows of the application's tables. */
export function tableService(manifest: Manifest): ManifestService {
  const source = { file: manifest.app_file, line: 1 };
  return { name: NAME, prefix: "", routes: manifest.tables.flatMap(routesOf), source };
}

/** Whether functions of these services may ask for rows or change them. */
export function haveHandlers(services: readonly ManifestService[]): boolean {
  return services.some(({ app, routes }) => app != null || routes.some((route) => route.kind === "handler"));
}

function routesOf(table: ManifestTable): ManifestRoute[] {
  const { name, primary_key: key, source } = table;
  // the vectors of an index are nobody's to read
  const shown = table.columns.filter((column) => column.is_hidden !== true);
  const columns = shown.map((column) => column.name);
  const stored = shown.filter(({ computed }) => computed === null).map((column) => column.name);
  const inputs = stored.filter((column) => !key.includes(column));
  const route = { method: "post", path: `/${name}`, table: name, source } as const;
  const answer = { outputs: columns, on_error: "abort", handler: null } as const;
  const found: ManifestRoute[] = [{ kind: "insert", inputs: stored, ...route, ...answer, outputs: columns }];
  if (key.length === 0) return found;
  if (inputs.length > 0) found.push({ kind: "update", key, inputs, ...route, ...answer, outputs: columns });
  return [...found, { kind: "delete", match_columns: key, ...route }];
}
