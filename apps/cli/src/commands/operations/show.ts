import type { Operation } from "@appdb/contract/routes/control";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { ORG_FLAG } from "../account.ts";
import { askOperation } from "./ask-operation.ts";
import { OPERATION, printOperation } from "./print-operation.ts";

interface Flags extends JsonFlag {
  readonly org?: string;
}

/** Exits with 0 for any result. */
export const show = defineCommand<Flags, [id: string], Operation>({
  brief: "Show an operation: its state, its times, its error",
  examples: [
    ["cli operations show op_019a", "one operation"],
    ["cli operations show op_019a --json", "for a program"],
  ],
  parameters: { positional: { kind: "tuple", parameters: [OPERATION] }, flags: { org: ORG_FLAG } },
  run: async (ctx, flags, typed) =>
    await askOperation(ctx, { id: typed, org: flags.org }, ({ client, org }, id) =>
      client.call("operationShow", { params: { org, id } }, { signal: ctx.signal }),
    ),
  render: printOperation,
});
