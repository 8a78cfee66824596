import type { ServicePlan, ServicePlanItem } from "@appdb/contract/plan";
import { describeOp } from "@appdb/contract/plan-op-text";
import type { Output } from "./output.ts";

const SIGNS = {
  up_to_date: "=",
  create: "+",
  update_additive: "~",
  update_destructive: "~",
  blocked: "!",
} as const satisfies Record<ServicePlanItem["resolution"], string>;

/** Prints which services an update would start or restart, and a summary. */
export function printServicePlan(plan: ServicePlan, out: Output): void {
  const width = widest(plan);
  for (const service of plan.services) {
    out.line(`${SIGNS[service.resolution]} ${service.name.padEnd(width)}  ${verdictOf(service)}${addressOf(service)}`);
    for (const op of service.ops) out.line(`    ${describeOp(op)}`);
  }
  for (const op of plan.ops) {
    if (op.severity === "blocked" && op.op === "drop")
      out.line(`= ${(op.name ?? "").padEnd(width)}  ${op.description}`);
    else out.line(`  ${describeOp(op)}`);
  }
  for (const extra of plan.extras) {
    out.line(
      `! ${extra.padEnd(width)}  not defined in ${plan.app_file}; stop it with: cli service prune ${plan.app_file} ${plan.target}`,
    );
  }
  out.line();
  out.line(describeSum(plan));
}

/** Prints the result of an update: `before` has the changes, `after` the current addresses. */
export function printAppliedServices(before: ServicePlan, after: ServicePlan, out: Output): void {
  const width = widest(after);
  for (const service of after.services) {
    const planned = before.services.find((candidate) => candidate.name === service.name);
    out.line(`${doneTo(planned).padEnd(9)}  ${service.name.padEnd(width)}${addressOf(service)}`);
  }
}

function doneTo(planned: ServicePlanItem | undefined): string {
  if (planned === undefined || planned.resolution === "up_to_date") return "unchanged";
  return planned.exists ? "restarted" : "started";
}

function verdictOf(service: ServicePlanItem): string {
  switch (service.resolution) {
    case "up_to_date":
      return "up to date";
    case "create":
      return "will be started";
    case "update_additive":
      return service.requires_restart ? "will be restarted" : "will be updated";
    case "update_destructive":
      return "will be restarted (DESTRUCTIVE)";
    case "blocked":
      return "blocked: the tables must change first";
  }
}

function addressOf(service: ServicePlanItem): string {
  return service.endpoint === null ? "" : `  ${service.endpoint}`;
}

function describeSum(plan: ServicePlan): string {
  const { summary } = plan;
  const parts = [
    `${summary.create} to start`,
    `${summary.update_additive + summary.update_destructive} to restart`,
    `${summary.up_to_date} unchanged`,
    ...(summary.extras > 0 ? [`${summary.extras} not defined`] : []),
    ...(summary.blocked > 0 ? [`${summary.blocked} blocked`] : []),
  ];
  const danger = summary.destructive > 0 ? `  |  ${summary.destructive} DESTRUCTIVE` : "";
  return `${plan.target}: ${plan.in_agreement ? "up to date; " : ""}${parts.join(", ")}${danger}`;
}

function widest(plan: ServicePlan): number {
  return Math.max(
    16,
    ...plan.services.map((service) => service.name.length),
    ...plan.extras.map((extra) => extra.length),
  );
}
