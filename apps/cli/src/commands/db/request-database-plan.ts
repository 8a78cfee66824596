import type { DatabasePlan, DatabasePlanRequest } from "@appdb/contract/routes/control-databases";
import type { Context } from "../../context.ts";
import { startSleeping } from "../../control/wake-database.ts";
import { projectNotes } from "../../project/project-notes.ts";
import { type ReadProject, readEnvironment, readProject } from "../../project/read-project.ts";
import type { LeftOut } from "../../project/select-files.ts";
import { type DatabaseCommandTarget, openDatabaseTarget } from "./database-target.ts";

/** The server's plan with what was found here. */
export interface ShownPlan extends DatabasePlan {
  /** Files that do not travel though nothing says so. */
  readonly left_out: readonly LeftOut[];
}

export interface RequestedPlan extends DatabaseCommandTarget, ReadProject {
  readonly plan: ShownPlan;
  /** What the plan was made for. */
  readonly request: DatabasePlanRequest;
}

/** What an update would do with the project's files as they are now. Prints warnings; uploads and changes nothing.
 *  @throws what reading the project and asking the server throw */
export async function requestDatabasePlan(
  ctx: Context,
  typed: string | undefined,
  verb: string,
): Promise<RequestedPlan> {
  const open = await openDatabaseTarget(ctx, typed, verb);
  const read = await readProject(ctx, ctx.cwd, open.uri.text);
  const environment = await readEnvironment(read);
  const { entry, project, tree } = read;
  const request = { settings: entry?.settings ?? {}, files: [...tree.entries].map(toBody), environment };
  const plan = await open.client.call("databasePlan", { params: open.params, body: request }, { signal: ctx.signal });
  const isKnown = plan.exists && verb !== "diff";
  const notes = projectNotes({ project, uri: open.uri.text, has_entry: entry !== undefined, tree, is_known: isKnown });
  const warnings = [...notes, ...plan.warnings];
  // an update without changes repeats nothing of files that were sent before; `db diff` is there to tell
  const shown = plan.resolution === "up_to_date" && verb !== "diff" ? plan.warnings : warnings;
  for (const warning of shown) ctx.out.note(`warning: ${warning}`);
  return { ...open, ...read, request, plan: { ...plan, warnings, left_out: tree.left_out } };
}

/** The plan for a database that went to sleep automatically, once it is started; a dry run starts nothing. */
export async function planAwake(
  ctx: Pick<Context, "signal" | "out">,
  planned: RequestedPlan,
  { dryRun }: { readonly dryRun: boolean },
): Promise<RequestedPlan> {
  const { client, params, plan } = planned;
  if (dryRun || plan.state !== "STOPPED") return planned;
  const isStarted = await startSleeping(client, params, { signal: ctx.signal, note: ctx.out.note });
  return isStarted ? await planAgain(ctx, planned) : planned;
}

/** The same plan as it is by now, of the very files that were read before. */
export async function planAgain(ctx: Pick<Context, "signal">, planned: RequestedPlan): Promise<RequestedPlan> {
  const { client, params, plan, request } = planned;
  const now = await client.call("databasePlan", { params, body: request }, { signal: ctx.signal });
  return { ...planned, plan: { ...now, warnings: plan.warnings, left_out: plan.left_out } };
}

function toBody(entry: ReadProject["tree"]["entries"][number]) {
  return { ...entry, chunks: [...entry.chunks] };
}
