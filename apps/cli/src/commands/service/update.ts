import { appError } from "@appdb/contract/errors";
import type { ServicePlan } from "@appdb/contract/plan";
import { confirm } from "../../context.ts";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { commandLine } from "../../output/command-line.ts";
import { count } from "../../output/count.ts";
import { EXIT } from "../../output/exit-codes.ts";
import { showProgress } from "../../output/progress.ts";
import { printAppliedServices, printServicePlan } from "../../output/service-plan-text.ts";
import {
  ANY_TARGET,
  BREAKING_FLAG,
  DRY_RUN_FLAG,
  FILE,
  FORCE_FLAG,
  PORT_FLAG,
  PYTHON_FLAG,
  SERVICE,
} from "../parameters.ts";
import { openServiceTarget } from "./service-target.ts";

interface Flags extends JsonFlag {
  readonly python?: string;
  readonly port?: number;
  readonly force: boolean;
  readonly dryRun: boolean;
  readonly allowDestructive: boolean;
}

/**
 * Starts missing services and restarts changed ones; each keeps its address. Hosted ones are replaced without refusing
 * a request.
 */
export const update = defineCommand<Flags, [file: string, target: string, service?: string], ServicePlan>({
  brief: "Start or update services in the background",
  examples: [
    ["cli service update app.py main", "start or restart the file's services, after asking"],
    ["cli service update app.py main ingest --port 8000 -f", "one of them, on this port, without asking"],
    [
      "cli service update app.py cloud://acme:main",
      "services of a hosted database, after cli db update and cli schema update",
    ],
  ],
  parameters: {
    positional: { kind: "tuple", parameters: [FILE, ANY_TARGET, SERVICE] },
    flags: {
      python: PYTHON_FLAG,
      port: PORT_FLAG,
      force: FORCE_FLAG,
      dryRun: DRY_RUN_FLAG,
      allowDestructive: BREAKING_FLAG,
    },
    aliases: { f: "force", n: "dryRun" },
  },
  run: async (ctx, flags, file, target, service) => {
    const { port, python } = flags;
    const opened = await openServiceTarget(ctx, { file, target, service, port, python });
    const plan = await opened.plan();
    if (!flags.json) printServicePlan(plan, ctx.out);
    const withPython = python === undefined ? [] : ["--python", python];
    const again = (more: readonly string[]) =>
      commandLine([
        "service",
        "update",
        file,
        target,
        service,
        ...(port === undefined ? [] : ["--port", String(port)]),
        ...withPython,
        ...more,
      ]);
    refuseBlocked(plan, commandLine(["schema", "update", file, target, ...withPython]));
    // A daemon that just started may still be starting its services, so the command waits.
    const isStarting = plan.services.some((service) => service.state === "STARTING");
    if (flags.dryRun || (plan.in_agreement && !isStarting)) return plan;
    if (!plan.in_agreement) {
      refuseDestructive(plan, flags, again(["--allow-destructive", "-f"]));
      await confirm(ctx, {
        question: `Start or restart ${count(countChanged(plan), "service")} of ${plan.target}?`,
        force: flags.force,
        again: again([...(flags.allowDestructive ? ["--allow-destructive"] : []), "-f"]),
      });
    }
    const onProgress = showProgress(ctx.out, flags.json);
    const after = await opened.apply({ allow_destructive: flags.allowDestructive, onProgress });
    ctx.out.status("");
    refuseFailed(after);
    if (!flags.json && !plan.in_agreement) {
      ctx.out.line();
      printAppliedServices(plan, after, ctx.out);
    }
    return after;
  },
  // The plan is already printed above: users read it before it is applied.
  render: () => undefined,
  exitCode: (plan, flags) => (flags.dryRun && !plan.in_agreement ? EXIT.pending : EXIT.done),
});

function countChanged(plan: ServicePlan): number {
  return plan.services.filter((service) => service.resolution !== "up_to_date").length;
}

/** @throws schema_mismatch when the tables must change first */
function refuseBlocked(plan: ServicePlan, next: string): void {
  if (plan.summary.blocked === 0) return;
  const blocked = plan.services.filter((service) => service.resolution === "blocked");
  const reasons = blocked.flatMap((service) => service.ops.map((op) => `${service.name}: ${op.description}`));
  throw appError("schema_mismatch", {
    detail: `${count(plan.summary.blocked, "service")} of ${plan.target} cannot start: ${reasons.join("; ") || "the tables differ from the file"}.`,
    hint: `Update the tables first: ${next}`,
    meta: { next, plan },
  });
}

/** @throws destructive_refused */
function refuseDestructive(plan: ServicePlan, flags: Flags, next: string): void {
  if (plan.summary.destructive === 0 || flags.allowDestructive) return;
  throw appError("destructive_refused", {
    detail: `The update would break callers (${count(plan.summary.destructive, "change")} marked DESTRUCTIVE). Nothing was changed.`,
    hint: `To do it anyway: ${next}`,
    meta: { next, plan },
  });
}

/** A service that did not start fails the command, even when others succeeded. @throws service_failed */
function refuseFailed(plan: ServicePlan): void {
  const failed = plan.services.filter((service) => service.status === "failed" || service.state === "FAILED");
  const [first] = failed;
  if (first === undefined) return;
  throw appError("service_failed", {
    detail: `${failed.map((service) => service.name).join(", ")} of ${plan.target} did not start.`,
    hint: `Read its log: cli service logs ${plan.target}/${first.name}`,
    meta: { plan },
  });
}
