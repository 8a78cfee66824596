import { join, relative } from "node:path";
import { notAvailable } from "@appdb/contract/control/database-advice";
import { appError } from "@appdb/contract/errors";
import type { Operation } from "@appdb/contract/routes/control";
import type { Database } from "@appdb/contract/routes/control-databases";
import { type Context, confirm, forceOption } from "../../context.ts";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { printBuildLine } from "../../output/build-line.ts";
import { commandLine } from "../../output/command-line.ts";
import { count } from "../../output/count.ts";
import { printDatabasePlan } from "../../output/database-plan-text.ts";
import { EXIT } from "../../output/exit-codes.ts";
import { DESTRUCTIVE_FLAG, DRY_RUN_FLAG, FORCE_FLAG } from "../parameters.ts";
import { finishChange } from "./change.ts";
import { DATABASE, NO_WAIT_FLAG } from "./database-target.ts";
import { planAwake, type RequestedPlan, requestDatabasePlan, type ShownPlan } from "./request-database-plan.ts";
import { sendFiles } from "./send-files.ts";

interface Flags extends JsonFlag {
  readonly force: boolean;
  readonly dryRun: boolean;
  readonly allowDestructive: boolean;
  readonly noWait: boolean;
}

/** The plan before the update, and its result. */
interface UpdateResult extends ShownPlan {
  /** Null when there was nothing to do. */
  readonly status: "applied" | "skipped" | null;
  readonly operation: Operation | null;
  /** State at the end of the command; null without a request. */
  readonly database: Database | null;
  /** The usual next command. */
  readonly next: string | null;
  /** Running services that keep the settings of their start. */
  readonly restart: readonly string[];
}

/** Applies exactly the printed plan, or reports what changed meanwhile. Inserts no rows and moves no services. */
export const update = defineCommand<Flags, [uri?: string], UpdateResult>({
  brief: "Upload project files, build the image if its environment changed, resize",
  examples: [
    ["cli db update cloud://acme:main", "after showing what changes and asking"],
    ["cli db update -f", "the project's only hosted database, without asking"],
    ["cli db update cloud://acme:staging -n", "only show what would be done"],
  ],
  parameters: {
    positional: { kind: "tuple", parameters: [DATABASE] },
    flags: {
      force: FORCE_FLAG,
      dryRun: DRY_RUN_FLAG,
      allowDestructive: { ...DESTRUCTIVE_FLAG, brief: "Allow smaller resources" },
      noWait: NO_WAIT_FLAG,
    },
    aliases: { f: "force", n: "dryRun" },
  },
  run: async (ctx, flags, typed) => {
    const planned = await planAwake(ctx, await requestDatabasePlan(ctx, typed, "update"), flags);
    const { plan } = planned;
    if (!flags.json) printDatabasePlan(plan, ctx.out);
    const nothing = { ...plan, operation: null, database: null, next: null, restart: [] };
    if (flags.dryRun) return { ...nothing, status: plan.in_agreement ? null : "skipped" };
    if (plan.state !== "absent" && plan.state !== "AVAILABLE") throw notAvailable(plan.uri, plan.state, "updated");
    if (!plan.in_agreement) await confirmChanges(ctx, plan, flags);
    // If nothing changes, drop the pending update that failed earlier.
    return await applyDatabasePlan(ctx, planned, flags);
  },
  // The plan is already printed above: users read it before it is applied.
  render: ({ database, next, operation, restart, uri }, out) => {
    if (database === null || operation === null) return;
    out.line();
    out.line(`${uri} generation ${database.generation} ${operation.state === "succeeded" ? "done" : "begun"}`);
    if (operation.state === "pending" || operation.state === "running") {
      out.note(`It continues. Wait for it: cli operations wait ${operation.id}`);
    } else if (next !== null) {
      out.note(`next: ${next}`);
    }
    if (restart.length > 0) {
      out.note(`then, for running services to use the settings: ${commandLine(["service", "restart", ...restart])}`);
    }
  },
  exitCode: (result, flags) => (flags.dryRun && !result.in_agreement ? EXIT.pending : EXIT.done),
});

/** @throws destructive_refused, confirmation_required */
async function confirmChanges(
  ctx: Pick<Context, "prompt">,
  plan: ShownPlan,
  { allowDestructive, force }: Flags,
): Promise<void> {
  const { destructive, ops, rebuild } = plan.summary;
  const again = (more: readonly string[]) => commandLine(["db", "update", plan.uri, ...more]);
  if (destructive > 0 && !allowDestructive) {
    const next = again(["--allow-destructive", ...forceOption(ctx, force)]);
    throw appError("destructive_refused", {
      detail: `The update would remove something (${count(destructive, "change")} marked DESTRUCTIVE). Nothing was changed.`,
      hint: `To do it anyway: ${next}`,
      meta: { next, plan },
    });
  }
  await confirm(ctx, {
    question: `apply ${count(ops, "change")} to ${plan.uri}${rebuild ? ", which rebuilds the image" : ""}?`,
    force,
    again: again([...(allowDestructive ? ["--allow-destructive"] : []), "-f"]),
  });
}

/** Uploads missing files and applies the plan. @throws generation_moved, the operation's error, interrupted */
export async function applyDatabasePlan(
  ctx: Context,
  planned: RequestedPlan,
  { allowDestructive, json, noWait }: Pick<Flags, "allowDestructive" | "json" | "noWait">,
): Promise<UpdateResult> {
  const { client, params, plan, request, tree } = planned;
  const { signal } = ctx;
  if (plan.missing_files > 0) await sendFiles(ctx, planned, tree, json);
  const body = { ...request, expected_generation: plan.generation, allow_destructive: allowDestructive };
  const change = await client.call("databaseUpdate", { params, body }, { signal });
  const builds = plan.summary.rebuild ? { onLine: printBuildLine(ctx.out, json) } : {};
  const ended = await finishChange(ctx, planned, change, { wait: !noWait, ...builds });
  if (ended.operation === null) return { ...plan, ...ended, status: null, next: null, restart: [] };
  const restart = await findRestarts(planned, signal);
  return { ...plan, ...ended, status: "applied" as const, next: findNext(ctx.cwd, planned), restart };
}

/** Services read settings and variables when they start. */
async function findRestarts({ client, params, plan }: RequestedPlan, signal: AbortSignal): Promise<string[]> {
  const hasChanged = plan.ops.some((op) => op.target === "settings" && op.requires_restart);
  if (!hasChanged) return [];
  const { listHostedServices } = await import("../service/hosted-services.ts");
  const services = await listHostedServices({ client }, params, signal);
  return services.filter(({ state }) => state === "AVAILABLE").map(({ uri }) => uri);
}

/** Changed files may require changed tables. */
function findNext(cwd: string, { plan, project, tree }: RequestedPlan): string | null {
  const hasFiles = plan.ops.some(({ target }) => target === "files" || target === "database");
  if (!hasFiles || !tree.digests.has("app.py")) return null;
  return commandLine(["schema", "update", relative(cwd, join(project.root, "app.py")), plan.uri]);
}
