import { restartPause } from "@appdb/system/processes/restart-pause";

/** A process that ends this soon after it listened counts as a failed start. */
const QUICK_MS = 2_000;
const MAX_QUICK_ENDS = 6;

/** Problems that a retry cannot solve. */
const PERMANENT =
  /^(schema_|catalog_|app_|manifest_|config_|invalid_|port_taken|python_not_found|service_|environment_)/;
/** Temporary problems of the environment. */
const PASSING = /^(database_unavailable|commit_unknown|overloaded|disk_full)$/;

/** How a process of a service ended. */
export interface ProcessEnd {
  /** The problem that it reported before it ended, or why it could not be started. */
  readonly problem: { readonly code: string; readonly detail: string; readonly hint?: unknown } | undefined;
  /** How long it listened; undefined when it never did. */
  readonly listened_ms: number | undefined;
  /** Whether an outside signal ended it, from a person or the kernel. */
  readonly was_killed: boolean;
}

/** Decides after each end whether and when a service is restarted. */
export interface RestartPolicy {
  /** Milliseconds until the next start; undefined to give up. */
  next(end: ProcessEnd): number | undefined;
}

/**
 * A service that has run is restarted with increasing pauses until it ends immediately six times in a row. There is no
 * limit when the environment is at fault, or when it had listened and was killed. A service that never ran since its
 * start fails immediately with its problem, or after six tries for a temporary one.
 */
export function createRestartPolicy(): RestartPolicy {
  let earlyExits = 0;
  let ownQuickEnds = 0;
  let hasListened = false;
  return {
    next({ listened_ms: listenedMs, problem, was_killed: wasKilled }) {
      hasListened ||= listenedMs !== undefined;
      const isQuick = listenedMs === undefined || listenedMs < QUICK_MS;
      const isItsOwn = !(wasKilled && listenedMs !== undefined);
      earlyExits = isQuick ? earlyExits + 1 : 0;
      ownQuickEnds = isQuick && isItsOwn ? ownQuickEnds + 1 : 0;
      const heals = problem !== undefined && PASSING.test(problem.code);
      if (problem !== undefined && PERMANENT.test(problem.code)) return undefined;
      if (problem !== undefined && !hasListened && !heals) return undefined;
      if (ownQuickEnds >= MAX_QUICK_ENDS && !(heals && hasListened)) return undefined;
      return restartPause(earlyExits);
    },
  };
}
