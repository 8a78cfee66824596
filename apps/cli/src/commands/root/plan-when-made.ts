import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "@appdb/contract/errors";
import type { Context } from "../../context.ts";
import { planAgain, type RequestedPlan, requestDatabasePlan } from "../db/request-database-plan.ts";

/** A new organization's first database is made within seconds; one that takes longer waits for something else. */
const MADE_MS = 60_000;
const LOOK_MS = 500;

/**
 * The plan of a database, once the database is no longer being made: right after `cli org create` it is. After a minute it is the plan as
 * it is then.
 * @throws what `requestDatabasePlan` throws
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
      if (!isBeingMade(error) || isLate) throw error;
    }
    ctx.out.status(`waiting: ${target} is being made`);
    await sleep(LOOK_MS, undefined, { signal: ctx.signal });
  }
  ctx.out.status("");
  return planned;
}

/** The server says so of a `main` of which there is nothing yet. */
function isBeingMade(error: unknown): boolean {
  return error instanceof AppError && error.code === "database_not_available" && error.meta.state === "PROVISIONING";
}
