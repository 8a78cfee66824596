import type { Manifest } from "@appdb/contract/manifest";
import { routeKind } from "@appdb/engine/route-kinds/route-kinds";

/**
 * Whether routes of these services probably call functions of the application, because they write or compute rows of a
 * table whose columns do. Known before the tables are read; `Endpoints.uses_python` is exact.
 */
export function callsFunctions({ functions, services, tables }: Manifest, served: readonly string[]): boolean {
  const ids = functions.map(({ id }) => JSON.stringify(id));
  const called = new Set(
    tables
      .filter(({ columns }) => {
        const text = JSON.stringify(columns);
        return ids.some((id) => text.includes(id));
      })
      .map(({ name }) => name),
  );
  return services
    .filter(({ name }) => served.includes(name))
    .some(({ routes }) =>
      routes.some((route) => routeKind(route).computesColumns && "table" in route && called.has(route.table)),
    );
}
