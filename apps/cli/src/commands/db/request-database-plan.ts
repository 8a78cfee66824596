import type { DatabasePlan, DatabasePlanRequest } from "@appdb/contract/routes/control-databases";
import { startSleeping } from "@appdb/system/control/wake-database";
import type { Context } from "../../context.ts";
import { projectNotes } from "../../project/project-notes.ts";
import { type ReadProject, readEnvironment, readProject } from "../../project/read-project.ts";
import type { LeftOut } from "../../project/select-files.ts";
import { type DatabaseCommandTarget, openDatabaseTarget } from "./database-target.ts";

/** The server's plan with local findings. */
export interface ShownPlan extends DatabasePlan {
  /** Files that are not uploaded although no rule excludes them. */
  readonly left_out: readonly LeftOut[];
}

export interface RequestedPlan extends DatabaseCommandTarget, ReadProject {
  readonly plan: ShownPlan;
  /** Request of the plan. */
  readonly request: DatabasePlanRequest;
}

/**
 * Plans an update with the project's current files. Prints warnings; uploads and changes nothing.
 * @throws errors of reading the project and of the server
 */
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
  // without changes, an update does not repeat warnings about files sent before; `db diff` shows them
  const shown = plan.resolution === "up_to_date" && verb !== "diff" ? plan.warnings : warnings;
  for (const warning of shown) ctx.out.note(`warning: ${warning}`);
  return { ...open, ...read, request, plan: { ...plan, warnings, left_out: tree.left_out } };
}

/** Plans for a database after starting it if it went to sleep automatically. A dry run starts nothing. */
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

/** Requests the same plan again, for exactly the files read before. */
export async function planAgain(ctx: Pick<Context, "signal">, planned: RequestedPlan): Promise<RequestedPlan> {
  const { client, params, plan, request } = planned;
  const now = await client.call("databasePlan", { params, body: request }, { signal: ctx.signal });
  return { ...planned, plan: { ...now, warnings: plan.warnings, left_out: plan.left_out } };
}

function toBody(entry: ReadProject["tree"]["entries"][number]) {
  return { ...entry, chunks: [...entry.chunks] };
}
