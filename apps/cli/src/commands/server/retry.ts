import { parseName } from "@appdb/contract/names";
import type { OperatorAnswer } from "@appdb/contract/operator";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { text } from "../parameters.ts";
import { ORG_OPTION } from "./org-option.ts";

interface Flags extends JsonFlag {
  readonly org?: string;
}

/** Exits with 0 also when nothing is FAILED. */
export const retry = defineCommand<Flags, [], OperatorAnswer<"retry">>({
  brief: "Start all FAILED databases and services again",
  examples: [
    ["cli server retry", "of all organizations"],
    ["cli server retry --org acme", "of one"],
  ],
  parameters: { flags: { org: { ...ORG_OPTION, parse: text } } },
  run: (ctx, { org }) =>
    ctx.operate({ act: "retry", ...(org === undefined ? {} : { org: parseName("organization", org) }) }),
  render: ({ databases, services }, out) => {
    for (const uri of [...databases, ...services]) out.line(uri);
    if (databases.length + services.length === 0) out.line("Nothing is FAILED.");
    else out.note("They are being started. Check their states: cli server databases");
  },
});
