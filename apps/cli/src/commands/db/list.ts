import type { ControlClient } from "@appdb/contract/clients/control-client";
import { AppError, appError } from "@appdb/contract/errors";
import type { Database } from "@appdb/contract/routes/control-databases";
import type { LocalDatabase } from "@appdb/contract/routes/local";
import type { Context, Control } from "../../context.ts";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { alignColumns } from "../../output/columns.ts";
import { databaseCells, describeBuild } from "../../output/database-text.ts";
import { showControls } from "../../output/show-controls.ts";
import { takeAll } from "../account.ts";
import { text } from "../parameters.ts";
import { printLocalDatabases } from "./local-databases.ts";

interface Flags extends JsonFlag {
  readonly org?: string;
  readonly local: boolean;
}

/** Exits with 0 also when there is none. */
export const list = defineCommand<Flags, [], Database[] | LocalDatabase[]>({
  brief: "List the hosted databases that you can reach, or those of this machine",
  examples: [
    ["cli db list", "of all organizations that you belong to"],
    ["cli db list --org acme --json", "one organization, for a program"],
    ["cli db list --local", "the databases of this machine, with their tables, services and projects"],
  ],
  parameters: {
    flags: {
      org: {
        kind: "parsed",
        parse: text,
        optional: true,
        brief: "Only databases of this organization",
        placeholder: "name",
      },
      local: { kind: "boolean", brief: "Databases of this machine's daemon", default: false, withNegated: false },
    },
  },
  run: async (ctx, flags) => {
    if (flags.local)
      return (await (await ctx.daemon.ensure()).call("databaseList", {}, { signal: ctx.signal })).databases;
    const { client } = await openControl(ctx);
    const databases: Database[] = [];
    for (const org of await findOrganizations(ctx, client, flags.org)) {
      databases.push(...(await takeAll(client.each("databaseList", { params: { org } }, { signal: ctx.signal }))));
    }
    return databases;
  },
  render: (found, out, flags) => {
    if (flags.local) {
      printLocalDatabases(found as LocalDatabase[], out);
      return;
    }
    const databases = found as Database[];
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

/** Users without a hosted service probably mean the databases of this machine. */
async function openControl(ctx: Context): Promise<Control> {
  try {
    return await (await ctx.control()).open();
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const hint = [error.hint, "or list the databases of this machine: cli db list --local"].filter(Boolean).join("   ");
    throw appError(error.code, { detail: error.message, hint, meta: error.meta, cause: error });
  }
}

/** The named organization, otherwise all that the credential can access. */
async function findOrganizations(
  ctx: Pick<Context, "signal">,
  client: ControlClient,
  named: string | undefined,
): Promise<string[]> {
  if (named !== undefined) return [named];
  return (await takeAll(client.each("orgList", {}, { signal: ctx.signal }))).map(({ name }) => name);
}
