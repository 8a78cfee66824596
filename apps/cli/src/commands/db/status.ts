import type { Database } from "@appdb/contract/routes/control-databases";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { printDatabase } from "../../output/database-text.ts";
import { DATABASE, openDatabaseTarget } from "./database-target.ts";

/** Exits with 0 in any state. */
export const status = defineCommand<JsonFlag, [uri?: string], Database>({
  brief: "Show a database: its state, resources, image, files and pods",
  examples: [
    ["cli db status cloud://acme:main", "one database"],
    ["cli db status --json", "the project's only hosted one, for a program"],
  ],
  parameters: { positional: { kind: "tuple", parameters: [DATABASE] } },
  run: async (ctx, _flags, typed) => {
    const { client, params } = await openDatabaseTarget(ctx, typed, "status");
    return await client.call("databaseShow", { params }, { signal: ctx.signal });
  },
  render: (database, out) => printDatabase(database, out),
});
