import { notAvailable } from "@appdb/contract/control/database-advice";
import { AppError, appError, toProblem } from "@appdb/contract/errors";
import { type HostedTarget, parseTarget } from "@appdb/contract/names";
import type { SchemaPlan, ServicePlan } from "@appdb/contract/plan";
import { type Context, confirm, forceOption } from "../../context.ts";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { commandLine } from "../../output/command-line.ts";
import { count } from "../../output/count.ts";
import { printDatabasePlan } from "../../output/database-plan-text.ts";
import { EXIT } from "../../output/exit-codes.ts";
import { showProgress } from "../../output/progress.ts";
import { printAppliedSchema, printSchemaPlan } from "../../output/schema-plan-text.ts";
import { printAppliedServices, printServicePlan } from "../../output/service-plan-text.ts";
import { findApplication } from "../../project/find-project.ts";
import { planAgain, planAwake, type RequestedPlan, type ShownPlan } from "../db/request-database-plan.ts";
import { sendFiles } from "../db/send-files.ts";
import { applyDatabasePlan } from "../db/update.ts";
import { ANY_TARGET, DESTRUCTIVE_FLAG, DRY_RUN_FLAG, FILE, FORCE_FLAG } from "../parameters.ts";
import { applyPlan } from "../schema/apply-plan.ts";
import { openSchemaTarget } from "../schema/schema-target.ts";
import { openServiceTarget } from "../service/service-target.ts";
import { planWhenMade } from "./plan-when-made.ts";
import { prepareDeploy } from "./prepare-deploy.ts";

interface Flags extends JsonFlag {
  readonly force: boolean;
  readonly dryRun: boolean;
  readonly allowDestructive: boolean;
}

/** Displayed plans; null where a plan needs the database to exist. */
interface Plans {
  readonly database: ShownPlan;
  readonly schema: SchemaPlan | null;
  readonly services: ServicePlan | null;
}

type Step = "database" | "tables" | "services";
const STEPS: readonly Step[] = ["database", "tables", "services"];
const END_MS = 10_000;
/** Heartbeat interval: two heartbeats fit into the time after which a silent deployment counts as interrupted. */
const ALIVE_MS = 25_000;

interface DeployResult extends Plans {
  readonly target: string;
  readonly status: "applied" | "skipped" | null;
  /** Completed steps in order. */
  readonly done: readonly Step[];
}

interface Deployment {
  readonly ctx: Context;
  readonly flags: Flags;
  readonly file: string;
  readonly target: HostedTarget;
}

/** Deploys database, tables and services of the project in this order, with the same steps as the separate commands. */
export const deploy = defineCommand<Flags, [file: string, target: string], DeployResult>({
  brief: "Deploy a project to a hosted database: files, image, tables and services",
  examples: [
    ["cli deploy app.py cloud://acme:main", "after showing all changes and asking once"],
    ["cli deploy app.py cloud://acme:main -f", "without asking"],
    ["cli deploy app.py cloud://acme:main -n", "only show what would be done"],
  ],
  parameters: {
    positional: { kind: "tuple", parameters: [FILE, { ...ANY_TARGET, brief: "The database: cloud://acme:main" }] },
    flags: {
      force: FORCE_FLAG,
      dryRun: DRY_RUN_FLAG,
      allowDestructive: { ...DESTRUCTIVE_FLAG, brief: "Allow changes that destroy data or break callers" },
    },
    aliases: { f: "force", n: "dryRun" },
  },
  run: async (ctx, flags, file, typed) => {
    const target = parseTarget(typed);
    if (target.kind === "local") throw notHosted(file, target.text);
    const deployment = { ctx, flags, file, target };
    const { planned, preparation } = await prepare(
      deployment,
      await planAwake(ctx, await planWhenMade(ctx, target.uri.text, "deploy"), flags),
    );
    const plans = { database: planned.plan, ...(await planRest(deployment, planned.plan, preparation)) };
    if (!flags.json) printPlans(plans, ctx);
    const result = { ...plans, target: target.text, done: [] };
    if (flags.dryRun || isInAgreement(plans)) return { ...result, status: isInAgreement(plans) ? null : "skipped" };
    refuseEarly(deployment, plans);
    await confirmChanges(deployment, plans);
    return { ...result, status: "applied", done: await executeDeploy(deployment, planned, plans) };
  },
  // The plans are already printed above: users read them before they are applied.
  render: ({ done, status, target }, out) => {
    if (status === "applied") out.note(`done: ${done.join(", ")} of ${target}`);
  },
  exitCode: (result, flags) => (flags.dryRun && !isInAgreement(result) ? EXIT.pending : EXIT.done),
});

