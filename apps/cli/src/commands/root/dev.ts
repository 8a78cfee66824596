import { AppError, appError, type Problem, toProblem } from "@appdb/contract/errors";
import { parseTarget } from "@appdb/contract/names";
import type { SchemaPlan, ServicePlan } from "@appdb/contract/plan";
import type { Context } from "../../context.ts";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { commandLine } from "../../output/command-line.ts";
import { EXIT } from "../../output/exit-codes.ts";
import { showProgress } from "../../output/progress.ts";
import { printAppliedSchema, printSchemaPlan } from "../../output/schema-plan-text.ts";
import { printAppliedServices, printServicePlan } from "../../output/service-plan-text.ts";
import { findApplication } from "../../project/find-project.ts";
import { type ProjectWatch, watchProject } from "../../project/watch-project.ts";
import { FILE, PYTHON_FLAG, TARGET } from "../parameters.ts";
import { applyPlan } from "../schema/apply-plan.ts";
import { openSchemaTarget } from "../schema/schema-target.ts";
import { openServiceTarget } from "../service/service-target.ts";

interface Flags extends JsonFlag {
  readonly python?: string;
}

interface Round {
  readonly ctx: Context;
  readonly file: string;
  readonly target: string;
  readonly python: string | undefined;
  readonly json: boolean;
}

/** Result of a round, printed as a JSON line. */
interface RoundResult {
  readonly changed: readonly string[];
  schema: SchemaPlan | null;
  services: ServicePlan | null;
  problem: Problem | null;
}

/**
 * Runs until Ctrl-C. Shows destructive and breaking changes with the command that applies them, and never applies them
 * automatically.
 */
export const dev = defineCommand<Flags, [file: string, target: string], undefined>({
  brief: "Watch the project's files and keep tables and services of a local database up to date",
  examples: [
    ["cli dev app.py main", "apply saved changes and show errors with their location until Ctrl-C"],
    ["cli dev app.py main --python .venv/bin/python", "with this Python"],
  ],
  parameters: { positional: { kind: "tuple", parameters: [FILE, TARGET] }, flags: { python: PYTHON_FLAG } },
  run: async (ctx, { json, python }, file, typed) => {
    const target = parseTarget(typed);
    if (target.kind === "hosted") throw notLocal(file, target.text);
    const { project } = findApplication(ctx.cwd, file);
    await using watch = await watchProject(project.root);
    const round = { ctx, file, target: target.text, python, json };
    await followFiles(round, watch);
    return undefined;
  },
  render: () => undefined,
  exitCode: () => EXIT.interrupted,
});

async function followFiles(round: Round, watch: ProjectWatch): Promise<void> {
  const { out, signal } = round.ctx;
  for (let paths: readonly string[] = []; ; ) {
    const saved = new AbortController();
    const coming = watch.next(signal).then((next) => {
      saved.abort();
      return next;
    });
    await bringUp(round, paths, saved.signal);
    if (!saved.signal.aborted)
      out.note(`watching the files of ${round.file}; Ctrl-C stops watching, services continue`);
    paths = await coming;
    if (signal.aborted) return;
    const more = paths.length > 3 ? ` and ${paths.length - 3} more` : "";
    out.note(`${paths.slice(0, 3).join(", ")}${more} changed`);
  }
}

/**
 * Updates tables and services to match the file as far as nothing is lost. An error is shown and stops the round. A
 * file saved during the round is read again in the next one.
 */
async function bringUp(given: Round, changed: readonly string[], saved: AbortSignal): Promise<void> {
  const { out, signal } = given.ctx;
  const readApplication: Context["readApplication"] = (input) => given.ctx.readApplication({ ...input, signal: saved });
  const round: Round = { ...given, ctx: { ...given.ctx, readApplication } };
  const result: RoundResult = { changed, schema: null, services: null, problem: null };
  try {
    result.schema = await bringTables(round);
    if (result.schema.in_agreement) result.services = await bringServices(round);
  } catch (error) {
    if (signal.aborted) return;
    if (!(error instanceof AppError)) throw error;
    if (error.code === "interrupted" && saved.aborted) return;
    result.problem = toProblem(error);
    if (!round.json) out.problem(result.problem, false);
  }
  if (round.json) out.line(JSON.stringify(result));
}

/** The plan after the automatic changes. */
async function bringTables({ ctx, file, json, python, target }: Round): Promise<SchemaPlan> {
  const opened = await openSchemaTarget(ctx, { file, target, python, files: "here", json });
  const plan = await opened.plan({ recompute: false });
  if (plan.in_agreement && plan.jobs.length === 0) return plan;
  if (!json) printSchemaPlan(plan, ctx.out);
  if (plan.summary.unsupported > 0) {
    ctx.out.note(
      `Nothing was changed: ${target} cannot be changed to what ${file} declares. Change what is marked [UNSUPPORTED].`,
    );
    return plan;
  }
  if (plan.summary.destructive > 0) {
    ctx.out.note(`Not done automatically: ${commandLine(["schema", "update", file, target, "--allow-destructive"])}`);
    return plan;
  }
  const change = { allow_destructive: false, recompute: false, on_error: "abort" } as const;
  const after = await applyPlan(opened, plan, change, showProgress(ctx.out, json));
  ctx.out.status("");
  if (!json) printAppliedSchema(plan, ctx.out);
  return after;
}

async function bringServices({ ctx, file, json, python, target }: Round): Promise<ServicePlan> {
  const opened = await openServiceTarget(ctx, { file, target, python });
  const plan = await opened.plan();
  if (!json) printServicePlan(plan, ctx.out);
  if (plan.in_agreement) return plan;
  if (plan.summary.destructive > 0) {
    ctx.out.note(`Not done automatically: ${commandLine(["service", "update", file, target, "--allow-destructive"])}`);
    return plan;
  }
  const after = await opened.apply({ allow_destructive: false, onProgress: showProgress(ctx.out, json) });
  ctx.out.status("");
  if (!json) printAppliedServices(plan, after, ctx.out);
  return after;
}

function notLocal(file: string, target: string): AppError {
  return appError("hosted_not_available", {
    detail: `cli dev watches files of a local database; ${target} is a hosted one.`,
    hint: `Develop on a local one: ${commandLine(["dev", file, "main"])}   then bring it there: cli db update ${target}`,
    meta: { target },
  });
}
