import { isHosted, parseLocalTarget } from "@appdb/contract/names";
import type { LocalDeletion } from "@appdb/contract/routes/local";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { commandLine } from "../../output/command-line.ts";
import { text } from "../parameters.ts";
import { type ChangeResult, finishChange } from "./change.ts";
import { NO_WAIT_FLAG, openDatabaseTarget } from "./database-target.ts";
import { askForName, deleteLocal } from "./local-databases.ts";

interface Flags extends JsonFlag {
  readonly force: boolean;
  readonly now: boolean;
  readonly noWait: boolean;
}

/**
 * Deletes a database. A local one is deleted immediately and permanently. The user must type its name or pass `-f`. The
 * project's only database is never the default here.
 */
export const deleteDatabase = defineCommand<Flags, [uri: string], ChangeResult | LocalDeletion>({
  brief: "Delete a database; a hosted one can be undeleted for some days",
  examples: [
    ["cli db delete scratch", "a local database, after you type its name; deleted immediately"],
    ["cli db delete cloud://acme:staging", "after typing its name"],
    ["cli db delete cloud://acme:staging -f", "without a question"],
    ["cli db delete cloud://acme:staging --now -f", "with its storage, immediately and permanently"],
  ],
  parameters: {
    positional: {
      kind: "tuple",
      parameters: [{ brief: "The database: scratch, cloud://acme:staging", placeholder: "URI", parse: text }],
    },
    flags: {
      force: { kind: "boolean", brief: "Do not ask for the name", default: false },
      now: { kind: "boolean", brief: "Remove its storage immediately; it cannot be undeleted", default: false },
      noWait: NO_WAIT_FLAG,
    },
    aliases: { f: "force" },
  },
  run: async (ctx, flags, typed) => {
    if (!isHosted(typed)) return await deleteLocal(ctx, parseLocalTarget(typed).text, flags.force);
    const open = await openDatabaseTarget(ctx, typed, "delete");
    const { database, text: uri } = open.uri;
    const what = flags.now ? "with its storage, immediately and permanently" : "with all its rows";
    await askForName(ctx, {
      name: database,
      question: `Delete ${uri} ${what}?`,
      force: flags.force,
      again: commandLine(["db", "delete", uri, ...(flags.now ? ["--now"] : []), "-f"]),
    });
    const { client, params } = open;
    const query = { now: flags.now ? "1" : "0" };
    const change = await client.call("databaseDelete", { params, query }, { signal: ctx.signal });
    return await finishChange(ctx, open, change, { wait: !flags.noWait, is_last: flags.now });
  },
  render: (result, out) => {
    if (!("database" in result)) {
      out.line(`Deleted the local database '${result.name}'.`);
      return;
    }
    const { database, operation } = result;
    const { name, purged_at: purgedAt, uri } = database;
    if (operation?.state === "pending" || operation?.state === "running") {
      out.line(`Deleting database '${name}'.`);
      out.note(`Its name stays reserved until that is done: cli operations wait ${operation.id}`);
      return;
    }
    out.line(`Deleted database '${name}'.`);
    if (purgedAt !== null && Date.parse(purgedAt) > Date.now()) {
      out.note(`Its storage is kept until ${purgedAt}. Restore it with: cli db undelete ${uri}`);
    }
  },
});