/**
 * Uploads missing files. If Python changes by image or environment, also builds the image and reads the application
 * with it. This happens before the question and changes nothing that runs.
 */
async function prepare(
  { ctx, file, flags: { json } }: Deployment,
  planned: RequestedPlan,
): Promise<{ readonly planned: RequestedPlan; readonly preparation: string | undefined }> {
  const { exists, missing_files: missingFiles, state, summary, uri } = planned.plan;
  if (state !== "absent" && state !== "AVAILABLE") throw notAvailable(uri, state, "deployed to");
  if (missingFiles > 0) await sendFiles(ctx, planned, planned.tree, json);
  if (!exists || !summary.restarts) return { planned, preparation: undefined };
  const { app_file: appFile } = findApplication(ctx.cwd, file);
  const preparation = await prepareDeploy(ctx, planned, { app_file: appFile, file }, json);
  return { planned: await planAgain(ctx, planned), preparation };
}

/** Plans tables and services from the current files, read with the prepared image or the database's. */
async function planRest(
  { ctx, file, flags: { json }, target }: Deployment,
  database: ShownPlan,
  preparation: string | undefined,
): Promise<Pick<Plans, "schema" | "services">> {
  if (!database.exists) return { schema: null, services: null };
  const input = { file, target: target.text, python: undefined, files: "here", preparation } as const;
  const schema = await (await openSchemaTarget(ctx, { ...input, json })).plan({ recompute: false });
  if (schema.summary.unsupported > 0) return { schema, services: null };
  return { schema, services: await (await openServiceTarget(ctx, input)).plan() };
}

function printPlans({ database, schema, services }: Plans, { out }: Pick<Context, "out">): void {
  printDatabasePlan(database, out);
  if (schema !== null) printSchemaPlan(schema, out);
  if (services !== null) printServicePlan(services, out);
  if (schema === null) out.line("All its tables and services are new. They are created after the database.");
}

function isInAgreement({ database, schema, services }: Plans): boolean {
  return database.in_agreement && schema?.in_agreement === true && services?.in_agreement === true;
}

/**
 * Refuses what the user must first change or allow.
 * @throws schema_unsupported, schema_mismatch, destructive_refused
 */
function refuseEarly({ ctx, file, flags, target }: Deployment, { database, schema, services }: Plans): void {
  if (schema !== null && schema.summary.unsupported > 0) {
    throw appError("schema_unsupported", {
      detail: `The tables of ${target.text} cannot be changed to what ${file} declares. Nothing was changed.`,
      hint: "Change the file as the plan says, or restore its previous content.",
    });
  }
  const destructive = [database, schema, services].reduce((sum, plan) => sum + (plan?.summary.destructive ?? 0), 0);
  if (destructive === 0 || flags.allowDestructive) return;
  const next = commandLine(["deploy", file, target.text, "--allow-destructive", ...forceOption(ctx, flags.force)]);
  throw appError("destructive_refused", {
    detail: `The deployment would destroy data or break callers (${count(destructive, "change")} marked DESTRUCTIVE). Nothing was changed.`,
    hint: `To do it anyway: ${next}`,
    meta: { next },
  });
}

async function confirmChanges(
  { ctx, file, flags, target }: Deployment,
  { database, schema, services }: Plans,
): Promise<void> {
  const parts = [
    database.in_agreement ? "" : count(database.summary.ops, "change"),
    schema === null || schema.in_agreement ? "" : "its tables",
    services === null || services.in_agreement ? "" : "its services",
  ].filter((part) => part !== "");
  await confirm(ctx, {
    question: `apply ${parts.join(", ")} to ${target.text}${database.summary.rebuild ? ", which rebuilds the image" : ""}?`,
    force: flags.force,
    again: commandLine(["deploy", file, target.text, ...(flags.allowDestructive ? ["--allow-destructive"] : []), "-f"]),
  });
}

/**
 * Records the previous state first, so that `cli rollback` can undo everything together. A new database has no previous
 * state.
 */
