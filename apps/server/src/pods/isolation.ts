import { readdirSync } from "node:fs";
import { join } from "node:path";
import { readIfExists } from "@appdb/system/files/read-if-exists";
import { sql } from "kysely";
import { SERVER_PATHS } from "../config/config.ts";
import type { ControlDatabase } from "../database/pool.ts";

/** User ids of databases, which drivers that isolate pods give under root; of a home of version 0.8.0 too. */
const USERS = ".users";

/** Why pods of this home must be isolated from each other; undefined when one organization had it without. */
export async function whyIsolated(db: ControlDatabase, home: string): Promise<string | undefined> {
  const podsHome = await db.selectFrom("control.pods_home").select("isolated_at").executeTakeFirst();
  const users = readIfExists(() => readdirSync(join(home, SERVER_PATHS.pods, USERS))) ?? [];
  if (podsHome?.isolated_at || users.length > 0) return "its pods were isolated before";
  const { count } = await db
    .selectFrom("control.organizations")
    .select(sql<number>`count(*)::int`.as("count"))
    .executeTakeFirstOrThrow();
  return count > 1 ? `it has ${count} organizations` : undefined;
}

/** Writes down that pods are isolated from now on. */
export async function keepIsolated(db: ControlDatabase): Promise<void> {
  await db.updateTable("control.pods_home").set({ isolated_at: new Date() }).where("isolated_at", "is", null).execute();
}
