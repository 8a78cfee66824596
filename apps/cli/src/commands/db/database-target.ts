import { type AppError, appError } from "@appdb/contract/errors";
import { type DatabaseUri, isHosted, parseDatabaseUri, parseTarget } from "@appdb/contract/names";
import type { Context, Control } from "../../context.ts";
import { commandLine } from "../../output/command-line.ts";
import { text } from "../parameters.ts";

/** Parameters shared by commands of hosted databases. */
export const DATABASE = {
  brief: "The database, cloud://acme:main; defaults to the project's only hosted one",
  placeholder: "URI",
  parse: text,
  optional: true,
} as const;
export const NO_WAIT_FLAG = {
  kind: "boolean",
  brief: "Return without waiting",
  default: false,
} as const;

export interface DatabaseCommandTarget extends Control {
  readonly uri: DatabaseUri;
  readonly params: { readonly org: string; readonly db: string };
}

/**
 * Opens the database of a command; `verb` is the command's.
 * @throws usage, invalid_target, config_invalid, not_signed_in, server_unreachable
 */
export async function openDatabaseTarget(
  ctx: Context,
  typed: string | undefined,
  verb: string,
): Promise<DatabaseCommandTarget> {
  const uri = await findDatabaseUri(ctx, typed, verb);
  const control = await (await ctx.control()).open();
  return { ...control, uri, params: { org: uri.organization, db: uri.database } };
}

/**
 * Address from the command line, otherwise of the project's only hosted database.
 * @throws invalid_target, also for a local name; usage, config_invalid
 */
export async function findDatabaseUri(
  ctx: Pick<Context, "cwd">,
  typed: string | undefined,
  verb: string,
): Promise<DatabaseUri> {
  if (typed === undefined) return parseDatabaseUri(await findOnlyEntry(ctx.cwd, verb));
  if (isHosted(typed)) return parseDatabaseUri(typed);
  throw needsNone(parseTarget(typed).text, verb);
}

/** The commands that do the same for a local database. The daemon runs all of them. */
const LOCALLY: Readonly<Record<string, (target: string) => string>> = {
  start: () => "Its daemon starts with the next command, or now: cli daemon start",
  stop: () => "Stop all local databases with their daemon: cli daemon stop",
  restart: () => "Restart all local databases with their daemon: cli daemon restart",
  status: () => "See the databases of this machine: cli db list --local",
  logs: () => "See where the log of its daemon is: cli daemon status",
  undelete: () => "A local database is deleted permanently. See those that exist: cli db list --local",
  diff: (target) => `See what its tables lack: ${commandLine(["schema", "diff", "app.py", target])}`,
};

function needsNone(target: string, verb: string): AppError {
  const update = `Create or change its tables: ${commandLine(["schema", "update", "app.py", target])}`;
  return appError("invalid_target", {
    detail: `${target} is a local database. cli db ${verb} works only on hosted databases.`,
    hint: LOCALLY[verb]?.(target) ?? update,
    meta: { target },
  });
}

async function findOnlyEntry(cwd: string, verb: string): Promise<string> {
  const { findProject } = await import("../../project/find-project.ts");
  const project = findProject(cwd);
  const names = project === undefined ? [] : await readNames(project);
  const [only, ...others] = names;
  if (only !== undefined && others.length === 0) return only;
  const where = project === undefined ? `${cwd} is not in a project` : `${project.config_file} of ${project.root}`;
  throw appError("usage", {
    detail:
      only === undefined
        ? `Which database? None was named, and ${where}${project === undefined ? "" : " has no hosted one"}.`
        : `Which database? None was named, and ${where} has ${names.length} hosted ones: ${names.join(", ")}.`,
    hint: `Name it: cli db ${verb} ${only ?? "cloud://acme:main"}`,
    meta: { databases: names },
  });
}

async function readNames(project: import("../../project/find-project.ts").Project): Promise<string[]> {
  const { readHostedEntries } = await import("../../project/hosted-entries.ts");
  return readHostedEntries(project).map(({ uri }) => uri);
}
