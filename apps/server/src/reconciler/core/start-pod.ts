import { setTimeout as sleep } from "node:timers/promises";
import { appError } from "@appdb/contract/errors";
import { describeExit } from "@appdb/pods/driver/loss-policy";
import type { PodDriver, PodSpec, PodStatus } from "@appdb/pods/driver/pod-driver";
import { BY_SYSTEM } from "../../audit/event.ts";
import type { Tx } from "../../database/pool.ts";
import { logOf } from "../../pods/service-paths.ts";
import { keepMemoryEnd, type PodToKeep, upsertPodRow } from "./pod-rows.ts";
import type { ReconcileDeps } from "./reconcile-deps.ts";
import type { Snapshot } from "./resource.ts";

const POLL_MS = 10;
/** The driver is asked less often than the pod: to tell the memory of a pod it looks at every process of the machine. */
const INSPECT_MS = 500;

/** Starts a pod and records it. A running pod keeps its environment. */
export async function startPod(
  { db, machine }: Pick<ReconcileDeps, "db" | "machine">,
  { database_id: databaseId, kind }: Pick<PodToKeep, "kind"> & { readonly database_id: string },
  spec: PodSpec,
  signal: AbortSignal,
): Promise<void> {
  const before = await machine.driver.inspect(spec.id);
  if (before?.state === "running") return;
  const { started_at: startedAt } = await machine.driver.ensure(spec, signal);
  // the watch over the pods does not store the end of one that was silent before
  await keepMemoryEnd(db, spec.id, before?.exit, before?.started_at);
  const reason = before === undefined ? null : `started again: ${describeExit(before.exit)}`;
  await upsertPodRow(db, databaseId, { id: spec.id, kind, state: "STARTING", started_at: startedAt, reason });
}

export interface ReadyPolicy {
  /** `The database's pod` */
  readonly pod: string;
  /** `answer` or `serve` */
  readonly verb: string;
  /** Until its first answer, and between answers. */
  readonly silent_ms: number;
  readonly starting_ms: number;
  /** The text for a pod that ran out of memory. */
  memory(memoryMb: number): string;
  readonly hints: { readonly memory: string; readonly ended: string; readonly silent: string };
  /** So many lines of its log are read. */
  readonly last_lines: number;
  /** The end of its log with an introduction, or empty if it wrote nothing. */
  tellLast(lines: readonly string[]): string;
}

/**
 * Waits until a pod is ready. Returns its status.
 * @throws pod_failed with the last lines of its log if it ends early or is silent for too long
 */
export async function waitReady(
  { driver }: Pick<ReconcileDeps["machine"], "driver">,
  spec: PodSpec,
  policy: ReadyPolicy,
  ask: () => Promise<{ readonly state: string } | undefined>,
  signal: AbortSignal,
): Promise<PodStatus> {
  const startedAt = performance.now();
  let inspected = startedAt - INSPECT_MS;
  let status: PodStatus | undefined;
  for (let heard = startedAt; ; ) {
    signal.throwIfAborted();
    if (performance.now() - inspected >= INSPECT_MS) {
      inspected = performance.now();
      status = await driver.inspect(spec.id);
      if (status?.state !== "running") throw await toEndedError(driver, spec, policy, status);
    }
    const health = await ask();
    if (health?.state === "ready" && status !== undefined) return status;
    if (health !== undefined) heard = performance.now();
    const waitedMs = performance.now() - startedAt;
    if (performance.now() - heard > policy.silent_ms || waitedMs > policy.starting_ms) {
      throw appError("pod_failed", {
        detail: `${policy.pod} runs and does not ${policy.verb} after ${Math.round(waitedMs / 1_000)} s.${await readLastOutput(driver, spec, policy, status)}`,
        hint: policy.hints.silent,
      });
    }
    await sleep(POLL_MS, undefined, { signal });
  }
}

type ReadsLog = Pick<PodDriver, "lastLines">;

async function toEndedError(
  driver: ReadsLog,
  spec: PodSpec,
  policy: ReadyPolicy,
  status: PodStatus | undefined,
): Promise<Error> {
  const { exit = null } = status ?? {};
  const isOutOfMemory = exit?.is_out_of_memory === true;
  const reason = isOutOfMemory ? policy.memory(spec.limits.memory_mb) : describeExit(exit);
  return appError("pod_failed", {
    detail: `${policy.pod} did not start: ${reason}.${await readLastOutput(driver, spec, policy, status)}`,
    hint: isOutOfMemory ? policy.hints.memory : policy.hints.ended,
    meta: { code: exit?.code ?? null, signal: exit?.signal ?? null, is_out_of_memory: isOutOfMemory },
  });
}

async function readLastOutput(
  driver: ReadsLog,
  { id, labels }: PodSpec,
  policy: ReadyPolicy,
  status: PodStatus | undefined,
): Promise<string> {
  const log = logOf({ id, database_id: labels.database_id });
  return policy.tellLast(await driver.lastLines(log, new Date(status?.started_at ?? 0), policy.last_lines));
}

/** Records that a resource recovered from a loss, without an operation. */
export async function recordRecovery(
  { recordEvent }: Pick<ReconcileDeps, "recordEvent">,
  tx: Tx,
  kind: PodToKeep["kind"],
  { open, row, uri }: Snapshot,
): Promise<void> {
  if (open.length > 0) return;
  await recordEvent(tx, {
    action: `${kind}.recover`,
    target: uri,
    org_id: row.org_id,
    ...BY_SYSTEM,
    outcome: "succeeded",
  });
}
