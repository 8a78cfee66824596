import { databaseUriOf } from "@appdb/contract/control/resource-names";
import type { Logger } from "@appdb/engine/ports";
import { sql } from "kysely";
import type { RecordEvent } from "../control-plane/events/event.ts";
import { beginOperation, endOperation, startOperation } from "../control-plane/operations/run-operation.ts";
import type { Database } from "../database/pool.ts";
import { enqueueJob } from "./jobs.ts";

const MAIN = "main";
const KIND = "database.provision";

export const PROVISION_STEPS = ["declared", "begun", "ended"] as const;
export type ProvisionStep = (typeof PROVISION_STEPS)[number];

export interface ProvisionMainDeps {
  readonly db: Database;
  readonly log: Logger;
  readonly recordEvent: RecordEvent;
  /** Called between steps, so that a test can kill the process there. */
  readonly stepDone?: ((step: ProvisionStep) => Promise<void>) | undefined;
}

/**
 * Makes `main` of an organization that lacks it. Each step is a transaction that looks at what is there, so that the job may
 * run twice, or be killed anywhere and run again. The database stays PROVISIONING: what runs it takes over from there.
 */
export async function provisionMain(deps: ProvisionMainDeps, org_id: string): Promise<void> {
  const { db } = deps;
  await declareMain(deps, org_id);
  await deps.stepDone?.("declared");
  const operation = await findOpen(db, org_id);
  if (operation === undefined) return;
  if (!(await db.transaction().execute((tx) => beginOperation(tx, operation.id)))) return;
  await deps.stepDone?.("begun");
  await db
    .transaction()
    .execute((tx) => endOperation({ tx, recordEvent: deps.recordEvent }, operation.id, { state: "succeeded" }));
  await deps.stepDone?.("ended");
}

/** Adds a job for every organization that lacks `main` and may have one more database. */
export async function findMissingMains(db: Database): Promise<number> {
  const { rows } = await sql<{ id: string }>`
    select o.id from control.organizations o
    where not exists (select from control.databases d where d.org_id = o.id and d.name = ${MAIN})
      and o.database_quota > (select count(*) from control.databases d where d.org_id = o.id)
    union
    select org_id from control.operations where kind = ${KIND} and state in ('pending', 'running')`.execute(db);
  for (const { id } of rows) await enqueueProvisionMain(db, id);
  return rows.length;
}

export async function enqueueProvisionMain(db: Parameters<typeof enqueueJob>[0], org_id: string): Promise<void> {
  await enqueueJob(db, "provision-main", { org_id }, { job_key: `provision-main ${org_id}` });
}

/** The row, and the operation that works at it: there are both or none. */
async function declareMain({ db, log, recordEvent }: ProvisionMainDeps, org_id: string): Promise<void> {
  await db.transaction().execute(async (tx) => {
    const org = await tx
      .selectFrom("control.organizations")
      .select(["id", "name", "database_quota"])
      .where("id", "=", org_id)
      // whoever makes another database of the organization waits: the quota is of both
      .forUpdate()
      .executeTakeFirst();
    if (org === undefined) return;
    const databases = await tx.selectFrom("control.databases").select("name").where("org_id", "=", org_id).execute();
    if (databases.some(({ name }) => name === MAIN)) return;
    if (databases.length >= org.database_quota) {
      log.warn({ org: org_id, quota: org.database_quota }, "an organization lacks main and has no room for it");
      return;
    }
    const { id } = await tx
      .insertInto("control.databases")
      .values({ org_id, name: MAIN })
      .returning("id")
      .executeTakeFirstOrThrow();
    await startOperation(
      { tx, recordEvent },
      {
        org_id,
        database_id: id,
        kind: KIND,
        target: databaseUriOf(org.name, MAIN),
        is_cancellable: false,
        actor: "system",
        principal: undefined,
        ip_address: null,
        client: null,
      },
    );
  });
}

async function findOpen(db: Database, org_id: string) {
  return await db
    .selectFrom("control.operations as p")
    .innerJoin("control.databases as d", "d.id", "p.database_id")
    .select("p.id")
    .where("p.org_id", "=", org_id)
    .where("p.kind", "=", KIND)
    .where("d.name", "=", MAIN)
    .where("p.state", "in", ["pending", "running"])
    .executeTakeFirst();
}
