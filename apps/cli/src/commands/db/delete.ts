import { appError } from "@appdb/contract/errors";
import type { DatabaseUri } from "@appdb/contract/names";
import type { Context } from "../../context.ts";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { commandLine, text } from "../parameters.ts";
import { type ChangeResult, finishChange } from "./change.ts";
import { NO_WAIT_FLAG, openDatabase } from "./database.ts";

interface Flags extends JsonFlag {
  readonly force: boolean;
  readonly now: boolean;
  readonly noWait: boolean;
}

/** Its name must be typed; `-f` stands for that. The database of the project is not meant when none is named. */
export const deleteDatabase = defineCommand<Flags, [uri: string], ChangeResult>({
  brief: "Delete a database; it can be undeleted for some days",
  examples: [
    ["cli db delete cloud://acme:staging", "after typing its name"],
    ["cli db delete cloud://acme:staging -f", "without being asked"],
    ["cli db delete cloud://acme:staging --now -f", "with its storage, at once and for good"],
  ],
  parameters: {
    positional: {
      kind: "tuple",
      parameters: [{ brief: "The database: cloud://acme:staging", placeholder: "URI", parse: text }],
    },
    flags: {
      force: { kind: "boolean", brief: "Do it without asking for its name", default: false },
      now: { kind: "boolean", brief: "Remove its storage at once; it cannot be undeleted", default: false },
      noWait: NO_WAIT_FLAG,
    },
    aliases: { f: "force" },
  },
  run: async (ctx, flags, typed) => {
    const open = await openDatabase(ctx, typed, "delete");
    await askForName(ctx, open.uri, flags);
    const { client, params } = open;
    const query = { now: flags.now ? "1" : "0" };
    const change = await client.call("databaseDelete", { params, query }, { signal: ctx.signal });
    return await finishChange(ctx, open, change, { wait: !flags.noWait, is_last: flags.now });
  },
  render: ({ database, operation }, out) => {
    const { name, purged_at, uri } = database;
    if (operation?.state === "pending" || operation?.state === "running") {
      out.line(`Deleting database '${name}'.`);
      out.note(`Its name stays taken until that is done: cli operations wait ${operation.id}`);
      return;
    }
    out.line(`Deleted database '${name}'.`);
    if (purged_at !== null && Date.parse(purged_at) > Date.now()) {
      out.note(`Its storage is kept until ${purged_at}; until then: cli db undelete ${uri}`);
    }
  },
});

/** @throws confirmation_required where nobody can answer, or another name is typed */
async function askForName(
  ctx: Pick<Context, "prompt">,
  { database, text: uri }: DatabaseUri,
  { force, now }: Flags,
): Promise<void> {
  if (force) return;
  const again = commandLine(["db", "delete", uri, ...(now ? ["--now"] : []), "-f"]);
  const what = now ? "with its storage, at once and for good" : "with all its rows";
  const question = `Delete ${uri} ${what}? Type its name, ${database}`;
  if (ctx.prompt === undefined) {
    throw appError("confirmation_required", {
      detail: `There is no terminal to ask: ${question}`,
      hint: `Answer beforehand: ${again}`,
      meta: { next: again },
    });
  }
  if ((await ctx.prompt.text(question)).trim() === database) return;
  throw appError("confirmation_required", {
    detail: "Nothing was deleted: that was not its name.",
    hint: `To do it without being asked: ${again}`,
    meta: { next: again },
  });
}
