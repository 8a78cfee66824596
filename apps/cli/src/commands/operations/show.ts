import type { Operation } from "@appdb/contract/routes/control";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { ORG_FLAG, openOrganization } from "../account.ts";
import { OPERATION, printOperation } from "./print-operation.ts";

interface Flags extends JsonFlag {
  readonly org?: string;
}

/** Exit 0 whatever became of it. */
export const show = defineCommand<Flags, [id: string], Operation>({
  brief: "Show an operation: its state, its times, its error",
  examples: [
    ["cli operations show op_019a", "one operation"],
    ["cli operations show op_019a --json", "for a program"],
  ],
  parameters: { positional: { kind: "tuple", parameters: [OPERATION] }, flags: { org: ORG_FLAG } },
  run: async (ctx, flags, id) => {
    const { client, org } = await openOrganization(ctx, flags.org);
    return await client.call("operationShow", { params: { org, id } }, { signal: ctx.signal });
  },
  render: printOperation,
});
