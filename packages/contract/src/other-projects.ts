import { appError } from "./errors.ts";
import type { SchemaPlan } from "./plan.ts";

/**
 * Refuses an update that would change tables of another local project. An additive change is refused too: the owner's
 * file lacks it, and the owner's next update would drop it.
 * `again` formats the caller's command with more flags.
 * @throws other_project
 */
export function refuseOtherProjects(plan: SchemaPlan, again = commandOf(plan)): void {
  const tables = plan.tables.filter((table) => table.project !== undefined && table.ops.length > 0);
  if (tables.length === 0) return;
  const owners = tables.map(({ path, project }) => `${path} belongs to the project ${project}`);
  const { app_file: appFile, summary, target } = plan;
  const change = tables.some((table) => table.destructive)
    ? "destroy another project's data"
    : "change tables of another project";
  const takeOver = again(["--take-over", ...(summary.destructive > 0 ? ["--allow-destructive"] : [])]);
  throw appError("other_project", {
    detail: `The update of ${appFile} would ${change}: ${owners.join("; ")}. Nothing was changed.`,
    hint: `Use a database of your own: cli schema update ${appFile} <name>. If both folders hold one project: ${takeOver}`,
    meta: { target, tables: tables.map(({ path, project }) => ({ path, project })) },
  });
}

function commandOf({ app_file: appFile, target }: SchemaPlan) {
  return (flags: readonly string[]) => ["cli schema update", appFile, target, ...flags].join(" ");
}

/** The hint for a plan that cannot be carried out. Another project's table is seldom the one to change. */
export function unsupportedHint({ app_file: appFile, tables }: SchemaPlan): string {
  const isForeign = tables.some(
    ({ project, ops }) => project !== undefined && ops.some(({ severity }) => severity === "unsupported"),
  );
  return isForeign
    ? `Use a database of your own: cli schema update ${appFile} <name>   or give the table another name=`
    : "Change the file as the plan says, or restore its previous content.";
}
