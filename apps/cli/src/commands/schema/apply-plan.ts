import { isDeepStrictEqual } from "node:util";
import { AppError } from "@appdb/contract/errors";
import type { SchemaPlan } from "@appdb/contract/plan";
import type { Progress } from "@appdb/contract/routes/local";
import type { SchemaChange, SchemaTarget } from "./schema-target.ts";

/** Maximum number of new plans: fills and indexes of a previous update may end one after another. */
const TRIES = 5;

/**
 * Applies the plan that was printed. If the tables changed but a new plan would do exactly the same (a fill of an
 * earlier update ended), applies the new plan without asking again.
 * @throws catalog_moved when another plan is needed, and errors of applying
 */
export async function applyPlan(
  target: SchemaTarget,
  printed: SchemaPlan,
  change: SchemaChange,
  onProgress: (progress: Progress) => void,
): Promise<SchemaPlan> {
  let { catalog_version: catalogVersion } = printed;
  for (let tries = 1; ; tries++) {
    try {
      return await target.apply(catalogVersion, change, onProgress);
    } catch (error) {
      if (!(error instanceof AppError && error.code === "catalog_moved") || tries === TRIES) throw error;
      const now = await target.plan(change);
      if (!isSamePlan(printed, now)) throw error;
      catalogVersion = now.catalog_version;
    }
  }
}

/** Running jobs and failing cells are shown with a plan but do not affect it. */
function isSamePlan(one: SchemaPlan, other: SchemaPlan): boolean {
  const doing = ({ tables }: SchemaPlan) =>
    tables.map(({ path, exists, resolution, ops }) => ({ path, exists, resolution, ops }));
  return isDeepStrictEqual(doing(one), doing(other));
}
