import { parseName } from "@appdb/contract/names";
import type { OperatorAnswer } from "@appdb/contract/operator";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { parseCountUpTo, text } from "../parameters.ts";
import { ORG_ARGUMENT } from "./org-option.ts";

interface Flags extends JsonFlag {
  readonly databases: number;
}

/** Databases above a reduced quota stay, but no new one can be created. */
export const quota = defineCommand<Flags, [org: string], OperatorAnswer<"quota">>({
  brief: "Set how many databases an organization may have",
  examples: [
    ["cli server quota acme --databases 10", "from 1 to 10000"],
    ["cli server quota acme --databases 10 --json", "the same for a program"],
  ],
  parameters: {
    positional: { kind: "tuple", parameters: [{ ...ORG_ARGUMENT, parse: text }] },
    flags: {
      databases: {
        kind: "parsed",
        parse: parseCountUpTo(10_000),
        brief: "Maximum number of databases",
        placeholder: "count",
      },
    },
  },
  run: (ctx, { databases }, org) => ctx.operate({ act: "quota", org: parseName("organization", org), databases }),
  render: ({ before, database_quota: databaseQuota, organization }, out) => {
    out.line(`${organization} may have ${databaseQuota} databases; it was ${before} before.`);
  },
});
