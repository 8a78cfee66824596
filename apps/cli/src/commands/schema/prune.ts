import type { SchemaPlan } from "@appdb/contract/plan";
import { confirm } from "../../context.ts";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { count } from "../../output/count.ts";
import { EXIT } from "../../output/exit-codes.ts";
import { commandLine, DRY_RUN_FLAG, FILE, FORCE_FLAG, PYTHON_FLAG, requireLocal, TARGET } from "../parameters.ts";
import { readBoth } from "../read-both.ts";

interface Flags extends JsonFlag {
  readonly python?: string;
  readonly force: boolean;
  readonly dryRun: boolean;
}

/** Declared tables are never touched. */
export const prune = defineCommand<Flags, [file: string, target: string], SchemaPlan>({
  brief: "Drop the target's tables that the file does not declare",
  examples: [
    ["cli schema prune app.py main -n", "only show which, and how many rows they have"],
    ["cli schema prune app.py main", "drop them, after asking"],
  ],
  parameters: {
    positional: { kind: "tuple", parameters: [FILE, TARGET] },
    flags: { python: PYTHON_FLAG, force: FORCE_FLAG, dryRun: DRY_RUN_FLAG },
    aliases: { f: "force", n: "dryRun" },
  },
  run: async (ctx, flags, file, target) => {
    const local = requireLocal(target, "schema prune");
    const [app, client] = await readBoth(ctx, { file, python: flags.python });
    const request = { target: local.text, manifest: app.manifest };
    const plan = await client.schemaPrune({ ...request, catalog_version: null }, { signal: ctx.signal });
    if (plan.ops.length === 0) return plan;
    if (flags.dryRun) {
      return { ...plan, status: "skipped", ops: plan.ops.map((op) => ({ ...op, status: "skipped" as const })) };
    }
    for (const op of plan.ops) ctx.out.note(`- ${op.name}: ${op.description}`);
    await confirm(ctx, {
      question: `Drop ${count(plan.ops.length, "table")} of ${plan.target} with all their rows?`,
      force: flags.force,
      again: commandLine(["schema", "prune", file, target, ...(flags.python ? ["--python", flags.python] : []), "-f"]),
    });
    return await client.schemaPrune({ ...request, catalog_version: plan.catalog_version }, { signal: ctx.signal });
  },
  render: (plan, out, flags) => {
    if (plan.ops.length === 0) out.line(`${plan.target}: nothing to prune`);
    for (const op of plan.ops) {
      out.line(flags.dryRun ? `would drop  ${op.name}  (${op.description})` : `dropped  ${op.name}`);
    }
  },
  exitCode: (plan, flags) => (flags.dryRun && plan.ops.length > 0 ? EXIT.pending : EXIT.done),
});
