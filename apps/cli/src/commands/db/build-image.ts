import type { CallInput } from "@appdb/contract/clients/control-client";
import { NO_LOCK_WARNING } from "@appdb/contract/control/database-advice";
import { nextDatabaseState } from "@appdb/contract/control/database-states";
import type { Database } from "@appdb/contract/routes/control-databases";
import type { Context } from "../../context.ts";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { printBuildLine } from "../../output/build-line.ts";
import { findProject } from "../../project/find-project.ts";
import { projectNotes } from "../../project/project-notes.ts";
import { readEnvironment, readProject } from "../../project/read-project.ts";
import { type ChangeResult, finishChange, printChange } from "./change.ts";
import { DATABASE, type DatabaseCommandTarget, NO_WAIT_FLAG, openDatabaseTarget } from "./database-target.ts";
import { sendFiles } from "./send-files.ts";

interface Flags extends JsonFlag {
  readonly noWait: boolean;
}

interface BuildResult extends ChangeResult {
  /** Whether the project's files were sent; otherwise the database's files were built. */
  readonly sent_files: boolean;
}

/**
 * Sends the current files and environment of the project. This is how to correct a database whose first build failed.
 */
export const buildImage = defineCommand<Flags, [uri?: string], BuildResult>({
  brief: "Upload the project's files and rebuild the image of a database",
  examples: [
    ["cli db build-image cloud://acme:main", "after a failed build, corrected or not"],
    ["cli db build-image cloud://acme:main --no-wait --json", "do not wait, for a program"],
  ],
  parameters: { positional: { kind: "tuple", parameters: [DATABASE] }, flags: { noWait: NO_WAIT_FLAG } },
  run: async (ctx, { json, noWait }, typed) => {
    const open = await openDatabaseTarget(ctx, typed, "build-image");
    const { client, params } = open;
    const database = await client.call("databaseShow", { params }, { signal: ctx.signal });
    const body = await readSent(ctx, open, database, { json, is_named: typed !== undefined });
    const change = await client.call("databaseBuildImage", { params, body }, { signal: ctx.signal });
    const onLine = printBuildLine(ctx.out, json);
    const ended = await finishChange(ctx, open, change, { wait: !noWait, onLine });
    return { ...ended, sent_files: body !== undefined };
  },
  render: ({ database, operation, sent_files: sentFiles }, out) => {
    const what = sentFiles ? "uploaded the project files and rebuilt its image" : "rebuilt its image";
    if (operation?.state === "succeeded") out.line(`${database.uri}: ${what}.`);
    else printChange({ database, operation }, out, "It uses only the base library, so there is nothing to build.");
  },
});

/** Input of the build with its bytes uploaded. Undefined when the database's files are built. */
async function readSent(
  ctx: Context,
  open: DatabaseCommandTarget,
  database: Database,
  { is_named: isNamed, json }: { readonly is_named: boolean; readonly json: boolean },
): Promise<CallInput<"databaseBuildImage">["body"]> {
  // the server refuses the operation before anything is sent
  if (nextDatabaseState(database.state, "build_image") === undefined) return undefined;
  const project = findProject(ctx.cwd);
  if (project === undefined) {
    ctx.out.note("No project found here. The image is built from the database's files.");
    return undefined;
  }
  const uri = open.uri.text;
  const read = await readProject(ctx, ctx.cwd, uri);
  const { entry, tree } = read;
  if (entry === undefined && isNamed && !needsCorrection(database)) {
    ctx.out.note(
      `${project.config_file} of ${project.root} has no entry for ${uri}: the image is built from the files that the database has. To send these: cli db update ${uri}`,
    );
    return undefined;
  }
  const environment = await readEnvironment(read);
  const notes = [
    ...projectNotes({ project, uri, has_entry: entry !== undefined, tree }),
    ...(environment.source === null ? [NO_LOCK_WARNING] : []),
  ];
  for (const note of notes) ctx.out.note(`warning: ${note}`);
  await sendFiles(ctx, open, tree, json);
  const settings = entry?.settings ?? {};
  return { settings, files: tree.entries.map((each) => ({ ...each, chunks: [...each.chunks] })), environment };
}

/** Files of a project that does not list the database must not replace those of a working one. */
function needsCorrection({ last_build: lastBuild, state }: Database): boolean {
  return state === "FAILED" || lastBuild?.state === "failed";
}
