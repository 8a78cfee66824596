import { parseName } from "@appdb/contract/names";
import type { OperatorAnswer } from "@appdb/contract/operator";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { count } from "../../output/count.ts";
import { text } from "../parameters.ts";
import { ORG_ARGUMENT } from "./org-option.ts";

interface Flags extends JsonFlag {
  readonly reason?: string;
}

/** Deletes nothing; `cli server resume` undoes it. */
export const suspend = defineCommand<Flags, [org: string], OperatorAnswer<"suspend">>({
  brief: "Stop an organization's databases and refuse its requests",
  examples: [
    ["cli server suspend acme", "until: cli server resume acme"],
    ['cli server suspend acme --reason "invoice 4711 is unpaid"', "a reason that its members see"],
  ],
  parameters: {
    positional: { kind: "tuple", parameters: [{ ...ORG_ARGUMENT, parse: text }] },
    flags: {
      reason: {
        kind: "parsed",
        parse: text,
        optional: true,
        brief: "The reason, visible to its members",
        placeholder: "text",
      },
    },
  },
  run: (ctx, { reason }, org) =>
    ctx.operate({
      act: "suspend",
      org: parseName("organization", org),
      ...(reason === undefined ? {} : { reason }),
    }),
  render: ({ later, organization, stopped }, out) => {
    out.line(`${organization} is suspended; ${count(stopped.length, "database")} stopped.`);
    for (const uri of later) out.note(`${uri} stops once its current operation has ended.`);
    out.note(`Undo it: cli server resume ${organization}`);
  },
});
