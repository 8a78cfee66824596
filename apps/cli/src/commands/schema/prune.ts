import { appError } from "@appdb/contract/errors";
import { parseTarget } from "@appdb/contract/names";
import type { PlanOp, SchemaPlan } from "@appdb/contract/plan";
import { type Context, confirm, forceOption } from "../../context.ts";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { commandLine } from "../../output/command-line.ts";
import { count } from "../../output/count.ts";
import { EXIT } from "../../output/exit-codes.ts";
import { ANY_TARGET, DESTRUCTIVE_FLAG, DRY_RUN_FLAG, FILE, FORCE_FLAG, PYTHON_FLAG } from "../parameters.ts";
import { readBoth } from "../read-both.ts";

interface Flags extends JsonFlag {
  readonly python?: string;
  readonly force: boolean;
  readonly dryRun: boolean;
  readonly allowDestructive: boolean;
}

/** Never drops declared tables or those of other projects. */
export const prune = defineCommand<Flags, [file: string, target: string], SchemaPlan>({
  brief: "Drop the target's tables that the file does not declare",
  examples: [
    ["cli schema prune app.py main -n", "only show them with their number of rows"],
    ["cli schema prune app.py main --allow-destructive", "drop them, after asking"],
    ["cli schema prune app.py cloud://acme:main -n", "of a hosted database, by its own files"],
  ],
  parameters: {
    positional: { kind: "tuple", parameters: [FILE, ANY_TARGET] },
    flags: { python: PYTHON_FLAG, force: FORCE_FLAG, dryRun: DRY_RUN_FLAG, allowDestructive: DESTRUCTIVE_FLAG },
    aliases: { f: "force", n: "dryRun" },
  },
  run: async (ctx, flags, file, target) => {
    const pruneAt = await openPrune(ctx, { file, python: flags.python }, target);
    const plan = await pruneAt(null);
    const dropped = plan.ops.filter((op) => op.destructive);
    if (flags.dryRun) {
      return { ...plan, status: "skipped", ops: plan.ops.map((op) => ({ ...op, status: "skipped" as const })) };
    }
    if (dropped.length === 0) return plan;
    for (const op of dropped) ctx.out.note(`- ${op.name}: ${op.description}`);
    const python = flags.python ? ["--python", flags.python] : [];
    const again = commandLine(["schema", "prune", file, target, ...python, "--allow-destructive"]);
    const next = [again, ...forceOption(ctx, flags.force)].join(" ");
    if (!flags.allowDestructive) throw notAllowed(plan, dropped, next);
    await confirm(ctx, {
      question: `Drop ${dropsOf(dropped)} of ${plan.target}?`,
      force: flags.force,
      again: `${again} -f`,
    });
    return await pruneAt(plan.catalog_version);
  },
  render: (plan, out, flags) => {
    if (!plan.ops.some((op) => op.destructive)) out.line(`${plan.target}: nothing to prune`);
    for (const op of plan.ops) {
      if (!op.destructive) out.line(`left alone  ${op.name}  (${op.description})`);
      else out.line(flags.dryRun ? `would drop  ${op.name}  (${op.description})` : `dropped  ${op.name}`);
    }
  },
  exitCode: (plan, flags) => (flags.dryRun && plan.ops.some((op) => op.destructive) ? EXIT.pending : EXIT.done),
});

/** Drops what the file does not declare, as shown for a version of the tables; null only shows it. */
async function openPrune(
  ctx: Context,
  input: { readonly file: string; readonly python: string | undefined },
  typed: string,
): Promise<(catalogVersion: number | null) => Promise<SchemaPlan>> {
  const target = parseTarget(typed);
  const { signal } = ctx;
  if (target.kind === "hosted") {
    const { openDeployedFile } = await import("./hosted-schema.ts");
    const { body, client, params } = await openDeployedFile(ctx, input, target);
    return async (version) =>
      (await client.call("schemaPrune", { params, body: { ...body, catalog_version: version } }, { signal })).plan;
  }
  const [app, client] = await readBoth(ctx, input);
  const { project_root: projectRoot } = app.runtime;
  const request = { target: target.text, manifest: app.manifest, project_root: projectRoot };
  return async (version) =>
    (await client.call("schemaPrune", { body: { ...request, catalog_version: version } }, { signal })).plan;
}

function notAllowed(plan: SchemaPlan, dropped: readonly PlanOp[], next: string): Error {
  return appError("destructive_refused", {
    detail: `The prune would drop ${dropsOf(dropped)} of ${plan.target}: ${dropped.map((op) => op.name).join(", ")}. Nothing was dropped.`,
    hint: `To drop them: ${next}`,
    meta: { next, plan },
  });
}

function dropsOf(dropped: readonly PlanOp[]): string {
  const tables = dropped.filter(({ details }) => details.kind !== "view").length;
  const views = dropped.length - tables;
  return [
    ...(tables === 0 ? [] : [`${count(tables, "table")} with all rows`]),
    ...(views === 0 ? [] : [count(views, "view")]),
  ].join(" and ");
}
