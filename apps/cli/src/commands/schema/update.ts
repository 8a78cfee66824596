import { AppError, appError } from "@appdb/contract/errors";
import type { OnError } from "@appdb/contract/jobs";
import { refuseOtherProjects, unsupportedHint } from "@appdb/contract/other-projects";
import type { SchemaPlan } from "@appdb/contract/plan";
import { confirm, forceOption } from "../../context.ts";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { commandLine } from "../../output/command-line.ts";
import { count } from "../../output/count.ts";
import { EXIT } from "../../output/exit-codes.ts";
import { showProgress } from "../../output/progress.ts";
import { printAppliedSchema, printSchemaPlan } from "../../output/schema-plan-text.ts";
import { sayIfSlow } from "../../output/slow-wait.ts";
import { wasCancelled } from "../broken-work.ts";
import { ANY_TARGET, DESTRUCTIVE_FLAG, DRY_RUN_FLAG, FILE, FORCE_FLAG, PYTHON_FLAG } from "../parameters.ts";
import { applyPlan } from "./apply-plan.ts";
import { openSchemaTarget, planning, type SchemaTarget } from "./schema-target.ts";

interface Flags extends JsonFlag {
  readonly python?: string;
  readonly force: boolean;
  readonly dryRun: boolean;
  readonly allowDestructive: boolean;
  readonly recompute: boolean;
  readonly onError: OnError;
  readonly takeOver: boolean;
}

/** Applies the printed plan or an equivalent one. Destructive changes need `--allow-destructive` and an answer. */
export const update = defineCommand<Flags, [file: string, target: string], SchemaPlan>({
  brief: "Create or change tables to match the file",
  examples: [
    ["cli schema update app.py main", "create and extend tables of the local database main"],
    ["cli schema update app.py cloud://acme:main", "tables of a hosted one, after cli db update"],
    ["cli schema update app.py main --allow-destructive", "also drop what the file no longer declares"],
    ["cli schema update app.py main --recompute", "also recompute values from previous code of your functions"],
  ],
  parameters: {
    positional: { kind: "tuple", parameters: [FILE, ANY_TARGET] },
    flags: {
      python: PYTHON_FLAG,
      force: FORCE_FLAG,
      dryRun: DRY_RUN_FLAG,
      allowDestructive: DESTRUCTIVE_FLAG,
      recompute: { kind: "boolean", brief: "Also recompute columns whose functions' code has changed", default: false },
      takeOver: {
        kind: "boolean",
        brief: "Assign tables of another project to this one; needed to change them",
        default: false,
      },
      onError: {
        kind: "enum",
        values: ["abort", "ignore"],
        default: "abort",
        brief: "For a failing cell of a new or changed column, stop the update's fill, or store null with the error",
      },
    },
    aliases: { f: "force", n: "dryRun" },
  },
  run: async (ctx, flags, file, target) => {
    const { json, python, recompute } = flags;
    const opened = await openSchemaTarget(ctx, { file, target, python, files: "there", json });
    const planned = opened.plan({ recompute, take_over: flags.takeOver });
    const plan = await sayIfSlow({ out: ctx.out, json }, planning(target), planned);
    if (!flags.json) printSchemaPlan(plan, ctx.out);
    if (flags.dryRun) return plan.in_agreement ? plan : skipped(plan);
    // Interrupted work of an earlier update continues where the tables are. This update waits for it.
    const isDone = plan.in_agreement && plan.jobs.length === 0;
    // Without tables, there is nothing whose runtime could be stored, and perhaps no database.
    if (isDone && plan.tables.length === 0) return plan;
    refuseUnsupported(plan);
    const request = [
      ...(flags.python ? ["--python", flags.python] : []),
      ...(recompute ? ["--recompute"] : []),
      ...(flags.onError === "ignore" ? ["--on-error", "ignore"] : []),
      ...(flags.takeOver ? ["--take-over"] : []),
    ];
    const force = flags.force ? ["-f"] : [];
    const again = (more: readonly string[]) =>
      commandLine(["schema", "update", file, target, ...request, ...more, ...force]);
    refuseOtherProjects(plan, again);
    await agreeToDestroy(ctx, plan, flags, again);
    // Also without changes: the tables' functions use this Python and environment from now on.
    const { allowDestructive, onError, takeOver } = flags;
    const change = { allow_destructive: allowDestructive, recompute, on_error: onError, take_over: takeOver };
    const onProgress = showProgress(ctx.out, flags.json);
    const after = await applyPlan(opened, plan, change, onProgress).catch((error: unknown) => {
      if (ctx.signal.aborted) throw updateContinues(opened, file, target, error);
      throw error instanceof AppError && error.code === "job_cancelled" ? wasCancelled(error, again([])) : error;
    });
    ctx.out.status("");
    if (isDone) return plan;
    if (!flags.json) {
      ctx.out.line();
      printAppliedSchema(plan, ctx.out);
    }
    return after;
  },
  // The plan is already printed above: users read it before it is applied.
  render: () => undefined,
  exitCode: (plan, flags) => (flags.dryRun && !plan.in_agreement ? EXIT.pending : EXIT.done),
});

function skipped(plan: SchemaPlan): SchemaPlan {
  const tables = plan.tables.map((table) => {
    const ops = table.ops.map((op) => ({ ...op, status: "skipped" as const }));
    return table.resolution === "up_to_date" ? table : { ...table, ops, status: "skipped" as const };
  });
  return { ...plan, tables, status: "skipped" };
}

/** Ctrl-C ends only the watching: table changes are atomic, and fills run in the database. */
function updateContinues({ worker }: SchemaTarget, file: string, target: string, cause: unknown): AppError {
  return appError("interrupted", {
    detail: `The command was interrupted. Work that started continues in ${worker}.`,
    hint: `Check its progress: ${commandLine(["schema", "diff", file, target])}`,
    cause,
  });
}

/**
 * Reported before refusals that the user could override, because overriding would not help.
 * @throws schema_unsupported
 */
function refuseUnsupported(plan: SchemaPlan): void {
  const ops = plan.tables.flatMap(({ ops, path, project }) => {
    const unsupported = ops.filter((op) => op.severity === "unsupported");
    if (unsupported.length > 0 && project !== undefined) return [`${path} belongs to the project ${project}`];
    return unsupported.map((op) => `${path}: ${op.description}`);
  });
  if (plan.summary.unsupported === 0) return;
  throw appError("schema_unsupported", {
    detail: `${plan.target} cannot be changed to what ${plan.app_file} declares. Nothing was changed: ${ops.join("; ")}.`,
    hint: unsupportedHint(plan),
    meta: { plan },
  });
}

async function agreeToDestroy(
  ctx: Parameters<typeof confirm>[0],
  plan: SchemaPlan,
  flags: Flags,
  again: (more: readonly string[]) => string,
): Promise<void> {
  const number = plan.summary.destructive;
  if (number === 0) return;
  if (!flags.allowDestructive) {
    const next = again(["--allow-destructive", ...(flags.force ? [] : forceOption(ctx, false))]);
    throw appError("destructive_refused", {
      detail: `The update would destroy data (${count(number, "change")} marked DESTRUCTIVE). Nothing was changed.`,
      hint: `To do it anyway: ${next}`,
      meta: { next, plan },
    });
  }
  await confirm(ctx, {
    question: `Destroy data in ${plan.target} (${count(number, "change")} marked DESTRUCTIVE)?`,
    force: flags.force,
    again: `${again(["--allow-destructive"])} -f`,
  });
}
