import type { ControlClient } from "@appdb/contract/clients/control-client";
import { type AppError, appError } from "@appdb/contract/errors";
import type { HostedTarget } from "@appdb/contract/names";
import type { Context } from "../../context.ts";
import { sendBlobs } from "../../control/send-blobs.ts";
import { commandLine } from "../../output/command-line.ts";
import { showUpload } from "../../output/upload-progress.ts";
import { findApplication } from "../../project/find-project.ts";
import { type ReadProject, readProject } from "../../project/read-project.ts";
import { notSelected, pythonDigests } from "../sent-files.ts";
import type { SchemaTarget, SchemaTargetInput } from "./schema-target.ts";

/**
 * Opens a hosted database, whose own Python reads the file, so that none is needed here. `here` sends the local files
 * and changes nothing. `there` uses the database's files, which must equal the project's where the application imports
 * them.
 */
export async function openHostedSchema(
  ctx: Context,
  input: SchemaTargetInput,
  target: HostedTarget,
): Promise<SchemaTarget> {
  const { body: deployed, client, params, read } = await openDeployedFile(ctx, input, target);
  const { app_file: appFile, file_digests: fileDigests, folders } = deployed;
  const { signal } = ctx;
  return {
    worker: target.uri.text,
    plan: async ({ recompute, take_over: takeOver }) => {
      if (takeOver === true) throw noTakeOver(target);
      if (input.preparation !== undefined) {
        const { preparation } = input;
        const body = { app_file: appFile, folders, files: null, file_digests: null, recompute, preparation };
        return (await client.call("schemaPlan", { params, body }, { signal })).plan;
      }
      const sent = input.files === "here" ? await sendFiles(ctx, client, params.org, read, input.json) : null;
      const body = {
        app_file: appFile,
        folders,
        files: sent,
        file_digests: sent === null ? fileDigests : null,
        recompute,
      };
      return (await client.call("schemaPlan", { params, body }, { signal })).plan;
    },
    apply: async (
      catalogVersion,
      { allow_destructive: allowDestructive, recompute, on_error: onError },
      onProgress,
    ) => {
      const body = {
        app_file: appFile,
        folders,
        file_digests: fileDigests,
        catalog_version: catalogVersion,
        allow_destructive: allowDestructive,
        recompute,
        on_error: onError,
      };
      return (await client.call("schemaApply", { params, body }, { signal, onProgress })).plan;
    },
  };
}

/** A file of a hosted database's own files, which must equal the project's where the application imports them. */
export async function openDeployedFile(
  ctx: Context,
  { file, python }: Pick<SchemaTargetInput, "file" | "python">,
  target: HostedTarget,
) {
  if (python !== undefined) throw noPython(target);
  const { app_file: appFile, project } = findApplication(ctx.cwd, file);
  const read = await readProject(ctx, project.root, target.uri.text);
  if (!read.tree.digests.has(appFile)) throw notSelected(appFile, read);
  const { client } = await (await ctx.control()).open();
  return {
    client,
    read,
    params: { org: target.uri.organization, db: target.uri.database },
    body: { app_file: appFile, folders: [...target.folders], file_digests: pythonDigests(read) },
  };
}

async function sendFiles(
  ctx: Pick<Context, "out" | "signal">,
  client: ControlClient,
  org: string,
  { tree }: ReadProject,
  json: boolean,
) {
  const onRetry = (reason: string) => ctx.out.note(`The upload was interrupted and continues. ${reason}`);
  const onProgress = showUpload(ctx.out, json);
  await sendBlobs(client, { org, tree, signal: ctx.signal, onProgress, onRetry });
  ctx.out.status("");
  return tree.entries.map((entry) => ({ ...entry, chunks: [...entry.chunks] }));
}

function noTakeOver(target: HostedTarget): AppError {
  return appError("usage", {
    detail: `--take-over is for local databases: the tables of ${target.text} belong to its own project files.`,
    hint: "Omit it.",
  });
}

function noPython(target: HostedTarget): AppError {
  return appError("usage", {
    detail: `--python is for local databases: ${target.text} uses the Python of its image.`,
    hint: `Omit it. The image's Python is python_version of the database's entry: ${commandLine(["db", "update", target.uri.text])}`,
  });
}
