import { isDeepStrictEqual } from "node:util";
import { AppError, appError } from "@appdb/contract/errors";
import type { SchemaPlan } from "@appdb/contract/plan";
import type { Progress } from "@appdb/contract/routes/local";
import { commandLine } from "../../output/command-line.ts";
import { followJobs, isBroken } from "../broken-work.ts";
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
  const { app_file: file, target: uri } = printed;
  let { catalog_version: catalogVersion } = printed;
  const jobs = followJobs(uri, onProgress);
  for (let tries = 1; ; tries++) {
    try {
      return await target.apply(catalogVersion, change, jobs.onProgress);
    } catch (error) {
      if (isBroken(error)) throw jobs.explain(error) ?? mayBeApplied(error, file, uri);
      if (!(error instanceof AppError && error.code === "catalog_moved") || tries === TRIES) throw error;
      const now = await target.plan(change);
      if (!isSamePlan(printed, now)) throw error;
      catalogVersion = now.catalog_version;
    }
  }
}

/** PostgreSQL's own hint is about a row that someone sends. */
function mayBeApplied(error: AppError, file: string, uri: string): AppError {
  if (error.code !== "commit_unknown") return error;
  return appError("database_unavailable", {
    detail: "PostgreSQL stopped or restarted during the update. Jobs that had started continue when it runs.",
    hint: `See what is still pending: ${commandLine(["schema", "diff", file, uri])}`,
    cause: error,
  });
}

/** Running jobs and failing cells are shown with a plan but do not affect it. */
function isSamePlan(one: SchemaPlan, other: SchemaPlan): boolean {
  const doing = ({ tables }: SchemaPlan) =>
    tables.map(({ path, exists, resolution, ops }) => ({ path, exists, resolution, ops }));
  return isDeepStrictEqual(doing(one), doing(other));
}
