import { appError } from "@appdb/contract/errors";
import type { ServicePlan } from "@appdb/contract/plan";

/** Refuses to start services on tables that differ from their file. @throws schema_mismatch */
export function refuseBlocked(plan: ServicePlan): void {
  if (plan.summary.blocked === 0) return;
  const command = `cli schema update ${plan.app_file} ${plan.target}`;
  const tables = plan.services.flatMap((item) => item.ops).flatMap((one) => one.details.tables ?? []);
  throw appError("schema_mismatch", {
    detail: `The tables of ${plan.target} differ from those that ${plan.app_file} declares: ${[...new Set(tables)].join(", ")}.`,
    hint: command,
    meta: { target: plan.target, tables: [...new Set(tables)] },
  });
}

/** Refuses changes that break clients of the services, unless allowed. @throws destructive_refused */
export function refuseDestructive(plan: ServicePlan, allowDestructive: boolean): void {
  if (plan.summary.destructive === 0 || allowDestructive) return;
  const ops = plan.services.flatMap((item) => item.ops).filter((one) => one.destructive);
  throw appError("destructive_refused", {
    detail: `Clients of the running services would break: ${ops.map((op) => op.description).join("; ")}.`,
    hint: `cli service update ${plan.app_file} ${plan.target} --allow-destructive`,
    meta: { operations: ops.map((op) => op.description) },
  });
}
