import type { Operation } from "@appdb/contract/routes/control";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { alignColumns } from "../../output/columns.ts";
import { ORG_FLAG, openOrganization, takeFirst } from "../account.ts";
import { parseCount, text } from "../parameters.ts";
import { operationCells } from "./print-operation.ts";

interface Flags extends JsonFlag {
  readonly limit: number;
  readonly org?: string;
  readonly database?: string;
}

interface OperationList {
  readonly operations: readonly Operation[];
}

/** Latest first. */
export const list = defineCommand<Flags, [], OperationList>({
  brief: "List operations and their results",
  examples: [
    ["cli operations list", "the latest of the session's organization"],
    ["cli operations list --database staging", "of one database, by its name"],
    ["cli operations list --org acme --limit 200 --json", "more of them, for a program"],
  ],
  parameters: {
    flags: {
      limit: {
        kind: "parsed",
        parse: parseCount,
        default: "50",
        brief: "Maximum number to list",
        placeholder: "number",
      },
      org: ORG_FLAG,
      database: {
        kind: "parsed",
        parse: text,
        optional: true,
        brief: "Only operations of this database",
        placeholder: "name",
      },
    },
  },
  run: async (ctx, { limit, ...flags }) => {
    const { client, org } = await openOrganization(ctx, flags.org);
    const query = { limit: Math.min(limit, 200), database: flags.database };
    const all = client.each("operationList", { params: { org }, query }, { signal: ctx.signal });
    return { operations: await takeFirst(all, limit) };
  },
  render: ({ operations }, out) => {
    if (operations.length === 0) out.line("No operations.");
    for (const line of alignColumns(operations.map(operationCells))) out.line(line);
  },
});
