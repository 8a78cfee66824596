import { AppError } from "@appdb/contract/errors";
import type { ObservedDatabase } from "../../database/desired.ts";
import { isDatabaseLost } from "../../database/pool.ts";
import type { OperationError } from "../../operations/run-operation.ts";
import type { ImageFacts } from "../../pods/host-runtime.ts";
import { enqueueBuildImage, enqueueReconcileDatabase } from "../../queue/jobs.ts";
import { type Outcome, type ReconcileInput, watchSnapshot } from "../core/create-reconciler.ts";
import { nameDatabase, toFailure, unexpected } from "../core/failures.ts";
import type { ReconcileDeps } from "../core/reconcile-deps.ts";
import { applyChange, currentOperation, isUnchanged } from "../core/resource.ts";
import { isImageThere, makeImage, recordBuiltImage, recordFailedBuild } from "../images/make-image.ts";
import { openOperationLines } from "../images/operation-lines.ts";
import { chooseDatabaseWork, DATABASES, type DatabaseSnapshot, desiredSpec } from "./database-resource.ts";

const MAX_ATTEMPTS = 2;

/** Whether the pod waits for an image: none exists for its environment, or a rebuild was requested. */
export async function needsBuild(
  { db, machine }: Pick<ReconcileDeps, "db" | "machine">,
  snapshot: DatabaseSnapshot,
  desired: ObservedDatabase,
): Promise<boolean> {
  if (desired.environment === null) return false;
  return (
    isRebuildRequested(snapshot, desired) ||
    !(await isImageThere({ db, machine }, snapshot.row.org_id, desired.environment))
  );
}

/** A rebuild was requested, and this operation has not built it yet. */
function isRebuildRequested(snapshot: DatabaseSnapshot, desired: ObservedDatabase): boolean {
  const { observed, last_build: lastBuild } = snapshot.row;
  const operation = currentOperation(snapshot);
  const isMade = lastBuild?.state === "succeeded" && lastBuild.operation_id === operation?.id;
  return operation !== undefined && desired.builds !== (observed?.builds ?? 0) && !isMade;
}

/** Adds a separate job for the build, which takes minutes and must not delay starts of other databases. */
export async function startBuild(deps: ReconcileDeps, snapshot: DatabaseSnapshot): Promise<Outcome> {
  await deps.db.transaction().execute(async (tx) => {
    if (!(await isUnchanged(DATABASES, tx, snapshot))) return;
    const lastBuild = buildOf(snapshot, "running", null);
    await tx
      .updateTable("control.databases")
      .set({ last_build: lastBuild })
      .where("id", "=", snapshot.row.id)
      .execute();
    await enqueueBuildImage(tx, snapshot.row.id);
  });
  await deps.reconcileStepDone?.("building");
  return "later";
}

/** Builds an image that a database waits for and stores the builder's output. The database then continues. */
export async function buildImage(
  deps: ReconcileDeps,
  { id: databaseId, attempt, signal }: ReconcileInput,
): Promise<void> {
  const snapshot = await DATABASES.loadSnapshot(deps.db, databaseId);
  if (snapshot === undefined || chooseDatabaseWork(snapshot) !== "run") return;
  const desired = desiredSpec(snapshot);
  if (!(await needsBuild(deps, snapshot, desired))) return await enqueueReconcileDatabase(deps.db, databaseId);
  await using watch = await watchSnapshot(DATABASES, deps, snapshot);
  const either = AbortSignal.any([signal, watch.signal]);
  try {
    const built = await build(deps, snapshot, desired, either);
    await deps.reconcileStepDone?.("image_there");
    await succeed(deps, snapshot, desired, built);
    await deps.reconcileStepDone?.("built");
  } catch (error) {
    // the build is no longer needed; the reconciler decides what is next
    if (watch.signal.aborted && !signal.aborted) return await enqueueReconcileDatabase(deps.db, databaseId);
    if (signal.aborted || isDatabaseLost(error)) throw error;
    if (!(error instanceof AppError) && attempt < MAX_ATTEMPTS) throw error;
    if (!(error instanceof AppError)) deps.log.error({ err: error, db: databaseId }, "an image could not be built");
    await fail(deps, snapshot, desired, toFailure(error instanceof AppError ? error : unexpected()));
  }
}

async function build(
  deps: ReconcileDeps,
  snapshot: DatabaseSnapshot,
  desired: ObservedDatabase,
  signal: AbortSignal,
): Promise<ImageFacts> {
  const { id, org_id: orgId } = snapshot.row;
  await using lines = await openOperationLines(deps, currentOperation(snapshot)?.id);
  const image = { org_id: orgId, database_id: id, hash: desired.environment ?? "", tree: desired.tree };
  const add = (line: string) => lines.add("info", line);
  return await makeImage(deps, { ...image, is_forced: isRebuildRequested(snapshot, desired) }, add, signal);
}

async function succeed(
  { db, log }: ReconcileDeps,
  snapshot: DatabaseSnapshot,
  desired: ObservedDatabase,
  built: ImageFacts,
): Promise<void> {
  const { id, org_id: orgId } = snapshot.row;
  await db.transaction().execute(async (tx) => {
    await recordBuiltImage(tx, { org_id: orgId, hash: desired.environment ?? "" }, built);
    if (!(await isUnchanged(DATABASES, tx, snapshot))) return;
    const lastBuild = buildOf(snapshot, "succeeded", null);
    await tx.updateTable("control.databases").set({ last_build: lastBuild }).where("id", "=", id).execute();
    await enqueueReconcileDatabase(tx, id);
  });
  log.info({ db: id, image: desired.environment, packages: built.packages.length, bytes: built.bytes }, "image built");
}

/** A running database keeps its image. One that never ran fails. */
async function fail(
  deps: ReconcileDeps,
  snapshot: DatabaseSnapshot,
  desired: ObservedDatabase,
  met: OperationError,
): Promise<void> {
  const { org_id: orgId, state } = snapshot.row;
  const error = adviseBuild(nameDatabase(met, snapshot.uri), snapshot);
  deps.log.info({ db: snapshot.row.id, image: desired.environment, code: error.code }, "an image was not built");
  await applyChange(DATABASES, deps, snapshot, {
    event: state === "STARTING" ? "start_failed" : "build_failed",
    end: { state: "failed", error },
    set: {
      last_build: buildOf(snapshot, "failed", error),
      ...(state === "UPDATING" ? {} : { failure: JSON.stringify(error) }),
    },
    also: (tx) => recordFailedBuild(tx, { org_id: orgId, hash: desired.environment ?? "" }),
  });
}

/** Ends every hint with the command to retry. A database that never ran accepts no update. */
function adviseBuild(error: OperationError, { row, uri }: DatabaseSnapshot): OperationError {
  const { hint } = error;
  const [again, update] = [`cli db build-image ${uri}`, `cli db update ${uri}`];
  if (hint === null) return { ...error, hint: `Correct it and build again: ${again}` };
  if (hint.includes(again)) return error;
  if (hint.includes(update)) return row.state === "UPDATING" ? error : { ...error, hint: hint.replace(update, again) };
  return { ...error, hint: `${hint.replace(/\.$/, "")}; then build again: ${again}` };
}

function buildOf(
  snapshot: DatabaseSnapshot,
  state: "running" | "succeeded" | "failed",
  error: OperationError | null,
): string {
  return JSON.stringify({
    state,
    error,
    operation_id: currentOperation(snapshot)?.id ?? null,
    at: new Date().toISOString(),
  });
}
