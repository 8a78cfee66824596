import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { printDatabasePlan } from "../../output/database-plan-text.ts";
import { EXIT } from "../../output/exit-codes.ts";
import { DATABASE } from "./database-target.ts";
import { requestDatabasePlan, type ShownPlan } from "./request-database-plan.ts";

/** Exits with 0 when the database matches the project and with 2 otherwise. Uploads and changes nothing. */
export const diff = defineCommand<JsonFlag, [uri?: string], ShownPlan>({
  brief: "Show what an update would do; exits with 0 for nothing, 2 for changes",
  examples: [
    ["cli db diff cloud://acme:main", "compare with the database"],
    ["cli db diff cloud://acme:main --json", "the plan for a program"],
  ],
  parameters: { positional: { kind: "tuple", parameters: [DATABASE] } },
  run: async (ctx, _flags, typed) => (await requestDatabasePlan(ctx, typed, "diff")).plan,
  render: printDatabasePlan,
  exitCode: (plan) => (plan.in_agreement ? EXIT.done : EXIT.pending),
});
