import { type AppError, appError } from "@appdb/contract/errors";
import type { Context } from "../../context.ts";
import { sendBlobs } from "../../control/send-blobs.ts";
import { showUpload } from "../../output/upload-progress.ts";
import type { ProjectTree } from "../../project/read-tree.ts";
import type { DatabaseCommandTarget } from "./database-target.ts";

/**
 * Uploads the project files that the organization lacks and shows the progress.
 * @throws files_changed, interrupted, server_unreachable
 */
export async function sendFiles(
  ctx: Pick<Context, "out" | "signal">,
  { client, params }: DatabaseCommandTarget,
  tree: Pick<ProjectTree, "blobs">,
  json: boolean,
): Promise<void> {
  const { signal } = ctx;
  const onRetry = (reason: string) => ctx.out.note(`The upload was interrupted and continues. ${reason}`);
  const onProgress = showUpload(ctx.out, json);
  await sendBlobs(client, { org: params.org, tree, signal, onProgress, onRetry }).catch((error: unknown) => {
    throw signal.aborted ? uploadInterrupted(error) : error;
  });
  ctx.out.status("");
}

function uploadInterrupted(cause: unknown): AppError {
  return appError("interrupted", {
    detail: "The command was interrupted. The database was not changed.",
    hint: "Uploaded files are kept: run the same command to continue.",
    cause,
  });
}
