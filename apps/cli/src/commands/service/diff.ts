import type { ServicePlan } from "@appdb/contract/plan";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { EXIT } from "../../output/exit-codes.ts";
import { printServicePlan } from "../../output/service-plan-text.ts";
import { ANY_TARGET, FILE, PYTHON_FLAG, SERVICE } from "../parameters.ts";
import { openServiceTarget } from "./service-target.ts";

interface Flags extends JsonFlag {
  readonly python?: string;
}

export const diff = defineCommand<Flags, [file: string, target: string, service?: string], ServicePlan>({
  brief: "Show what an update would start or restart; exits with 0 for nothing, 2 for changes",
  examples: [
    ["cli service diff app.py main", "all services of the file"],
    ["cli service diff app.py main ingest --json", "one of them, for a program"],
    ["cli service diff app.py cloud://acme:main", "services of a hosted database"],
  ],
  parameters: {
    positional: { kind: "tuple", parameters: [FILE, ANY_TARGET, SERVICE] },
    flags: { python: PYTHON_FLAG },
  },
  run: async (ctx, { python }, file, target, service) =>
    await (await openServiceTarget(ctx, { file, target, service, python })).plan(),
  render: printServicePlan,
  exitCode: (plan) => {
    if (plan.summary.blocked > 0) return EXIT.failed;
    return plan.in_agreement ? EXIT.done : EXIT.pending;
  },
});
