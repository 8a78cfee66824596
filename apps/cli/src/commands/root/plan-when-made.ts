import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "@appdb/contract/errors";
import type { Context } from "../../context.ts";
import { planAgain, type RequestedPlan, requestDatabasePlan } from "../db/request-database-plan.ts";

/** A new organization's first database is created within seconds. A longer wait has another cause. */
const MADE_MS = 60_000;
const LOOK_MS = 500;

/**
 * Plans a database once it is no longer being created, as it is right after `cli org create`. After a minute, returns
 * the plan of the state reached.
 * @throws the errors of `requestDatabasePlan`
 */
export async function planWhenMade(ctx: Context, target: string, verb: string): Promise<RequestedPlan> {
  const until = performance.now() + MADE_MS;
  let planned: RequestedPlan | undefined;
  for (;;) {
    const isLate = performance.now() >= until;
    try {
      planned = planned === undefined ? await requestDatabasePlan(ctx, target, verb) : await planAgain(ctx, planned);
      if (planned.plan.state !== "PROVISIONING" || isLate) break;
    } catch (error) {
      if (!isBeingProvisioned(error) || isLate) throw error;
    }
    ctx.out.status(`waiting: ${target} is being created`);
    await sleep(LOOK_MS, undefined, { signal: ctx.signal });
  }
  ctx.out.status("");
  return planned;
}

/** The server reports this for a `main` that does not exist yet. */
function isBeingProvisioned(error: unknown): boolean {
  return error instanceof AppError && error.code === "database_not_available" && error.meta.state === "PROVISIONING";
}
