import { setTimeout as sleep } from "node:timers/promises";
import type { Clock, Logger } from "@appdb/engine/ports";
import { describeExit, isKill, judgeLoss, type LossHistory, NO_LOSSES } from "./loss-policy.ts";
import type { PodDriver, PodExit, PodLog, PodStatus } from "./pod-driver.ts";

const LOOK_MS = 250;
const PROBE_MS = 2_000;
const PROBE_TIMEOUT_MS = 5_000;
/**
 * A running pod that does not answer for this long is lost, though it may recover. After the second time it is ended.
 */
const LOST_MS = 4_000;
const SILENT_MS = 30_000;
const STOP_GRACE_MS = 5_000;
const PROBES_AT_ONCE = 8;
const LAST_LINES = 5;
/** Lines older than this say nothing about the end of a pod that was watched. */
const RECENT_MS = 60_000;
const FAILED_LOOK_MS = 2_000;

/** Event of a pod. */
export type PodEvent =
  /** It answers that it is ready. Repeated after each start of the keeper. */
  | { readonly event: "ready"; readonly database_id: string; readonly pod_id: string }
  /**
   * It was ready and no longer is. `is_running`: its process still runs and may recover; otherwise restart it after
   * `pause_ms`.
   */
  | {
      readonly event: "lost";
      readonly database_id: string;
      readonly pod_id: string;
      readonly reason: string;
      readonly is_running: boolean;
      readonly pause_ms: number;
      /** Whether the probe ended it, because the next one replaces it. */
      readonly is_replaced: boolean;
      readonly exit: PodExit | null;
    }
  /** It crashed too often. A person must look at it. */
  | {
      readonly event: "failed";
      readonly database_id: string;
      readonly pod_id: string;
      /** Includes the last lines that it wrote. */
      readonly reason: string;
      readonly exit: PodExit | null;
    };

export type ProbeAnswer = "ready" | "starting" | "silent" | "replaced";

export interface WatchPodsDeps {
  readonly driver: Pick<PodDriver, "lastLines" | "list" | "stop">;
  readonly clock: Clock;
  readonly log: Logger;
  /**
   * Asks a pod for its health. `silent` when it does not answer; rejections count as that. `replaced` when the probe
   * ended it, because it has another version. The signal is the timeout.
   */
  probe(pod: PodStatus, signal: AbortSignal): Promise<ProbeAnswer>;
  /**
   * Whether the pod is expected to answer now, so that its end is a loss. False while it is being stopped, changed or
   * started. Called when a ready pod ends or is silent.
   */
  isWanted(pod: PodStatus): Promise<boolean>;
  logOf(pod: PodStatus): PodLog;
  /** Interval of checks for ended pods in ms; defaults to 250. */
  readonly look_ms?: number;
}

/** The keeper's state of one start of a pod. */
interface Watched {
  readonly started_at: string;
  state: "starting" | "ready" | "lost" | "over";
  ready_at: number | undefined;
  /** Start of the current silence. */
  silent_since: number | undefined;
  answer: ProbeAnswer | undefined;
  is_replaced: boolean;
  /** Infinite while a probe is running. */
  next_probe_at: number;
  is_being_ended: boolean;
  /** It was logged that its desired state could not be read. */
  is_unknown: boolean;
}

/**
 * Watches all pods of a driver until the signal and yields their events: an end within a second, silence after a few.
 * It starts nothing; callers call `ensure` after `lost`. The next keeper repeats current states and starts counting
 * losses at zero.
 */
export async function* watchPods(deps: WatchPodsDeps, signal: AbortSignal): AsyncGenerator<PodEvent, void, void> {
  const watched = new Map<string, Watched>();
  const histories = new Map<string, LossHistory>();
  const lookMs = deps.look_ms ?? LOOK_MS;
  let probes = 0;

  async function probe(pod: Watched, status: PodStatus): Promise<void> {
    probes += 1;
    pod.next_probe_at = Number.POSITIVE_INFINITY;
    try {
      pod.answer = await deps.probe(status, AbortSignal.any([signal, AbortSignal.timeout(PROBE_TIMEOUT_MS)]));
      pod.is_replaced ||= pod.answer === "replaced";
    } catch {
      // any failure of the probe counts as silence
      pod.answer = "silent";
    } finally {
      probes -= 1;
      pod.next_probe_at = deps.clock.now() + (pod.state === "ready" && pod.answer === "ready" ? PROBE_MS : lookMs);
    }
  }

  for (;;) {
    const statuses = await listPods(deps, signal);
    if (signal.aborted) return;
    const known = new Set(statuses.map(({ id }) => id));
    for (const map of [watched, histories]) for (const id of map.keys()) if (!known.has(id)) map.delete(id);
    for (const status of statuses) {
      let pod = watched.get(status.id);
      if (pod?.started_at !== status.started_at) {
        pod = begin(status.started_at);
        watched.set(status.id, pod);
      }
      const event =
        status.state === "exited" ? await handleEnd(deps, pod, status, histories) : handleAnswer(deps, pod, status);
      if (event !== undefined) yield event;
      if (signal.aborted) return;
      if (status.state === "running" && probes < PROBES_AT_ONCE && deps.clock.now() >= pod.next_probe_at) {
        void probe(pod, status);
      }
    }
    await sleep(lookMs, undefined, { signal }).catch(() => undefined);
  }
}

