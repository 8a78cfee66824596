import { type AppError, appError, toProblem } from "@appdb/contract/errors";
import { waitForOperation } from "@appdb/system/control/wait-for-operation";
import type { Context } from "../../context.ts";
import { printBuildLine } from "../../output/build-line.ts";
import { commandLine } from "../../output/command-line.ts";
import type { RequestedPlan } from "../db/request-database-plan.ts";
import { notSelected } from "../sent-files.ts";

const CANCEL_MS = 10_000;

/** The application file as typed and relative to the project. */
export interface DeployedFile {
  readonly file: string;
  readonly app_file: string;
}

/**
 * Builds the database's next image and reads the application with it, without changing the database. Returns the basis
 * for planning tables and services. Ctrl-C cancels it.
 * @throws app_outside_project; errors of the build and of reading, with the last lines of output; interrupted
 */
export async function prepareDeploy(
  ctx: Pick<Context, "out" | "signal">,
  planned: RequestedPlan,
  { app_file: appFile, file }: DeployedFile,
  json: boolean,
): Promise<string> {
  const { client, params, request, tree, uri } = planned;
  const { out, signal } = ctx;
  if (!tree.digests.has(appFile)) throw notSelected(appFile, planned);
  const { id, operation } = await client.call(
    "preparationBegin",
    { params, body: { ...request, app_file: appFile } },
    { signal },
  );
  try {
    await waitForOperation(client, {
      org: params.org,
      id: operation.id,
      signal,
      onLine: printBuildLine(out, json),
      onRunning: () => out.status(`${uri.text}: the image is prepared`),
    });
    return id;
  } catch (error) {
    out.note(`Nothing of ${uri.text} was changed.`);
    if (!signal.aborted) throw error;
    await cancel(ctx, planned, operation.id);
    throw interrupted(file, uri.text, error);
  } finally {
    out.status("");
  }
}

async function cancel({ out }: Pick<Context, "out">, { client, params }: RequestedPlan, id: string): Promise<void> {
  const input = { params: { org: params.org, id } };
  await client.call("operationCancel", input, { signal: AbortSignal.timeout(CANCEL_MS) }).catch((error: unknown) => {
    out.note(`The operation continues, because it could not be cancelled: ${toProblem(error).detail}`);
  });
}

function interrupted(file: string, uri: string, cause: unknown): AppError {
  return appError("interrupted", {
    detail: "The command was interrupted while the image was prepared.",
    hint: `Deploy again: ${commandLine(["deploy", file, uri])}`,
    cause,
  });
}
