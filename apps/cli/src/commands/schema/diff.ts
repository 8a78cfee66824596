import type { SchemaPlan } from "@appdb/contract/plan";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { EXIT } from "../../output/exit-codes.ts";
import { printSchemaPlan } from "../../output/schema-plan-text.ts";
import { FILE, PYTHON_FLAG, requireLocal, TARGET } from "../parameters.ts";
import { planSchema } from "./plan-schema.ts";

interface Flags extends JsonFlag {
  readonly python?: string;
}

/** Exit 0 when the tables are what the file declares, 2 when they are not; changes nothing. */
export const diff = defineCommand<Flags, [file: string, target: string], SchemaPlan>({
  brief: "Show what an update would change; exit 0 for nothing, 2 for something",
  examples: [
    ["cli schema diff app.py main", "compare with the local database main"],
    ["cli schema diff app.py main --json", "the plan for a program"],
  ],
  parameters: {
    positional: { kind: "tuple", parameters: [FILE, TARGET] },
    flags: { python: PYTHON_FLAG },
  },
  run: async (ctx, flags, file, target) => {
    const local = requireLocal(target, "schema diff");
    return (await planSchema(ctx, { file, target: local, python: flags.python, recompute: false })).plan;
  },
  render: printSchemaPlan,
  exitCode: (plan) => (plan.in_agreement ? EXIT.done : EXIT.pending),
});
