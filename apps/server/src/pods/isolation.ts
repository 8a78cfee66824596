import { readdirSync } from "node:fs";
import { join } from "node:path";
import { readIfExists } from "@appdb/system/files/read-if-exists";
import { sql } from "kysely";
import { SERVER_PATHS } from "../config/config.ts";
import type { ControlDatabase } from "../database/pool.ts";

/** Folder of the databases' user ids, assigned by drivers that isolate pods as root. Version 0.8.0 had it too. */
const USERS = ".users";

/** Why this home's pods must be isolated. Undefined if one organization may run without isolation. */
export async function isolationReason(db: ControlDatabase, home: string): Promise<string | undefined> {
  const podsHome = await db.selectFrom("control.pods_home").select("isolated_at").executeTakeFirst();
  const users = readIfExists(() => readdirSync(join(home, SERVER_PATHS.pods, USERS))) ?? [];
  if (podsHome?.isolated_at || users.length > 0) return "its pods were isolated before";
  const { count } = await db
    .selectFrom("control.organizations")
    .select(sql<number>`count(*)::int`.as("count"))
    .executeTakeFirstOrThrow();
  return count > 1 ? `it has ${count} organizations` : undefined;
}

/** Records that pods are isolated from now on. */
export async function recordIsolation(db: ControlDatabase): Promise<void> {
  await db.updateTable("control.pods_home").set({ isolated_at: new Date() }).where("isolated_at", "is", null).execute();
}
