import { setTimeout as sleep } from "node:timers/promises";
import type { Tx } from "../../database/pool.ts";
import type { OperationError } from "../../operations/run-operation.ts";
import type { Outcome } from "./create-reconciler.ts";
import { retryAfter, secondsFromNow } from "./failures.ts";
import type { ReconcileDeps, ReconcileStep, ServiceStep } from "./reconcile-deps.ts";
import { applyChange, countFailedStart, type Resource, type ResourceColumns, type Snapshot } from "./resource.ts";

/** Pauses in seconds by the number of failed starts. Without a waiting caller they grow: the machine may recover. */
const PAUSES_S = { waited_for: [0.2, 0.5, 1, 2], alone: [0.2, 1, 3, 10, 30, 60, 120] } as const;
/** Shorter pauses are waited for inside the job, because workers poll for due jobs only at intervals. */
const SHORT_S = 2;
/** Codes of failures that the next start would meet too. */
const PERMANENT =
  /^(pods_.*|config_.*|catalog_too_new|upgrade_failed|postgres_unsupported|python_not_found|environment_failed|blobs_missing|image_missing|master_key_wrong|operation_cancelled|internal_error)$/;

export interface StartPolicy<S extends Snapshot> {
  /** Failed starts after which a caller who waits gets the failure. */
  readonly max_tries: number;
  readonly ended_step: ReconcileStep | ServiceStep;
  /** Ends the operation without another start, if the resource serves as before without it. */
  fallBack?(deps: ReconcileDeps, snapshot: S, failure: OperationError): Promise<Outcome | undefined>;
  /** Ends what the failed start left. */
  endStart(deps: ReconcileDeps, snapshot: S): Promise<void>;
  /** Ends all pods before the resource is FAILED. */
  endPods(deps: ReconcileDeps, snapshot: S): Promise<void>;
  /** Columns of a resource that is FAILED. */
  failedColumns(snapshot: S): ResourceColumns;
  onFailed(tx: Tx, deps: ReconcileDeps, snapshot: S, reason: string): Promise<void>;
}

/** Handles a failed start: starts again after a pause, or gives up after too many failures or one that is permanent. */
export async function failStart<S extends Snapshot, Event extends string>(
  resource: Resource<S, Event>,
  policy: StartPolicy<S>,
  deps: ReconcileDeps,
  snapshot: S,
  error: OperationError,
  signal: AbortSignal,
): Promise<Outcome> {
  const failure = resource.nameFailure(error, snapshot.uri);
  const { id } = snapshot.row;
  const { code, detail } = failure;
  const fallback = await policy.fallBack?.(deps, snapshot, failure);
  if (fallback !== undefined) return fallback;
  const failedStarts = await countFailedStart(resource, deps, snapshot, failure);
  if (failedStarts === undefined) return "moved";
  const pauseS = findPause(policy, failedStarts, code, snapshot.open.length > 0);
  if (pauseS === undefined) return await abandonStart(resource, policy, deps, snapshot, failure, failedStarts);
  await policy.endStart(deps, snapshot);
  deps.log.warn({ [resource.log_key]: id, failed_starts: failedStarts, code, detail }, "a pod did not start");
  if (pauseS > SHORT_S) {
    await resource.enqueue(deps.db, id, pauseS);
    return "later";
  }
  await sleep(pauseS * 1_000, undefined, { signal });
  return "moved";
}

/** Seconds before the next start; undefined to give up. */
function findPause(
  { max_tries: maxTries }: Pick<StartPolicy<never>, "max_tries">,
  failedStarts: number,
  code: string,
  isWaitedFor: boolean,
): number | undefined {
  if (PERMANENT.test(code)) return undefined;
  if (!isWaitedFor) return PAUSES_S.alone[failedStarts - 1];
  return failedStarts >= maxTries ? undefined : PAUSES_S.waited_for[failedStarts - 1];
}

async function abandonStart<S extends Snapshot, Event extends string>(
  resource: Resource<S, Event>,
  policy: StartPolicy<S>,
  deps: ReconcileDeps,
  snapshot: S,
  failure: OperationError,
  failedStarts: number,
): Promise<Outcome> {
  const { code, detail } = failure;
  const retryS = retryAfter(resource.kind, code, failedStarts);
  const fields = { [resource.log_key]: snapshot.row.id, code, detail, retry_s: retryS };
  deps.log.error(fields, `a ${resource.kind} has failed`);
  await policy.endPods(deps, snapshot);
  await applyChange(resource, deps, snapshot, {
    event: "start_failed",
    end: { state: "failed", error: failure },
    set: { ...policy.failedColumns(snapshot), failure: JSON.stringify(failure), retry_at: secondsFromNow(retryS) },
    also: (tx) => policy.onFailed(tx, deps, snapshot, detail),
  });
  await deps.reconcileStepDone?.(policy.ended_step);
  return "moved";
}
