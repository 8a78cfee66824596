import { restartPause } from "@appdb/system/processes/restart-pause";

/** A process that ends within this after it listened has failed to start as much as one that never did. */
const QUICK_MS = 2_000;
const MAX_QUICK_ENDS = 6;

/** Problems that a later try meets as well. */
const PERMANENT =
  /^(schema_|catalog_|app_|manifest_|config_|invalid_|port_taken|python_not_found|service_|environment_)/;
/** Problems of the surroundings, which heal by themselves. */
const PASSING = /^(database_unavailable|commit_unknown|overloaded|disk_full)$/;

/** How a process of a service ended. */
export interface ProcessEnd {
  /** What it said of itself before it ended, or why it could not be started. */
  readonly problem: { readonly code: string; readonly detail: string; readonly hint?: unknown } | undefined;
  /** How long it had listened; undefined when it never did. */
  readonly listened_ms: number | undefined;
  /** True when a signal from outside ended it: a person's, the kernel's. */
  readonly was_killed: boolean;
}

/** Decides after each end whether a service is started again, and how soon. */
export interface RestartPolicy {
  /** Milliseconds to wait before the next start, undefined to give up. */
  next(end: ProcessEnd): number | undefined;
}

/**
 * A service that has run is started again after ever longer pauses, until it ends at once six times in a row; for as long as
 * it takes when its surroundings are to blame, or when it listened and was killed. One that has never run since its person
 * started it fails at once with what it says, or after six tries when that may heal.
 */
export function createRestartPolicy(): RestartPolicy {
  let quickEnds = 0;
  let ownQuickEnds = 0;
  let hasListened = false;
  return {
    next({ listened_ms: listenedMs, problem, was_killed: wasKilled }) {
      hasListened ||= listenedMs !== undefined;
      const isQuick = listenedMs === undefined || listenedMs < QUICK_MS;
      const isItsOwn = !(wasKilled && listenedMs !== undefined);
      quickEnds = isQuick ? quickEnds + 1 : 0;
      ownQuickEnds = isQuick && isItsOwn ? ownQuickEnds + 1 : 0;
      const heals = problem !== undefined && PASSING.test(problem.code);
      if (problem !== undefined && PERMANENT.test(problem.code)) return undefined;
      if (problem !== undefined && !hasListened && !heals) return undefined;
      if (ownQuickEnds >= MAX_QUICK_ENDS && !(heals && hasListened)) return undefined;
      return restartPause(quickEnds);
    },
  };
}
