import type { ServicePlan } from "@appdb/contract/plan";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { EXIT } from "../../output/exit-codes.ts";
import { printServicePlan } from "../../output/service-plan-text.ts";
import { FILE, PYTHON_FLAG, requireLocal, SERVICE, TARGET } from "../parameters.ts";
import { planServices } from "./plan-service.ts";

interface Flags extends JsonFlag {
  readonly python?: string;
}

export const diff = defineCommand<Flags, [file: string, target: string, service?: string], ServicePlan>({
  brief: "Show what an update would start or restart; exit 0 for nothing, 2 for something",
  examples: [
    ["cli service diff app.py main", "all services of the file"],
    ["cli service diff app.py main ingest --json", "one of them, for a program"],
  ],
  parameters: {
    positional: { kind: "tuple", parameters: [FILE, TARGET, SERVICE] },
    flags: { python: PYTHON_FLAG },
  },
  run: async (ctx, flags, file, target, service) => {
    const local = requireLocal(target, "service diff");
    const planned = await planServices(ctx, { file, target: local, service, port: undefined, python: flags.python });
    return planned.plan;
  },
  render: printServicePlan,
  exitCode: (plan) => (plan.summary.blocked > 0 ? EXIT.failed : plan.in_agreement ? EXIT.done : EXIT.pending),
});
