import type { OperatorAnswer } from "@appdb/contract/operator";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { alignColumns } from "../../output/columns.ts";
import { count } from "../../output/count.ts";
import { showControls } from "../../output/show-controls.ts";

/** Lists all organizations. Access to the home's files is the credential. */
export const orgs = defineCommand<JsonFlag, [], OperatorAnswer<"orgs">>({
  brief: "List all organizations of the server",
  examples: [
    ["cli server orgs", "with databases, quota and members"],
    ["cli server orgs --json", "the same for a program"],
  ],
  parameters: {},
  run: (ctx) => ctx.operate({ act: "orgs" }),
  render: ({ organizations }, out) => {
    if (organizations.length === 0) out.line("No organizations.");
    const rows = organizations.map((org) => [
      org.name,
      `${org.databases} of ${count(org.database_quota, "database")}`,
      count(org.members, "member"),
      org.suspended_at === null
        ? ""
        : `suspended ${org.suspended_at} ${showControls(org.suspended_for ?? "")}`.trimEnd(),
    ]);
    for (const line of alignColumns(rows)) out.line(line.trimEnd());
  },
});
