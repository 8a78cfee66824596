import { setTimeout as sleep } from "node:timers/promises";
import { describeExit } from "@appdb/adapters/pods/loss-policy";
import type { PodSpec, PodStatus } from "@appdb/adapters/pods/pod-driver";
import { readLastWords } from "@appdb/adapters/pods/pod-log";
import { appError } from "@appdb/contract/errors";
import type { Machine } from "../pods/machine.ts";
import type { PreparedService } from "./prepare-service.ts";

const POLL_MS = 10;
/** Whether its process still runs is asked less often than it itself. */
const LOOK_MS = 100;
/** Imports of an application's libraries take seconds. */
const START_MS = 60_000;
const LAST_LINES = 40;
/** Among which lines of requests are left out: they are those of the instance that serves beside, into the same log. */
const LINES_LOOKED_AT = 2_000;
const OF_REQUESTS = /^request \{/;

/**
 * Waits until an instance of a service serves. Answers how it runs.
 * @throws pod_failed with the last lines of its log when it ends before, or is not ready in time
 */
export async function waitService(
  machine: Machine,
  { door, spec }: PreparedService,
  signal: AbortSignal,
): Promise<PodStatus> {
  const begun = performance.now();
  let looked = begun - LOOK_MS;
  let status: PodStatus | undefined;
  for (;;) {
    signal.throwIfAborted();
    if (performance.now() - looked >= LOOK_MS) {
      looked = performance.now();
      status = await machine.driver.inspect(spec.id);
      if (status?.state !== "running") throw await ended(spec, status);
    }
    const health = await machine.askService(door);
    if (health?.state === "ready" && status !== undefined) return status;
    if (performance.now() - begun > START_MS) throw await late(spec, status);
    await sleep(POLL_MS, undefined, { signal });
  }
}

async function ended(spec: PodSpec, status: PodStatus | undefined): Promise<Error> {
  const { exit = null } = status ?? {};
  const isOutOfMemory = exit?.is_out_of_memory === true;
  const why = isOutOfMemory
    ? `it needed more than the ${spec.limits.memory_mb} MB of memory that its database has`
    : describeExit(exit);
  return appError("pod_failed", {
    detail: `The pod of <service_uri> did not start: ${why}.${await lastLines(spec, status)}`,
    hint: isOutOfMemory
      ? "Give the database more memory_mb in its entry of service.toml, then: cli db update"
      : "Correct what its last lines say, then bring it there: cli deploy <app_file> <target>",
    meta: { code: exit?.code ?? null, signal: exit?.signal ?? null, is_out_of_memory: isOutOfMemory },
  });
}

async function late(spec: PodSpec, status: PodStatus | undefined): Promise<Error> {
  return appError("pod_failed", {
    detail: `The pod of <service_uri> runs and does not serve after ${START_MS / 1_000} s.${await lastLines(spec, status)}`,
    hint: "See its log: cli service logs <service_uri>",
  });
}

/** Nothing when it said nothing. */
async function lastLines({ log_folder: logFolder }: PodSpec, status: PodStatus | undefined): Promise<string> {
  const written = await readLastWords(logFolder, new Date(status?.started_at ?? 0), LINES_LOOKED_AT);
  const words = written.filter((line) => !OF_REQUESTS.test(line)).slice(-LAST_LINES);
  return words.length === 0 ? "" : ` It said last:\n${words.map((line) => `  ${line}`).join("\n")}`;
}
