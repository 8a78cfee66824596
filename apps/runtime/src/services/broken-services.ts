import type { Manifest, ManifestTable } from "@appdb/contract/manifest";
import { serviceText } from "@appdb/contract/names";
import type { SchemaPlan } from "@appdb/contract/plan";
import type { StoredService } from "./service-store.ts";

/** A running service with the application that it was started with. */
type RunningService = Pick<StoredService, "service" | "target" | "manifest">;

/**
 * Services of a target that cannot store rows after an update until they are updated themselves. A column that they
 * write was removed, renamed or retyped, or a new required column was added. Pure.
 */
export function findBrokenServices(plan: SchemaPlan, next: Manifest, running: readonly RunningService[]): string[] {
  const changed = new Set(plan.tables.filter(({ ops }) => ops.length > 0).map(({ path }) => path));
  return running
    .filter(({ manifest }) =>
      manifest.tables.some((table) => {
        const after = next.tables.find((one) => one.name === table.name || one.renamed_from === table.name);
        return after !== undefined && changed.has(`${plan.target}/${after.name}`) && isBroken(table, after);
      }),
    )
    .map(({ service, target }) => serviceText({ catalog_path: target, name: service }));
}

function isBroken(before: ManifestTable, after: ManifestTable): boolean {
  if (before.name !== after.name || before.primary_key.join() !== after.primary_key.join()) return true;
  const known = new Set(before.columns.map(({ name }) => name));
  const isGone = before.columns.some((column) => {
    const now = after.columns.find(({ name }) => name === column.name);
    if (now === undefined) return true;
    const isStored = (one: typeof column) => one.computed === null;
    return JSON.stringify(now.type) !== JSON.stringify(column.type) || isStored(now) !== isStored(column);
  });
  const mustBeGiven = after.columns.some(
    ({ computed, default: defaultValue, name, nullable }) =>
      !known.has(name) && computed === null && !nullable && defaultValue == null,
  );
  return isGone || mustBeGiven;
}
