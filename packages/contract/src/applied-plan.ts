import type { ServicePlan, ServicePlanItem } from "./plan.ts";

/** The state of a service after a plan was applied. */
export type AppliedService = Pick<ServicePlanItem, "state" | "endpoint">;

/**
 * A plan of services after it was applied: changes are marked as done, and the services have the file's state. `find`
 * returns the current state of a service; undefined for a removed one, whose plan stays unchanged.
 */
export function describeApplied(
  plan: ServicePlan,
  find: (item: ServicePlanItem) => AppliedService | undefined,
): ServicePlan {
  const services = plan.services.map((item): ServicePlanItem => {
    const now = find(item);
    if (now === undefined) return item;
    const { endpoint, state } = now;
    const status = item.resolution === "up_to_date" ? "skipped" : "applied";
    return { ...item, exists: true, state, endpoint, status, ops: item.ops.map((op) => ({ ...op, status })) };
  });
  const status = services.some((item) => item.status === "applied") ? "applied" : "skipped";
  return { ...plan, services, status, in_agreement: true };
}