function begin(startedAt: string): Watched {
  return {
    started_at: startedAt,
    state: "starting",
    ready_at: undefined,
    silent_since: undefined,
    answer: undefined,
    is_replaced: false,
    next_probe_at: 0,
    is_being_ended: false,
    is_unknown: false,
  };
}

async function listPods({ driver, log }: WatchPodsDeps, signal: AbortSignal): Promise<PodStatus[]> {
  while (!signal.aborted) {
    try {
      return await driver.list({});
    } catch (error) {
      log.error({ err: error }, "listing the pods failed");
      await sleep(FAILED_LOOK_MS, undefined, { signal }).catch(() => undefined);
    }
  }
  return [];
}

/** Evaluates the last answer of a running pod. Undefined when nothing changed. */
function handleAnswer(deps: WatchPodsDeps, pod: Watched, status: PodStatus): PodEvent | undefined {
  const { answer } = pod;
  if (answer === undefined) return undefined;
  pod.answer = undefined;
  // its end is reported next
  if (answer === "replaced") return undefined;
  const now = deps.clock.now();
  const who = { database_id: status.labels.database_id, pod_id: status.id };
  pod.silent_since = answer === "silent" ? (pod.silent_since ?? now) : undefined;
  if (answer === "ready") {
    if (pod.state === "ready") return undefined;
    pod.state = "ready";
    pod.ready_at ??= now;
    return { event: "ready", ...who };
  }
  // until its first ready answer, the code that started it waits for it
  if (pod.ready_at === undefined) return undefined;
  const silentMs = now - (pod.silent_since ?? now);
  if (silentMs >= SILENT_MS && !pod.is_being_ended) endUnresponsive(deps, pod, status);
  if (pod.state !== "ready" || (answer === "silent" && silentMs < LOST_MS)) return undefined;
  pod.state = "lost";
  const reason = answer === "silent" ? "it does not answer" : "its PostgreSQL does not answer";
  deps.log.warn({ pod: status.id, reason }, "a pod was lost");
  return { event: "lost", ...who, reason, is_running: true, is_replaced: false, pause_ms: 0, exit: null };
}

function endUnresponsive({ driver, log }: WatchPodsDeps, pod: Watched, { id }: PodStatus): void {
  pod.is_being_ended = true;
  log.warn({ pod: id, silent_ms: SILENT_MS }, "an unresponsive pod is ended");
  driver.stop(id, STOP_GRACE_MS).catch((error) => {
    log.error({ err: error, pod: id }, "an unresponsive pod could not be ended");
    pod.is_being_ended = false;
  });
}

/** Evaluates the end of a pod. Undefined when it was reported before, or when the pod is not expected to answer. */
async function handleEnd(
  deps: WatchPodsDeps,
  pod: Watched,
  status: PodStatus,
  histories: Map<string, LossHistory>,
): Promise<PodEvent | undefined> {
  if (pod.state === "over") return undefined;
  const { database_id: databaseId } = status.labels;
  let isWanted: boolean;
  try {
    isWanted = await deps.isWanted(status);
  } catch (error) {
    // checked again in the next round
    if (!pod.is_unknown)
      deps.log.error({ err: error, pod: status.id }, "a pod ended, and its desired state is unknown");
    pod.is_unknown = true;
    return undefined;
  }
  pod.state = "over";
  if (!isWanted) return undefined;
  if (pod.is_replaced) {
    const reason = "it had another version";
    const lost = { database_id: databaseId, pod_id: status.id, reason, exit: status.exit };
    return { event: "lost", ...lost, is_running: false, is_replaced: true, pause_ms: 0 };
  }
  const exit = status.exit ?? { code: null, signal: null, is_out_of_memory: false, exceeded: null };
  const at = deps.clock.now();
  const judged = judgeLoss(histories.get(status.id) ?? NO_LOSSES, { at, ready_ms: at - (pod.ready_at ?? at), exit });
  histories.set(status.id, judged.history);
  const reason = [describeExit(status.exit), ...(await findLastWords(deps, pod, status))].join(" | ");
  const who = { database_id: databaseId, pod_id: status.id, reason, exit: status.exit };
  if (judged.pause_ms === undefined) {
    deps.log.error({ pod: status.id, reason }, "a pod ended too often and is given up");
    return { event: "failed", ...who };
  }
  deps.log.warn({ pod: status.id, reason, pause_ms: judged.pause_ms }, "a pod was lost");
  return { event: "lost", ...who, is_running: false, is_replaced: false, pause_ms: judged.pause_ms };
}

/** The lines that may say why a pod ended. A pod that was killed, or lacked memory, had no time to say it. */
async function findLastWords(
  { clock, driver, logOf }: WatchPodsDeps,
  pod: Watched,
  status: PodStatus,
): Promise<string[]> {
  if (isKill(status.exit) || status.exit?.is_out_of_memory === true) return [];
  const startedAt = Date.parse(status.started_at);
  const since = pod.ready_at === undefined ? startedAt : Math.max(startedAt, clock.now() - RECENT_MS);
  return await driver.lastLines(logOf(status), new Date(since), LAST_LINES);
}
