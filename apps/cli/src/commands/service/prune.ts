import type { PlanOp, ServicePlan } from "@appdb/contract/plan";
import { confirm } from "../../context.ts";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { commandLine } from "../../output/command-line.ts";
import { count } from "../../output/count.ts";
import { EXIT } from "../../output/exit-codes.ts";
import { ANY_TARGET, DRY_RUN_FLAG, FILE, FORCE_FLAG, PYTHON_FLAG } from "../parameters.ts";
import { openServiceTarget } from "./service-target.ts";

interface Flags extends JsonFlag {
  readonly python?: string;
  readonly force: boolean;
  readonly dryRun: boolean;
}

/** Removes only services; tables stay. */
export const prune = defineCommand<Flags, [file: string, target: string], ServicePlan>({
  brief: "Stop and remove the target's services that the file does not define",
  examples: [
    ["cli service prune app.py main", "after asking"],
    ["cli service prune app.py main -n", "only show them"],
  ],
  parameters: {
    positional: { kind: "tuple", parameters: [FILE, ANY_TARGET] },
    flags: { python: PYTHON_FLAG, force: FORCE_FLAG, dryRun: DRY_RUN_FLAG },
    aliases: { f: "force", n: "dryRun" },
  },
  run: async (ctx, flags, file, target) => {
    const opened = await openServiceTarget(ctx, { file, target, python: flags.python });
    const plan = await opened.prune(true);
    const dropped = plan.ops.filter(isOwnService);
    if (flags.dryRun || dropped.length === 0) return plan;
    for (const op of dropped) ctx.out.note(`- ${op.name ?? op.description}`);
    await confirm(ctx, {
      question: `Stop and remove ${count(dropped.length, "service")} of ${plan.target}?`,
      force: flags.force,
      again: commandLine(["service", "prune", file, target, ...(flags.python ? ["--python", flags.python] : []), "-f"]),
    });
    return await opened.prune(false);
  },
  render: (plan, out, flags) => {
    if (!plan.ops.some(isOwnService)) out.line(`${plan.target}: nothing to prune`);
    for (const op of plan.ops) {
      if (!isOwnService(op)) out.line(`left alone  ${op.name ?? ""}  (${op.description})`);
      else out.line(`${flags.dryRun ? "would stop" : "stopped"}  ${op.name ?? op.description}`);
    }
  },
  exitCode: (plan, flags) => (flags.dryRun && plan.ops.some(isOwnService) ? EXIT.pending : EXIT.done),
});

/** Services of another project stay. */
function isOwnService(op: PlanOp): boolean {
  return op.severity !== "blocked";
}
