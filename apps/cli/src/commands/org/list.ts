import type { Org } from "@appdb/contract/routes/control";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { takeAll } from "../account.ts";

/** Exits with 0 also when there is none. */
export const list = defineCommand<JsonFlag, [], Org[]>({
  brief: "List your organizations",
  examples: [
    ["cli org list", "name and id of each"],
    ["cli org list --json", "with role and number of databases, for a program"],
  ],
  parameters: {},
  run: async (ctx) => {
    const { client } = await (await ctx.control()).open();
    return await takeAll(client.each("orgList", {}, { signal: ctx.signal }));
  },
  render: (orgs, out) => {
    for (const { id, name } of orgs) out.line(`${name}  id=${id}`);
    if (orgs.length > 0) return;
    out.line("No orgs.");
    out.note("Create one: cli org create NAME");
  },
});
