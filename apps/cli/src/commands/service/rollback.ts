import { describeOp } from "@appdb/contract/plan-op-text";
import type { HostedService, HostedServiceRollbackPlan } from "@appdb/contract/routes/control-services";
import { confirm } from "../../context.ts";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { commandLine } from "../../output/command-line.ts";
import { EXIT } from "../../output/exit-codes.ts";
import { printService } from "../../output/service-text.ts";
import { DRY_RUN_FLAG, FORCE_FLAG, HOSTED_SERVICE, parseCount } from "../parameters.ts";
import { hostedAddress, requireHostedService, waitForChange } from "./change-service.ts";

interface Flags extends JsonFlag {
  readonly dryRun: boolean;
  readonly force: boolean;
  readonly to?: number;
}

/** The service after the rollback; for a dry run, the plan. */
type RollbackResult = HostedService | (HostedServiceRollbackPlan & { readonly target: string });

/** Tables stay as they are. A release that needs other tables is refused with a hint. */
export const rollback = defineCommand<Flags, [name: string], RollbackResult>({
  brief: "Roll a hosted service back to an earlier release, without refusing a request",
  examples: [
    ["cli service rollback cloud://acme:main/ingest", "to the previous release"],
    ["cli service rollback cloud://acme:main/ingest --to 3 -f", "to this one, without asking"],
    ["cli service rollback cloud://acme:main/ingest -n", "only show the changes for its clients"],
  ],
  parameters: {
    positional: HOSTED_SERVICE,
    flags: {
      force: FORCE_FLAG,
      dryRun: DRY_RUN_FLAG,
      to: {
        kind: "parsed",
        parse: parseCount,
        optional: true,
        brief: "The release; defaults to the previous one",
        placeholder: "number",
      },
    },
    aliases: { f: "force", n: "dryRun" },
  },
  run: async (ctx, { dryRun, force, json, to }, typed) => {
    const address = requireHostedService(typed, "rollback");
    const control = await (await ctx.control()).open();
    const { params } = hostedAddress(address);
    const options = { signal: ctx.signal };
    const plan = await control.client.call("serviceRollbackPlan", { params, body: { release: to ?? null } }, options);
    if (!json) {
      for (const op of plan.ops) ctx.out.line(`    ${describeOp(op)}`);
      if (plan.ops.length === 0) ctx.out.line(`${address.text} runs release ${plan.to} already.`);
      ctx.out.line();
    }
    if (dryRun) return { ...plan, target: address.text };
    // the refusal explains obstacles with a hint
    if (plan.ops.length > 0 && plan.ops.every(({ severity }) => severity !== "blocked")) {
      await confirm(ctx, {
        question: `Have ${address.text} run release ${plan.to} again?`,
        force,
        again: commandLine([
          "service",
          "rollback",
          address.text,
          ...(to === undefined ? [] : ["--to", String(to)]),
          "-f",
        ]),
      });
    }
    const answer = await control.client.call("serviceRollback", { params, body: { release: plan.to } }, options);
    if (answer.operation === null) return answer.service;
    await waitForChange(ctx, control, { org: params.org, id: answer.operation.id });
    return await control.client.call("serviceShow", { params }, options);
  },
  // The plan is already printed above.
  render: (result, out) => {
    if (!("ops" in result)) printService(result, out);
  },
  exitCode: (result) => ("ops" in result && result.ops.length > 0 ? EXIT.pending : EXIT.done),
});
