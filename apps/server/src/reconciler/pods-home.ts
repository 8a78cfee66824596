import { randomUUID } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Logger } from "@appdb/engine/ports";
import { writePrivateFile } from "@appdb/system/processes/private-files";
import { SERVER_PATHS } from "../config/config.ts";
import type { ControlDatabase } from "../database/pool.ts";

/**
 * Claims the control plane's pods for this home. They run on one machine. Returns false and logs it if another home has
 * them; this reconciler must then leave databases alone.
 */
export async function claimPodsHome(
  { db, log }: { readonly db: ControlDatabase; readonly log: Logger },
  home: string,
): Promise<boolean> {
  const ownId = openHomeId(home);
  await db
    .insertInto("control.pods_home")
    .values({ home_id: ownId })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  const { home_id: homeId, claimed_at: claimedAt } = await db
    .selectFrom("control.pods_home")
    .select(["home_id", "claimed_at"])
    .executeTakeFirstOrThrow();
  if (homeId === ownId) return true;
  log.error(
    { home, home_id: ownId, other_home_id: homeId, claimed_at: claimedAt },
    "this reconciler leaves databases alone: their pods belong to another home, on the machine that first started them",
  );
  return false;
}

/** Reads or creates the home's permanent id. A copy of the home has the same id. */
function openHomeId(home: string): string {
  const path = join(home, SERVER_PATHS.homeId);
  if (existsSync(path)) return readFileSync(path, "utf8").trim();
  const homeId = randomUUID();
  writePrivateFile(path, `${homeId}\n`);
  return homeId;
}
