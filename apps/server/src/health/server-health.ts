import type { Clock, Logger } from "@appdb/engine/ports";
import {
  createProblemLog,
  HEALTH_PROBLEMS,
  type HealthProblem,
  type HealthStatus,
  type SeenProblem,
  statusOf,
} from "./problems.ts";

/** Requests to `/health` within this time share one check, because anyone may send them. */
const FRESH_MS = 1_000;
/** Interval of automatic checks, and so the precision of start times. */
const LOOK_EVERY_MS = 5_000;

/** The current problems of one part of the server. */
export type TellProblems = () => readonly HealthProblem[] | Promise<readonly HealthProblem[]>;

export interface HealthSeen {
  readonly status: HealthStatus;
  readonly problems: readonly SeenProblem[];
}

export interface ServerHealth {
  check(): Promise<HealthSeen>;
}

export interface HealthDeps {
  /** Called at each check. Parts add their own at start. */
  readonly tells: readonly TellProblems[];
  readonly clock: Clock;
  readonly log: Logger;
}

/** Checks the server, and logs when a problem begins or ends. */
export function createHealth({ clock, log, tells }: HealthDeps): ServerHealth {
  const lasting = createProblemLog(clock);
  let lookedAt = Number.NEGATIVE_INFINITY;
  let seen: Promise<HealthSeen> | undefined;
  const lookNow = async (): Promise<HealthSeen> => {
    const found = (await Promise.all(tells.map((tell) => tell()))).flat();
    const { started, ended, problems } = lasting.note(found);
    for (const { code, what } of started) {
      log[HEALTH_PROBLEMS[code] === "failing" ? "error" : "warn"]({ code, what }, "a problem of the server began");
    }
    for (const { code, since } of ended) log.info({ code, since }, "a problem of the server ended");
    return { status: statusOf(found), problems };
  };
  return {
    check() {
      if (seen !== undefined && performance.now() - lookedAt < FRESH_MS) return seen;
      lookedAt = performance.now();
      seen = lookNow();
      return seen;
    },
  };
}

/** Checks at intervals, so that problems are logged and dated without requests. */
export function startHealthChecks(health: ServerHealth, log: Logger): Disposable {
  const look = () => {
    health.check().catch((error: unknown) => log.error({ err: error }, "cannot check the server's health"));
  };
  look();
  const timer = setInterval(look, LOOK_EVERY_MS);
  timer.unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