async function executeDeploy(deployment: Deployment, planned: RequestedPlan, plans: Plans): Promise<Step[]> {
  const { ctx, file, target } = deployment;
  if (!plans.database.exists) return await executeSteps(deployment, planned, plans);
  const { database: db, organization: org } = target.uri;
  const { client } = await (await ctx.control()).open();
  const { app_file: appFile } = findApplication(ctx.cwd, file);
  const { id } = await client.call(
    "deployBegin",
    { params: { org, db }, body: { app_file: appFile } },
    { signal: ctx.signal },
  );
  const keep = async () => await client.call("deployAlive", { params: { org, db, id } }, { signal: ctx.signal });
  // a missed heartbeat is followed by the next
  const keeping = setInterval(() => keep().catch(() => undefined), ALIVE_MS);
  const end = async (state: "done" | "failed") => {
    // also after an interruption: completed steps can be undone
    await client.call(
      "deployEnd",
      { params: { org, db, id }, body: { state } },
      { signal: AbortSignal.timeout(END_MS) },
    );
  };
  try {
    const done = await executeSteps(deployment, planned, plans, async () => {
      const { state } = await keep();
      if (state !== "running") throw deployUndone(target.text);
    });
    await end("done");
    return done;
  } catch (error) {
    await end("failed").catch((cause: unknown) => {
      ctx.out.note(`Could not record the failure: ${toProblem(cause).detail}`);
    });
    throw error;
  } finally {
    clearInterval(keeping);
  }
}

/**
 * Carries out the steps in order and checks `before` each whether to continue. A failure reports the completed steps
 * and how to continue.
 */
async function executeSteps(
  deployment: Deployment,
  planned: RequestedPlan,
  plans: Plans,
  before: () => Promise<void> = async () => undefined,
): Promise<Step[]> {
  const { ctx, file, flags, target } = deployment;
  const done: Step[] = [];
  const works: Record<Step, () => Promise<unknown>> = {
    database: async () => {
      if (plans.database.in_agreement) return;
      const { allowDestructive, json } = flags;
      await applyDatabasePlan(ctx, planned, { allowDestructive, json, noWait: false });
    },
    tables: () => bringTables(deployment, plans.schema),
    services: () => bringServices(deployment, plans.services),
  };
  for (const step of STEPS) {
    try {
      await before();
      await works[step]();
    } catch (error) {
      if (done.length > 0 && error instanceof AppError) {
        ctx.out.note(`Done: ${done.join(", ")}. Not done: ${STEPS.slice(done.length).join(", ")}.`);
        ctx.out.note(
          `Continue with: ${commandLine(["deploy", file, target.text])}   or undo it: ${commandLine(["rollback", target.text])}`,
        );
      }
      throw error;
    }
    done.push(step);
  }
  return done;
}

/** Applies the displayed plan or an equivalent one. Only a database that was just created had no displayed plan. */
async function bringTables(
  { ctx, file, flags: { allowDestructive, json }, target }: Deployment,
  shown: SchemaPlan | null,
): Promise<void> {
  const opened = await openSchemaTarget(ctx, { file, target: target.text, python: undefined, files: "there", json });
  const plan = shown ?? (await opened.plan({ recompute: false }));
  if (plan.in_agreement && plan.jobs.length === 0) return;
  if (plan.summary.destructive > 0 && !allowDestructive) {
    const next = commandLine(["schema", "update", file, target.text, "--allow-destructive"]);
    throw appError("destructive_refused", {
      detail: `The tables' update would destroy data (${count(plan.summary.destructive, "change")} marked DESTRUCTIVE). Nothing was changed.`,
      hint: `To do it anyway: ${next}`,
      meta: { next, plan },
    });
  }
  const change = { allow_destructive: allowDestructive, recompute: false, on_error: "abort" } as const;
  await applyPlan(opened, plan, change, showProgress(ctx.out, json));
  ctx.out.status("");
  if (!json) printAppliedSchema(plan, ctx.out);
}

/** Breaking changes are applied only if they were displayed. */
async function bringServices(
  { ctx, file, flags: { allowDestructive, json }, target }: Deployment,
  shown: ServicePlan | null,
): Promise<void> {
  const opened = await openServiceTarget(ctx, { file, target: target.text, python: undefined });
  const plan = await opened.plan();
  if (plan.in_agreement) return;
  const after = await opened.apply({
    allow_destructive: allowDestructive && (shown === null || shown.summary.destructive > 0),
    onProgress: showProgress(ctx.out, json),
  });
  ctx.out.status("");
  if (!json) printAppliedServices(plan, after, ctx.out);
}

function deployUndone(target: string): AppError {
  return appError("deploy_moved", {
    detail: `This deployment to ${target} was undone because it was silent for a minute.`,
    hint: `See the events: cli events`,
    meta: { target },
  });
}

function notHosted(file: string, target: string): AppError {
  return appError("invalid_target", {
    detail: `cli deploy is for hosted databases; ${target} is a local one.`,
    hint: `Bring it up to date: ${commandLine(["schema", "update", file, target])}   then: ${commandLine(["service", "update", file, target])}`,
    meta: { target },
  });
}
