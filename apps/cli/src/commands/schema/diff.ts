import type { SchemaPlan } from "@appdb/contract/plan";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { EXIT } from "../../output/exit-codes.ts";
import { printSchemaPlan } from "../../output/schema-plan-text.ts";
import { sayIfSlow } from "../../output/slow-wait.ts";
import { ANY_TARGET, FILE, PYTHON_FLAG } from "../parameters.ts";
import { openSchemaTarget, planning } from "./schema-target.ts";

interface Flags extends JsonFlag {
  readonly python?: string;
}

/** Exits with 0 when the tables match the file and with 2 otherwise; changes nothing. */
export const diff = defineCommand<Flags, [file: string, target: string], SchemaPlan>({
  brief: "Show what an update would change; exits with 0 for nothing, 2 for changes",
  examples: [
    ["cli schema diff app.py main", "compare with the local database main"],
    ["cli schema diff app.py cloud://acme:main", "compare with a hosted one, using the current local files"],
    ["cli schema diff app.py main --json", "the plan for a program"],
  ],
  parameters: {
    positional: { kind: "tuple", parameters: [FILE, ANY_TARGET] },
    flags: { python: PYTHON_FLAG },
  },
  run: async (ctx, flags, file, target) => {
    const { json, python } = flags;
    const opened = await openSchemaTarget(ctx, { file, target, python, files: "here", json });
    return await sayIfSlow({ out: ctx.out, json }, planning(target), opened.plan({ recompute: false }));
  },
  render: printSchemaPlan,
  exitCode: (plan) => (plan.in_agreement ? EXIT.done : EXIT.pending),
});
