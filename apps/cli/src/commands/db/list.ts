import type { ControlClient } from "@appdb/contract/clients/control-client";
import type { Database } from "@appdb/contract/routes/control-databases";
import type { Context } from "../../context.ts";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { alignColumns } from "../../output/columns.ts";
import { databaseCells, describeBuild } from "../../output/database-text.ts";
import { showControls } from "../../output/show-controls.ts";
import { takeAll } from "../account.ts";
import { text } from "../parameters.ts";

interface Flags extends JsonFlag {
  readonly org?: string;
}

/** Exit 0 also when there is none. */
export const list = defineCommand<Flags, [], Database[]>({
  brief: "List the hosted databases that you can reach",
  examples: [
    ["cli db list", "of all organizations that you belong to"],
    ["cli db list --org acme --json", "of one, for a program"],
  ],
  parameters: {
    flags: {
      org: { kind: "parsed", parse: text, optional: true, brief: "Of one organization alone", placeholder: "name" },
    },
  },
  run: async (ctx, flags) => {
    const { client } = await (await ctx.control()).open();
    const databases: Database[] = [];
    for (const org of await findOrganizations(ctx, client, flags.org)) {
      databases.push(...(await takeAll(client.each("databaseList", { params: { org } }, { signal: ctx.signal }))));
    }
    return databases;
  },
  render: (databases, out) => {
    if (databases.length === 0) out.line("No databases.");
    for (const line of alignColumns(databases.map((database) => databaseCells(database).map(showControls)))) {
      out.line(line);
    }
    for (const database of databases) {
      const { failure, uri } = database;
      const build = describeBuild(database);
      if (failure !== null) out.line(`${uri}: ${showControls(failure.detail)}`);
      else if (build?.startsWith("failed") === true) out.line(`${uri}: its last build ${showControls(build)}`);
    }
  },
});

/** The one that was named, else all that the credential reaches. */
async function findOrganizations(
  ctx: Pick<Context, "signal">,
  client: ControlClient,
  named: string | undefined,
): Promise<string[]> {
  if (named !== undefined) return [named];
  return (await takeAll(client.each("orgList", {}, { signal: ctx.signal }))).map(({ name }) => name);
}
