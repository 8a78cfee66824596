import { appError } from "@appdb/contract/errors";
import type { PlanOp, SchemaPlan } from "@appdb/contract/plan";
import { confirm, forceOption } from "../../context.ts";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { commandLine } from "../../output/command-line.ts";
import { count } from "../../output/count.ts";
import { EXIT } from "../../output/exit-codes.ts";
import { DESTRUCTIVE_FLAG, DRY_RUN_FLAG, FILE, FORCE_FLAG, PYTHON_FLAG, requireLocal, TARGET } from "../parameters.ts";
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
  ],
  parameters: {
    positional: { kind: "tuple", parameters: [FILE, TARGET] },
    flags: { python: PYTHON_FLAG, force: FORCE_FLAG, dryRun: DRY_RUN_FLAG, allowDestructive: DESTRUCTIVE_FLAG },
    aliases: { f: "force", n: "dryRun" },
  },
  run: async (ctx, flags, file, target) => {
    const local = requireLocal(target, "schema prune");
    const [app, client] = await readBoth(ctx, { file, python: flags.python });
    const { project_root: projectRoot } = app.runtime;
    const request = { target: local.text, manifest: app.manifest, project_root: projectRoot };
    const plan = (
      await client.call("schemaPrune", { body: { ...request, catalog_version: null } }, { signal: ctx.signal })
    ).plan;
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
    return (
      await client.call(
        "schemaPrune",
        { body: { ...request, catalog_version: plan.catalog_version } },
        { signal: ctx.signal },
      )
    ).plan;
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
