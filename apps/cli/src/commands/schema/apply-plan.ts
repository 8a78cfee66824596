import { isDeepStrictEqual } from "node:util";
import { AppError } from "@appdb/contract/errors";
import type { SchemaPlan } from "@appdb/contract/plan";
import type { Progress } from "@appdb/contract/routes/local";
import type { SchemaChange, SchemaTarget } from "./schema-target.ts";

/** How often a plan is made once more: fills and indexes of an update that ended just before may end one after another. */
const TRIES = 5;

/**
 * Applies the plan that was printed. When the tables moved since, and the plan made now would do the very same (a fill of an
 * earlier update has ended meanwhile), that one is applied in its place: nobody has to look at it again.
 * @throws catalog_moved when another plan is due by now, and what applying throws
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
      if (!doTheSame(printed, now)) throw error;
      catalogVersion = now.catalog_version;
    }
  }
}

/** Work that goes on and cells that failed are told with a plan, and no part of what it does. */
function doTheSame(one: SchemaPlan, other: SchemaPlan): boolean {
  const doing = ({ tables }: SchemaPlan) =>
    tables.map(({ path, exists, resolution, ops }) => ({ path, exists, resolution, ops }));
  return isDeepStrictEqual(doing(one), doing(other));
}
