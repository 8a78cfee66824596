import { AppError } from "@appdb/contract/errors";
import type { Channel } from "../../database/notifications.ts";
import { errorFields, isDatabaseLost } from "../../database/pool.ts";
import type { OperationError } from "../../operations/run-operation.ts";
import { fromMachineError, toFailure, unexpected } from "./failures.ts";
import type { ReconcileDeps } from "./reconcile-deps.ts";
import { applyChange, currentOperation, type Resource, type Snapshot } from "./resource.ts";

/** Unexpected errors are retried with the job's backoff up to this attempt, then reported. */
const MAX_ATTEMPTS = 4;

/** `moved` loads the next snapshot at once; `later` leaves the resource to another job. */
export type Outcome = "moved" | "later";

export type Handler<S extends Snapshot> = (deps: ReconcileDeps, snapshot: S, signal: AbortSignal) => Promise<Outcome>;

/** What every reconciler handles: a start, another start after a machine failure, an operation with nothing left to do. */
type CommonWork = "run" | "retry" | "settle";

export interface ReconcilerSpec<S extends Snapshot, Event extends string, Work extends string> {
  readonly resource: Resource<S, Event>;
  /** Undefined when observed and desired state agree. */
  chooseWork(snapshot: S): Work | CommonWork | undefined;
  readonly handlers: Readonly<Record<Work | "run", Handler<S>>>;
  failStart(deps: ReconcileDeps, snapshot: S, failure: OperationError, signal: AbortSignal): Promise<Outcome>;
  /** Whether the error of a start means only that another job has to try later. That job is enqueued here. */
  postpone?(deps: ReconcileDeps, snapshot: S, error: unknown): Promise<boolean>;
  onDeleted?(deps: ReconcileDeps, id: string): Promise<void>;
  onIdle?(deps: ReconcileDeps, snapshot: S): Promise<void>;
}

export interface ReconcileInput {
  readonly id: string;
  /** Of the job, from 1. */
  readonly attempt: number;
  /** Aborts when the reconciler stops. */
  readonly signal: AbortSignal;
}

/**
 * Moves a resource towards its desired state until nothing is left to do. Each step starts from a new snapshot, so that the job may run
 * twice, or be killed anywhere and run again. A request that arrives meanwhile takes effect at once.
 */
export function createReconciler<S extends Snapshot, Event extends string, Work extends string>(
  spec: ReconcilerSpec<S, Event, Work>,
): (deps: ReconcileDeps, input: ReconcileInput) => Promise<void> {
  return async (deps, input) => {
    for (;;) {
      input.signal.throwIfAborted();
      const snapshot = await spec.resource.loadSnapshot(deps.db, input.id);
      if (snapshot === undefined) return await spec.onDeleted?.(deps, input.id);
      const work = spec.chooseWork(snapshot);
      if (work === undefined) return await spec.onIdle?.(deps, snapshot);
      if ((await dispatch(spec, deps, snapshot, work, input)) === "later") return;
    }
  };
}

async function dispatch<S extends Snapshot, Event extends string, Work extends string>(
  spec: ReconcilerSpec<S, Event, Work>,
  deps: ReconcileDeps,
  snapshot: S,
  work: Work | CommonWork,
  { attempt, signal }: ReconcileInput,
): Promise<Outcome> {
  const { kind, log_key: logKey } = spec.resource;
  await using watch = await watchSnapshot(spec.resource, deps, snapshot);
  const either = AbortSignal.any([signal, watch.signal]);
  try {
    if (work === "retry") return await retry(spec.resource, deps, snapshot);
    if (work === "settle") return await settle(spec.resource, deps, snapshot);
    return await spec.handlers[work](deps, snapshot, either);
  } catch (error) {
    // the work was stale: its error does not matter
    if (watch.signal.aborted && !signal.aborted) return "moved";
    if (signal.aborted || isDatabaseLost(error) || work !== "run") throw error;
    if ((await spec.postpone?.(deps, snapshot, error)) === true) return "later";
    const known = fromMachineError(error) ?? (error instanceof AppError ? error : undefined);
    if (known !== undefined) return await spec.failStart(deps, snapshot, toFailure(known), either);
    if (attempt < MAX_ATTEMPTS) throw error;
    deps.log.error({ err: error, [logKey]: snapshot.row.id }, `a ${kind} could not be started`);
    return await spec.failStart(deps, snapshot, toFailure(unexpected()), either);
  }
}

/** Starts again after a failure of the machine, which may have recovered. */
async function retry<S extends Snapshot, Event extends string>(
  resource: Resource<S, Event>,
  deps: ReconcileDeps,
  snapshot: S,
): Promise<Outcome> {
  const { failed_starts: failedStarts, id } = snapshot.row;
  deps.log.info({ [resource.log_key]: id, failed_starts: failedStarts }, `starting a failed ${resource.kind} again`);
  await applyChange(resource, deps, snapshot, { event: "retry", set: { retry_at: null } });
  return "moved";
}

/** The resource already is as its operation asks. */
async function settle<S extends Snapshot, Event extends string>(
  resource: Resource<S, Event>,
  deps: ReconcileDeps,
  snapshot: S,
): Promise<Outcome> {
  const { failure, state } = snapshot.row;
  const isFailed = state === "FAILED";
  await applyChange(resource, deps, snapshot, {
    event: isFailed ? "start_failed" : "ready",
    end: isFailed ? { state: "failed", error: failure ?? toFailure(unexpected()) } : { state: "succeeded" },
  });
  return "moved";
}

export interface Watch extends AsyncDisposable {
  /** Aborts when the watched state has changed. */
  readonly signal: AbortSignal;
}

/** Watches during long work whether the resource is still as its snapshot says: another request or a cancellation makes the work stale. */
export async function watchSnapshot<S extends Snapshot, Event extends string>(
  resource: Resource<S, Event>,
  deps: Pick<ReconcileDeps, "db" | "log" | "notifications">,
  snapshot: S,
): Promise<Watch> {
  const { id } = snapshot.row;
  const versionOf = (one: S) =>
    JSON.stringify([one.row.state, one.row.generation, currentOperation(one)?.id, resource.context?.(one)]);
  const version = versionOf(snapshot);
  const isStale = async () => {
    const now = await resource.loadSnapshot(deps.db, id);
    return now === undefined || versionOf(now) !== version;
  };
  return await watchChannels(deps, resource.channels(snapshot), isStale, { [resource.log_key]: id });
}

/** Calls `isStale` after each notification with one of the payloads, and aborts once it returns true. */
export async function watchChannels(
  { log, notifications }: Pick<ReconcileDeps, "log" | "notifications">,
  channels: readonly (readonly [Channel, string | undefined])[],
  isStale: () => Promise<boolean>,
  logFields: Readonly<Record<string, string>>,
): Promise<Watch> {
  const stale = new AbortController();
  const check = async () => {
    if (await isStale()) stale.abort(new Error("Something else is asked for."));
  };
  const stops: (() => void)[] = [];
  for (const [channel, jobNames] of channels) {
    const stop = await notifications.listen(channel, (payload) => {
      if (payload !== undefined && payload !== jobNames) return;
      // the transaction that records the result checks too
      check().catch((error) => log.warn({ ...errorFields(error), ...logFields }, "a change was not checked"));
    });
    stops.push(stop);
  }
  // for changes before the first notification could arrive
  await check();
  return {
    signal: stale.signal,
    async [Symbol.asyncDispose]() {
      for (const stop of stops) stop();
    },
  };
}
