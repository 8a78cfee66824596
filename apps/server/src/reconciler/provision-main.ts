import { databaseUriOf } from "@appdb/contract/control/resource-names";
import type { Logger } from "@appdb/engine/ports";
import { sql } from "kysely";
import { BY_SYSTEM, type RecordEvent } from "../audit/event.ts";
import type { ControlDatabase } from "../database/pool.ts";
import { startOperation } from "../operations/run-operation.ts";
import { enqueueProvisionMain, enqueueReconcileDatabase } from "../queue/jobs.ts";

const MAIN = "main";
const KIND = "database.provision";

export interface ProvisionMainDeps {
  readonly db: ControlDatabase;
  readonly log: Logger;
  readonly recordEvent: RecordEvent;
}

/** Adds a job for every organization that lacks `main` and has room for it. */
export async function findMissingMains(db: ControlDatabase): Promise<number> {
  const { rows } = await sql<{ id: string }>`
    select o.id from control.organizations o
    where not exists (select from control.databases d where d.org_id = o.id and d.name = ${MAIN})
      and o.database_quota > (select count(*) from control.databases d where d.org_id = o.id)`.execute(db);
  for (const { id } of rows) await enqueueProvisionMain(db, id);
  return rows.length;
}

/**
 * Creates `main` of an organization that lacks it: row, operation and job in one transaction. Safe to run concurrently.
 */
export async function provisionMain({ db, log, recordEvent }: ProvisionMainDeps, orgId: string): Promise<void> {
  await db.transaction().execute(async (tx) => {
    const org = await tx
      .selectFrom("control.organizations")
      .select(["id", "name", "database_quota"])
      .where("id", "=", orgId)
      // serializes with other new databases of the organization, because they share a quota
      .forUpdate()
      .executeTakeFirst();
    if (org === undefined) return;
    const databases = await tx.selectFrom("control.databases").select("name").where("org_id", "=", orgId).execute();
    if (databases.some(({ name }) => name === MAIN)) return;
    if (databases.length >= org.database_quota) {
      log.warn({ org: orgId, quota: org.database_quota }, "an organization has no main and no room for it");
      return;
    }
    const { id } = await tx
      .insertInto("control.databases")
      .values({ org_id: orgId, name: MAIN })
      .returning("id")
      .executeTakeFirstOrThrow();
    await startOperation(
      { tx, recordEvent },
      {
        org_id: orgId,
        database_id: id,
        kind: KIND,
        target: databaseUriOf(org.name, MAIN),
        is_cancellable: false,
        ...BY_SYSTEM,
      },
    );
    await enqueueReconcileDatabase(tx, id);
  });
}
