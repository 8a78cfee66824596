import type { OperatorAnswer } from "@appdb/contract/operator";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { text } from "../parameters.ts";

/** For servers without mail. */
export const resetLink = defineCommand<JsonFlag, [email: string], OperatorAnswer<"reset-link">>({
  brief: "Print a password reset link for an account",
  examples: [
    ["cli server reset-link ann@example.com", "send it only to that person"],
    ["cli server reset-link ann@example.com --json", "the same for a program"],
  ],
  parameters: {
    positional: {
      kind: "tuple",
      parameters: [{ brief: "Address of the account", placeholder: "EMAIL", parse: text }],
    },
  },
  run: (ctx, _flags, email) => ctx.operate({ act: "reset-link", email }),
  render: ({ link }, out) => out.line(link),
});
