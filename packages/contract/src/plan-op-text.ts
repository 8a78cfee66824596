import type { PlanOp } from "./plan.ts";

const SIGNS = { add: "+", drop: "-", alter: "~" } as const satisfies Record<PlanOp["op"], string>;

const SEVERITIES = {
  additive: "safe",
  destructive: "DESTRUCTIVE",
  unsupported: "UNSUPPORTED",
  blocked: "BLOCKED",
} as const satisfies Record<PlanOp["severity"], string>;

/** One line for one operation of a plan: `+ column 'author' will be added  [safe]`. */
export function describeOp(op: PlanOp): string {
  return `${SIGNS[op.op]} ${op.description}  [${SEVERITIES[op.severity]}]`;
}
