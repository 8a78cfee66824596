import type { Clock } from "@appdb/engine/ports";

/** The effect of a problem on `/health`: status 503, `degraded`, or a note that only the operator sees. */
export type ProblemSeverity = "failing" | "degraded" | "notice";

/** All problems of `/health` and `/metrics`. Codes are permanent. docs/operators.md explains them. */
export const HEALTH_PROBLEMS = {
  /** No service is reachable. */
  gateway_down: "failing",
  /** The control plane answers no requests. */
  postgres_down: "failing",
  /** Organizations cannot write. */
  disk_full: "failing",
  /** The home was removed, or its disk fails. */
  home_unreadable: "failing",
  /** Databases are not managed: the home's id is not theirs. */
  home_unknown: "failing",
  disk_low: "degraded",
  /** Databases or services failed because of the machine. */
  machine_failures: "degraded",
  certificate_ended: "degraded",
  pods_run_as_root: "degraded",
  /** Files of media columns cannot be read or stored. */
  media_bucket_failed: "degraded",
  /** A new host has no certificate until the authority answers. */
  certificate_missing: "notice",
  /** The operator chose the driver `process`. */
  pods_not_isolated: "notice",
} as const satisfies Record<string, ProblemSeverity>;

export type ProblemCode = keyof typeof HEALTH_PROBLEMS;
export const PROBLEM_CODES = Object.keys(HEALTH_PROBLEMS) as [ProblemCode, ...ProblemCode[]];

/** A problem for the operator, without names of tenants. */
export interface HealthProblem {
  readonly code: ProblemCode;
  readonly what: string;
}

export interface SeenProblem extends HealthProblem {
  /** ISO time of the first check that found it. */
  readonly since: string;
}

export type HealthStatus = "ok" | "degraded" | "failing";

/** The status of a server with these problems. */
export function statusOf(problems: readonly HealthProblem[]): HealthStatus {
  const severities = new Set<ProblemSeverity>(problems.map(({ code }) => HEALTH_PROBLEMS[code]));
  if (severities.has("failing")) return "failing";
  return severities.has("degraded") ? "degraded" : "ok";
}

/** The HTTP status of `/health`: load balancers skip a failing server. */
export function healthCode(status: HealthStatus): 200 | 503 {
  return status === "failing" ? 503 : 200;
}

export interface ProblemLog {
  /** Records a check's problems. Returns them with start times, and which began or ended since the last check. */
  note(found: readonly HealthProblem[]): {
    readonly problems: readonly SeenProblem[];
    readonly started: readonly SeenProblem[];
    readonly ended: readonly SeenProblem[];
  };
}

/** Keeps the start time of each problem by its code, because its text may change. */
export function createProblemLog(clock: Clock): ProblemLog {
  let lasting = new Map<ProblemCode, SeenProblem>();
  return {
    note(found) {
      const now = new Date(clock.now()).toISOString();
      const problems = found.map((problem) => ({ ...problem, since: lasting.get(problem.code)?.since ?? now }));
      const next = new Map(problems.map((problem) => [problem.code, problem]));
      const started = [...next.values()].filter(({ code }) => !lasting.has(code));
      const ended = [...lasting.values()].filter(({ code }) => !next.has(code));
      lasting = next;
      return { problems, started, ended };
    },
  };
}
