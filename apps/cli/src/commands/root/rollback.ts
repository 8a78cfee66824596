import { appError } from "@appdb/contract/errors";
import { type DatabaseUri, isHosted, parseDatabaseUri, parseTarget } from "@appdb/contract/names";
import type { PlanOp } from "@appdb/contract/plan";
import { describeOp } from "@appdb/contract/plan-op-text";
import type { Deploy, DeployRollbackPlan } from "@appdb/contract/routes/control-deploys";
import { confirm } from "../../context.ts";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { commandLine } from "../../output/command-line.ts";
import { count } from "../../output/count.ts";
import { EXIT } from "../../output/exit-codes.ts";
import { ANY_TARGET, DRY_RUN_FLAG, FORCE_FLAG } from "../parameters.ts";
import { waitForChange } from "../service/change-service.ts";

interface Flags extends JsonFlag {
  readonly force: boolean;
  readonly dryRun: boolean;
}

interface RollbackResult extends DeployRollbackPlan {
  readonly target: string;
  /** Null when there was nothing to do. */
  readonly status: "applied" | "skipped" | null;
}

/**
 * Restores services, then files, image and size as they were before the last `cli deploy`. No request is refused
 * meanwhile. Tables and rows stay.
 */
export const rollback = defineCommand<Flags, [target: string], RollbackResult>({
  brief: "Undo the last deployment: services, project files, image and size; tables and rows stay",
  examples: [
    ["cli rollback cloud://acme:main", "after showing the changes and asking once"],
    ["cli rollback cloud://acme:main -n", "only show what would be done"],
  ],
  parameters: {
    positional: { kind: "tuple", parameters: [{ ...ANY_TARGET, brief: "The database: cloud://acme:main" }] },
    flags: { force: FORCE_FLAG, dryRun: DRY_RUN_FLAG },
    aliases: { f: "force", n: "dryRun" },
  },
  run: async (ctx, { dryRun, force, json }, typed) => {
    const { text: uri, ...named } = parseHosted(typed);
    const params = { org: named.organization, db: named.database };
    const { client } = await (await ctx.control()).open();
    const options = { signal: ctx.signal };
    const plan = await client.call("deployRollbackPlan", { params }, options);
    const { deploy, ops } = plan;
    if (!json) {
      ctx.out.line(`~ ${uri}  ${describeDeploy(deploy)}`);
      for (const op of ops) ctx.out.line(`    ${describeOp(op)}`);
      ctx.out.line("    tables and rows stay as they are: added columns and tables remain, dropped ones do not return");
      ctx.out.line();
    }
    if (dryRun) return { ...plan, target: uri, status: ops.length === 0 ? null : "skipped" };
    refuseBlocked(ops);
    if (ops.length > 0) {
      await confirm(ctx, {
        question: `Undo this deployment of ${deploy.app_file} (${count(ops.length, "change")})?`,
        force,
        again: commandLine(["rollback", uri, "-f"]),
      });
    }
    for (;;) {
      const begun = await client.call("deployRollback", { params, body: { deploy: deploy.id } }, options);
      for (const { id } of begun.operations) await waitForChange(ctx, { client }, { org: params.org, id });
      if (begun.operations.length === 0) return { ...plan, deploy: begun.deploy, target: uri, status: "applied" };
    }
  },
  // The plan is already printed above: users read it before it is carried out.
  render: ({ status, target }, out) => {
    if (status === "applied") out.note(`${target} is as before that deployment, except for its tables`);
  },
  exitCode: ({ ops }, { dryRun }) => (dryRun && ops.length > 0 ? EXIT.pending : EXIT.done),
});

/** @throws schema_mismatch when the tables no longer fit a previous release */
function refuseBlocked(ops: readonly PlanOp[]): void {
  const blocked = ops.filter(({ severity }) => severity === "blocked");
  const [first] = blocked;
  if (first === undefined) return;
  throw appError("schema_mismatch", {
    detail: `The deployment cannot be undone, and nothing was changed: ${blocked.map(({ description }) => description).join("; ")}.`,
    hint: `Restore the previous files in your project, then: ${String(first.details.next)}`,
    meta: { operations: blocked.map(({ description }) => description) },
  });
}

/** @throws invalid_target, also for a local one */
function parseHosted(typed: string): DatabaseUri {
  if (isHosted(typed)) return parseDatabaseUri(typed);
  const { text } = parseTarget(typed);
  throw appError("invalid_target", {
    detail: `cli rollback is for hosted databases; ${text} is a local one without deployments.`,
    hint: `Name a hosted one: ${commandLine(["rollback", "cloud://acme:main"])}`,
    meta: { target: text },
  });
}

function describeDeploy({ app_file: appFile, created_at: createdAt, created_by: createdBy, state }: Deploy): string {
  const was = {
    done: "",
    failed: ", which failed",
    running: ", which was interrupted",
    rolling_back: ", which is partly undone",
    rolled_back: "",
  };
  return `restore the state before ${createdBy} deployed ${appFile} at ${createdAt}${was[state]}`;
}
