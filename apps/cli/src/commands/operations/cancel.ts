import type { Operation } from "@appdb/contract/routes/control";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { ORG_FLAG } from "../account.ts";
import { askOperation } from "./ask-operation.ts";
import { OPERATION, printOperation } from "./print-operation.ts";

interface Flags extends JsonFlag {
  readonly org?: string;
}

/** A running operation may take a moment to end; use `wait`. */
export const cancel = defineCommand<Flags, [id: string], Operation>({
  brief: "Cancel an operation",
  examples: [
    ["cli operations cancel op_019a", "a waiting or running operation"],
    ["cli operations cancel op_019a --json", "for a program"],
  ],
  parameters: { positional: { kind: "tuple", parameters: [OPERATION] }, flags: { org: ORG_FLAG } },
  run: async (ctx, flags, typed) =>
    await askOperation(ctx, { id: typed, org: flags.org }, ({ client, org }, id) =>
      client.call("operationCancel", { params: { org, id } }, { signal: ctx.signal }),
    ),
  render: printOperation,
});
