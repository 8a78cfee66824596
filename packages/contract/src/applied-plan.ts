import type { ServicePlan, ServicePlanItem } from "./plan.ts";

/** Where a service is by now. */
export type AppliedService = Pick<ServicePlanItem, "state" | "endpoint">;

/**
 * A plan of services after it was carried out: what changed is marked, and all that it names is as the file says. `find` answers where
 * each service is by now; undefined for one that is gone already, of which the plan stays as it was.
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
