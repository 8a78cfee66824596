import type { Clock } from "@appdb/engine/ports";

/** What a problem does to `/health`: 503, `degraded`, or a line that only the operator reads. */
export type ProblemSeverity = "failing" | "degraded" | "notice";

/** Every problem that `/health` and `/metrics` name. Codes are permanent; docs/operators.md lists them. */
export const HEALTH_PROBLEMS = {
  /** No service is served. */
  gateway_down: "failing",
  /** The control plane answers no request. */
  postgres_down: "failing",
  /** Organizations write nothing more. */
  disk_full: "failing",
  /** The home was removed, or its disk fails. */
  home_unreadable: "failing",
  /** Databases are left alone: the home's id is not the one that they belong to. */
  home_unknown: "failing",
  disk_low: "degraded",
  /** Databases or services that failed because of the machine. */
  machine_failures: "degraded",
  certificate_ended: "degraded",
  pods_run_as_root: "degraded",
  /** A new host has none until the authority answers. */
  certificate_missing: "notice",
  /** What the driver `process` is, where somebody chose it. */
  pods_not_isolated: "notice",
} as const satisfies Record<string, ProblemSeverity>;

export type ProblemCode = keyof typeof HEALTH_PROBLEMS;
export const PROBLEM_CODES = Object.keys(HEALTH_PROBLEMS) as [ProblemCode, ...ProblemCode[]];

/** What an operator has to see to, without a name of a tenant. */
export interface HealthProblem {
  readonly code: ProblemCode;
  readonly what: string;
}

export interface SeenProblem extends HealthProblem {
  /** ISO time of the first look that found it. */
  readonly since: string;
}

export type HealthStatus = "ok" | "degraded" | "failing";

/** How a server with these problems is. */
export function statusOf(problems: readonly HealthProblem[]): HealthStatus {
  const severities = new Set<ProblemSeverity>(problems.map(({ code }) => HEALTH_PROBLEMS[code]));
  if (severities.has("failing")) return "failing";
  return severities.has("degraded") ? "degraded" : "ok";
}

/** The status of `/health`: whoever balances load sends nothing to a server that is failing. */
export function healthCode(status: HealthStatus): 200 | 503 {
  return status === "failing" ? 503 : 200;
}

export interface ProblemLog {
  /** Takes down what a look found: since when each problem lasts, and which have begun or ended since the look before. */
  note(found: readonly HealthProblem[]): {
    readonly problems: readonly SeenProblem[];
    readonly begun: readonly SeenProblem[];
    readonly ended: readonly SeenProblem[];
  };
}

/** Remembers since when each problem lasts, by its code: what it says may change meanwhile. */
export function createProblemLog(clock: Clock): ProblemLog {
  let lasting = new Map<ProblemCode, SeenProblem>();
  return {
    note(found) {
      const now = new Date(clock.now()).toISOString();
      const problems = found.map((problem) => ({ ...problem, since: lasting.get(problem.code)?.since ?? now }));
      const next = new Map(problems.map((problem) => [problem.code, problem]));
      const begun = [...next.values()].filter(({ code }) => !lasting.has(code));
      const ended = [...lasting.values()].filter(({ code }) => !next.has(code));
      lasting = next;
      return { problems, begun, ended };
    },
  };
}
