import type { OutdatedService } from "@appdb/contract/jobs";
import type { ManifestService } from "@appdb/contract/manifest";
import { serviceText } from "@appdb/contract/names";
import { udfsOf } from "@appdb/engine/expressions/needs-python";
import { type CodeDigests, codeDigests } from "@appdb/engine/jobs/code-digests";
import { routeKind } from "@appdb/engine/route-kinds/route-kinds";
import { findService } from "@appdb/engine/services/compare-routes";
import type { StoredService } from "./service-store.ts";

/** A running service with the application that it was started with. */
type RunningService = Pick<StoredService, "service" | "target" | "manifest"> & {
  readonly runtime: Pick<StoredService["runtime"], "project_root">;
};

/**
 * Services that compute columns of tables that they write by other code than `digests` has. Their new rows get values
 * of previous code, also after a recompute. Pure.
 */
export function findOutdatedServices(
  running: readonly RunningService[],
  digests: CodeDigests,
  isAsked: (table: string, column: string) => boolean,
): OutdatedService[] {
  return running.flatMap(({ manifest, runtime, service: name, target }) => {
    const service = findService(manifest, name);
    const own = codeDigests(manifest);
    const isOther = (id: string) => digests.has(id) && digests.get(id) !== own.get(id);
    return manifest.tables.flatMap((table): OutdatedService[] => {
      const path = `${target}/${table.name}`;
      if (service === undefined || !writes(service, table.name)) return [];
      const found = table.columns.flatMap(({ computed, name: column }) => {
        const functions = computed === null ? [] : udfsOf(computed.expr).filter(isOther);
        return functions.length > 0 && isAsked(path, column) ? [{ column, functions }] : [];
      });
      if (found.length === 0) return [];
      return [
        {
          service: serviceText({ catalog_path: target, name }),
          table: path,
          columns: found.map(({ column }) => column),
          functions: [...new Set(found.flatMap(({ functions }) => functions))],
          app_file: manifest.app_file,
          project_root: runtime.project_root,
        },
      ];
    });
  });
}

/** Handlers and application objects can write to all tables. */
function writes({ app, routes }: ManifestService, table: string): boolean {
  const isWrite = (route: ManifestService["routes"][number]) => {
    const { changesRows, computesColumns, isHandler } = routeKind(route);
    return isHandler || (changesRows && computesColumns && "table" in route && route.table === table);
  };
  return app != null || routes.some(isWrite);
}
