import { isDeepStrictEqual } from "node:util";
import type { LocalClient } from "@appdb/contract/client";
import { AppError } from "@appdb/contract/errors";
import type { SchemaPlan } from "@appdb/contract/plan";

type Apply = Required<Parameters<LocalClient["schemaApply"]>>;

/** How often a plan is made once more: fills and indexes of an update that ended just before may end one after another. */
const TRIES = 5;

/**
 * Applies the plan that was printed. When the tables moved since, and the plan made now would do the very same (a fill of an
 * earlier update has ended meanwhile), that one is applied in its place: nobody has to look at it again.
 * @throws catalog_moved when another plan is due by now, and what applying throws
 */
export async function applyPlan(
  client: LocalClient,
  printed: SchemaPlan,
  request: Required<Omit<Apply[0], "catalog_version">>,
  options: Required<Apply[1]>,
): Promise<SchemaPlan> {
  let { catalog_version } = printed;
  for (let tries = 1; ; tries++) {
    try {
      return await client.schemaApply({ ...request, catalog_version }, options);
    } catch (error) {
      if (!(error instanceof AppError && error.code === "catalog_moved") || tries === TRIES) throw error;
      const { target, manifest, runtime, recompute } = request;
      const now = await client.schemaPlan({ target, manifest, runtime, recompute }, { signal: options.signal });
      if (!doTheSame(printed, now)) throw error;
      catalog_version = now.catalog_version;
    }
  }
}

/** Work that goes on and cells that failed are told with a plan, and no part of what it does. */
function doTheSame(one: SchemaPlan, other: SchemaPlan): boolean {
  const doing = ({ tables }: SchemaPlan) =>
    tables.map(({ path, exists, resolution, ops }) => ({ path, exists, resolution, ops }));
  return isDeepStrictEqual(doing(one), doing(other));
}
