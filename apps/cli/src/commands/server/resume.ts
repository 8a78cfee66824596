import { parseName } from "@appdb/contract/names";
import type { OperatorAnswer } from "@appdb/contract/operator";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { count } from "../../output/count.ts";
import { text } from "../parameters.ts";
import { ORG_ARGUMENT } from "./org-option.ts";

/** Databases that the suspension stopped start again. */
export const resume = defineCommand<JsonFlag, [org: string], OperatorAnswer<"resume">>({
  brief: "End the suspension of an organization and start its databases",
  examples: [
    ["cli server resume acme", "its requests are served again"],
    ["cli server resume acme --json", "the same for a program"],
  ],
  parameters: { positional: { kind: "tuple", parameters: [{ ...ORG_ARGUMENT, parse: text }] } },
  run: (ctx, _flags, org) => ctx.operate({ act: "resume", org: parseName("organization", org) }),
  render: ({ organization, started }, out) => {
    out.line(`${organization} is served again; ${count(started.length, "database")} started.`);
  },
});
