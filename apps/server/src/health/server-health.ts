import type { Clock, Logger } from "@appdb/engine/ports";
import {
  createProblemLog,
  HEALTH_PROBLEMS,
  type HealthProblem,
  type HealthStatus,
  type SeenProblem,
  statusOf,
} from "./problems.ts";

/** Callers of `/health` within this share one look: strangers may ask as often as they like. */
const FRESH_MS = 1_000;
/** Between two looks that nobody asks for: since when a problem lasts is known that well. */
const LOOK_EVERY_MS = 5_000;

/** Problems of one part of the server, just now. */
export type TellProblems = () => readonly HealthProblem[] | Promise<readonly HealthProblem[]>;

export interface HealthSeen {
  readonly status: HealthStatus;
  readonly problems: readonly SeenProblem[];
}

export interface ServerHealth {
  look(): Promise<HealthSeen>;
}

export interface HealthDeps {
  /** Asked at every look; parts add theirs when they start. */
  readonly tells: readonly TellProblems[];
  readonly clock: Clock;
  readonly log: Logger;
}

/** Looks how the server is, and logs each problem when it begins and when it ends. */
export function createHealth({ clock, log, tells }: HealthDeps): ServerHealth {
  const lasting = createProblemLog(clock);
  let lookedAt = Number.NEGATIVE_INFINITY;
  let seen: Promise<HealthSeen> | undefined;
  const lookNow = async (): Promise<HealthSeen> => {
    const found = (await Promise.all(tells.map((tell) => tell()))).flat();
    const { begun, ended, problems } = lasting.note(found);
    for (const { code, what } of begun) {
      log[HEALTH_PROBLEMS[code] === "failing" ? "error" : "warn"]({ code, what }, "a problem of the server began");
    }
    for (const { code, since } of ended) log.info({ code, since }, "a problem of the server ended");
    return { status: statusOf(found), problems };
  };
  return {
    look() {
      if (seen !== undefined && performance.now() - lookedAt < FRESH_MS) return seen;
      lookedAt = performance.now();
      seen = lookNow();
      return seen;
    },
  };
}

/** Looks every few seconds, so that problems are logged and dated although nobody asks. */
export function keepLooking(health: ServerHealth, log: Logger): Disposable {
  const look = () => {
    health.look().catch((error: unknown) => log.error({ err: error }, "the server's health cannot be told"));
  };
  look();
  const timer = setInterval(look, LOOK_EVERY_MS);
  timer.unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
