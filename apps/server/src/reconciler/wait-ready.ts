import { setTimeout as sleep } from "node:timers/promises";
import { describeExit } from "@appdb/adapters/pods/loss-policy";
import type { PodSpec, PodStatus } from "@appdb/adapters/pods/pod-driver";
import { readLastWords } from "@appdb/adapters/pods/pod-log";
import type { Secret } from "@appdb/adapters/secret";
import { appError } from "@appdb/contract/errors";
import type { Machine } from "../pods/machine.ts";

const POLL_MS = 10;
/** Whether its process still runs is asked less often than it itself. */
const LOOK_MS = 100;
/** Until it says a first word. */
const SILENT_MS = 20_000;
/** PostgreSQL that was cut off reads through all that it had not written yet; a large one is copied before it is upgraded. */
const STARTING_MS = 3_600_000;
const LAST_WORDS = 5;

export interface StartedPod {
  readonly spec: PodSpec;
  readonly token: Secret;
  readonly socket: string;
}

/**
 * Waits until a pod answers that its database does. Answers how it runs.
 * @throws pod_failed with the last lines of its log when it ends before, or is silent for too long
 */
export async function waitReady(machine: Machine, pod: StartedPod, signal: AbortSignal): Promise<PodStatus> {
  const { driver } = machine;
  const begun = performance.now();
  let looked = begun - LOOK_MS;
  let status: PodStatus | undefined;
  for (let heard = begun; ; ) {
    signal.throwIfAborted();
    if (performance.now() - looked >= LOOK_MS) {
      looked = performance.now();
      status = await driver.inspect(pod.spec.id);
      if (status?.state !== "running") throw await ended(pod, status);
    }
    const health = await machine.askHealth(pod.socket, pod.token);
    if (health?.state === "ready" && status !== undefined) return status;
    if (health !== undefined) heard = performance.now();
    if (performance.now() - heard > SILENT_MS || performance.now() - begun > STARTING_MS) {
      throw await silent(pod, status, performance.now() - begun);
    }
    await sleep(POLL_MS, undefined, { signal });
  }
}

async function ended(pod: StartedPod, status: PodStatus | undefined): Promise<Error> {
  const { exit = null } = status ?? {};
  const isOutOfMemory = exit?.is_out_of_memory === true;
  const { memory_mb: memoryMb } = pod.spec.limits;
  return appError("pod_failed", {
    detail: `The database's pod did not start: ${isOutOfMemory ? `it needed more than its ${memoryMb} MB of memory` : describeExit(exit)}.${await lastWords(pod, status)}`,
    hint: isOutOfMemory
      ? "Give it more memory_mb in its entry of service.toml, then: cli db build-image <db_uri>"
      : "See its log: cli db logs <db_uri>   then try again: cli db retry <db_uri>",
    meta: { code: exit?.code ?? null, signal: exit?.signal ?? null, is_out_of_memory: isOutOfMemory },
  });
}

async function silent(pod: StartedPod, status: PodStatus | undefined, ms: number): Promise<Error> {
  return appError("pod_failed", {
    detail: `The database's pod runs and does not answer after ${Math.round(ms / 1000)} s.${await lastWords(pod, status)}`,
    hint: "See its log: cli db logs <db_uri>   then try again: cli db retry <db_uri>",
  });
}

/** ` It said last: ...`, or nothing when it said nothing. */
async function lastWords({ spec }: StartedPod, status: PodStatus | undefined): Promise<string> {
  const words = await readLastWords(spec.log_folder, new Date(status?.started_at ?? 0), LAST_WORDS);
  return words.length === 0 ? "" : ` It said last: ${words.join(" | ")}`;
}
