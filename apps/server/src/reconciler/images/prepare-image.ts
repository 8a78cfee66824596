import { AppError } from "@appdb/contract/errors";
import type { Manifest } from "@appdb/contract/manifest";
import { type FoundPreparation, findForWork } from "../../control-plane/preparations/preparations.ts";
import { isDatabaseLost } from "../../database/pool.ts";
import { beginOperation, endOperation, type OperationError } from "../../operations/run-operation.ts";
import { openSecrets } from "../../secrets/secret-store.ts";
import { type ReconcileInput, type Watch, watchChannels } from "../core/create-reconciler.ts";
import { nameDatabase, toFailure, unexpected } from "../core/failures.ts";
import type { ReconcileDeps } from "../core/reconcile-deps.ts";
import { isImageThere, makeImage, recordBuiltImage, recordFailedBuild } from "./make-image.ts";
import { type OperationLines, openOperationLines } from "./operation-lines.ts";

const MAX_ATTEMPTS = 2;

/**
 * Builds a deployment's image and makes it read the application from the new files. Running pods are not affected, and
 * the later update reuses the image. It may run twice. It stops when its operation is cancelled.
 */
export async function prepareImage(deps: ReconcileDeps, input: ReconcileInput): Promise<void> {
  const { attempt, id: preparationId, signal } = input;
  const found = await findForWork(deps.db, preparationId);
  if (found === undefined) return;
  if (!(await deps.db.transaction().execute((tx) => beginOperation(tx, found.operation_id)))) return;
  await using watch = await watchOperation(deps, found.operation_id);
  try {
    const either = AbortSignal.any([signal, watch.signal]);
    const manifest = await prepare(deps, found, either);
    await succeed(deps, found, manifest);
  } catch (error) {
    // it was cancelled and has ended
    if (watch.signal.aborted && !signal.aborted) return;
    if (signal.aborted || isDatabaseLost(error)) throw error;
    if (!(error instanceof AppError) && attempt < MAX_ATTEMPTS) throw error;
    if (!(error instanceof AppError)) {
      deps.log.error({ err: error, db: found.database_id }, "a deployment could not be prepared");
    }
    await fail(deps, found, toFailure(error instanceof AppError ? error : unexpected()));
  }
}

async function prepare(deps: ReconcileDeps, found: FoundPreparation, signal: AbortSignal): Promise<Manifest> {
  const { db, envelope, machine } = deps;
  const {
    app_file: appFile,
    database_id: databaseId,
    environment: hash,
    org_id: orgId,
    resources,
    settings,
    tree,
  } = found;
  await using lines = await openOperationLines(deps, found.operation_id);
  if (hash !== null && !(await isImageThere(deps, orgId, hash))) await build(deps, { ...found, hash }, lines, signal);
  const secrets = await openSecrets(db, envelope, { org_id: orgId, database_id: databaseId });
  const read = {
    org_id: orgId,
    database_id: databaseId,
    hash,
    tree,
    app_file: appFile,
    resources,
    vars: settings.vars,
    secrets,
  };
  return await machine.readApplication(read, (line) => lines.add("info", line), signal);
}

async function build(
  deps: ReconcileDeps,
  image: FoundPreparation & { readonly hash: string },
  lines: OperationLines,
  signal: AbortSignal,
): Promise<void> {
  const { db, log } = deps;
  const request = { ...image, is_forced: false };
  try {
    const built = await makeImage(deps, request, (line) => lines.add("info", line), signal);
    await deps.reconcileStepDone?.("image_there");
    await db.transaction().execute((tx) => recordBuiltImage(tx, image, built));
    log.info({ db: image.database_id, image: image.hash, bytes: built.bytes }, "image built ahead of its update");
  } catch (error) {
    if (error instanceof AppError) await db.transaction().execute((tx) => recordFailedBuild(tx, image));
    throw error;
  }
}

async function succeed(
  { db, recordEvent }: ReconcileDeps,
  { id, operation_id: operationId }: FoundPreparation,
  manifest: Manifest,
): Promise<void> {
  await db.transaction().execute(async (tx) => {
    const set = { manifest: JSON.stringify(manifest) };
    await tx.updateTable("control.preparations").set(set).where("id", "=", id).execute();
    await endOperation({ tx, recordEvent }, operationId, { state: "succeeded" });
  });
}

async function fail(
  { db, log, recordEvent }: ReconcileDeps,
  found: FoundPreparation,
  met: OperationError,
): Promise<void> {
  const error = adviseDeploy(nameDatabase(met, found.uri), found);
  log.info({ db: found.database_id, image: found.environment, code: error.code }, "a deployment was not prepared");
  await db
    .transaction()
    .execute((tx) => endOperation({ tx, recordEvent }, found.operation_id, { state: "failed", error }));
}

/** To retry, the person deploys again. */
function adviseDeploy(error: OperationError, { app_file: appFile, uri }: FoundPreparation): OperationError {
  const again = `cli deploy ${appFile} ${uri}`;
  const { hint } = error;
  if (hint === null) return { ...error, hint: `Correct it and deploy again: ${again}` };
  const others = [`cli db update ${uri}`, `cli db build-image ${uri}`];
  return { ...error, hint: others.reduce((text, other) => text.replaceAll(other, again), hint) };
}

/** Aborts when the operation ends, for example by a cancellation. */
async function watchOperation(deps: Pick<ReconcileDeps, "db" | "log" | "notifications">, id: string): Promise<Watch> {
  const hasEnded = async () => {
    const row = await deps.db
      .selectFrom("control.operations")
      .select("ended_at")
      .where("id", "=", id)
      .executeTakeFirst();
    return row === undefined || row.ended_at !== null;
  };
  return await watchChannels(deps, [["control_operations", id]], hasEnded, { op: id });
}
