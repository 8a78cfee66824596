import type { Operation } from "@appdb/contract/routes/control";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { ORG_FLAG, openOrganization } from "../account.ts";
import { OPERATION, printOperation } from "./print-operation.ts";

interface Flags extends JsonFlag {
  readonly org?: string;
}

/** One that runs may take a moment to end: `wait` says when it has. */
export const cancel = defineCommand<Flags, [id: string], Operation>({
  brief: "Cancel an operation",
  examples: [
    ["cli operations cancel op_019a", "one that waits or runs"],
    ["cli operations cancel op_019a --json", "for a program"],
  ],
  parameters: { positional: { kind: "tuple", parameters: [OPERATION] }, flags: { org: ORG_FLAG } },
  run: async (ctx, flags, id) => {
    const { client, org } = await openOrganization(ctx, flags.org);
    return await client.call("operationCancel", { params: { org, id } }, { signal: ctx.signal });
  },
  render: printOperation,
});
