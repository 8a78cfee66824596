import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { alignColumns } from "../../output/columns.ts";
import { showControls } from "../../output/show-controls.ts";
import { text } from "../parameters.ts";
import { PLACE, parseSecretAddress } from "./secret-address.ts";
import { sendEach } from "./send-each.ts";

interface Deleted {
  readonly name: string;
  readonly scope: "organization" | "database";
}

/** When a database's own secret is deleted, it gets the organization's secret of that name, if any. */
export const deleteSecret = defineCommand<JsonFlag, string[], Deleted[]>({
  brief: "Delete secrets of a database or an organization",
  examples: [
    ["cli secret delete cloud://acme:main OPENAI_API_KEY", "the database's own"],
    ["cli secret delete acme REGION TIER --json", "two of the organization, for a program"],
  ],
  parameters: {
    positional: {
      kind: "array",
      parameter: { brief: `${PLACE.brief}, then names`, placeholder: "URI|ORG NAME", parse: text },
      minimum: 2,
    },
  },
  run: async (ctx, _flags, typed, ...names) => {
    const { db, org } = parseSecretAddress(typed ?? "");
    const { client } = await (await ctx.control()).open();
    const items = names.map((name): Deleted => ({ name, scope: db === undefined ? "organization" : "database" }));
    return await sendEach(items, { done: "deleted", not_done: "not deleted" }, async (item) => {
      const { name } = item;
      if (db === undefined) await client.call("secretDelete", { params: { org, name } }, { signal: ctx.signal });
      else await client.call("databaseSecretDelete", { params: { org, db, name } }, { signal: ctx.signal });
      return item;
    });
  },
  render: (deleted, out) => {
    const rows = deleted.map(({ name, scope }) => ["deleted", showControls(name), scope]);
    for (const line of alignColumns(rows)) out.line(line);
  },
});
