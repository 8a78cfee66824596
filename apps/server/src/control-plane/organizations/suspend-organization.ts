import { nextDatabaseState } from "@appdb/contract/control/database-states";
import { databaseUriOf } from "@appdb/contract/control/resource-names";
import { appError } from "@appdb/contract/errors";
import type { OperatorAnswer } from "@appdb/contract/operator";
import { sql } from "kysely";
import { doneBy, type RecordEvent } from "../../audit/event.ts";
import type { ControlDatabase, Tx } from "../../database/pool.ts";
import type { DatabaseRow } from "../databases/databases-store.ts";
import { writeChange } from "../databases/write-change.ts";
import { lockOrganization, type OperatorTx, operatorOf } from "./operator-caller.ts";

interface Org {
  readonly id: string;
  readonly name: string;
}

/**
 * Refuses the organization's requests and stops its databases. A database with a running creation or update stops after
 * it (`stopSuspended`). The data stay.
 * @throws organization_not_found
 */
export async function suspendOrganization(
  write: OperatorTx,
  name: string,
  reason: string | undefined,
): Promise<OperatorAnswer<"suspend">> {
  const { tx, recordEvent } = write;
  const org = await lockOrganization(tx, name);
  await tx
    .updateTable("control.organizations")
    .set({ suspended_at: org.suspended_at ?? sql<Date>`now()`, suspended_for: reason ?? null })
    .where("id", "=", org.id)
    .execute();
  const done = await stopAll(write, org);
  await notifyGateways(tx, org.id);
  await recordEvent(tx, {
    action: "org.suspend",
    target: org.name,
    ...doneBy(operatorOf(org)),
    detail: { reason: reason ?? null, databases: done.stopped.length },
  });
  return { organization: org.name, ...done };
}

/** Ends a suspension and starts the databases that it stopped. @throws organization_not_found, organization_state */
export async function resumeOrganization(write: OperatorTx, name: string): Promise<OperatorAnswer<"resume">> {
  const { tx, recordEvent } = write;
  const org = await lockOrganization(tx, name);
  if (org.suspended_at === null) {
    throw appError("organization_state", {
      detail: `The organization ${org.name} is not suspended.`,
      hint: "List the organizations: cli server orgs",
    });
  }
  await tx
    .updateTable("control.organizations")
    .set({ suspended_at: null, suspended_for: null })
    .where("id", "=", org.id)
    .execute();
  const started: string[] = [];
  for (const row of await lockDatabases(tx, org)) {
    if (!row.stopped_by_suspension) continue;
    const state = nextDatabaseState(row.state, "start");
    if (state === undefined) continue;
    const desired = { ...row.desired, is_awake: true };
    await writeChange(write, operatorOf(org), row, { kind: "database.start", state, desired });
    started.push(databaseUriOf(org.name, row.name));
  }
  await tx
    .updateTable("control.databases")
    .set({ stopped_by_suspension: false })
    .where("org_id", "=", org.id)
    .execute();
  await notifyGateways(tx, org.id);
  await recordEvent(tx, {
    action: "org.resume",
    target: org.name,
    ...doneBy(operatorOf(org)),
    detail: { databases: started.length },
  });
  return { organization: org.name, started };
}

/** Stops the remaining running databases of suspended organizations. Returns their number. */
export async function stopSuspended(db: ControlDatabase, recordEvent: RecordEvent): Promise<number> {
  const { rows } = await sql<Org>`select o.id, o.name from control.organizations o
    where o.suspended_at is not null and exists (
      select from control.databases d where d.org_id = o.id and d.state in ('AVAILABLE', 'STARTING', 'FAILED'))`.execute(
    db,
  );
  let count = 0;
  for (const org of rows) {
    const { stopped } = await db.transaction().execute((tx) => stopAll({ tx, recordEvent }, org));
    count += stopped.length;
  }
  return count;
}

async function stopAll(write: OperatorTx, org: Org): Promise<{ stopped: string[]; later: string[] }> {
  const stopped: string[] = [];
  const later: string[] = [];
  for (const row of await lockDatabases(write.tx, org)) {
    if (["STOPPED", "STOPPING", "DELETING"].includes(row.state)) continue;
    const uri = databaseUriOf(org.name, row.name);
    const state = nextDatabaseState(row.state, "stop");
    if (state === undefined) {
      later.push(uri);
      continue;
    }
    const desired = { ...row.desired, is_awake: false };
    await writeChange(write, operatorOf(org), row, { kind: "database.stop", state, desired });
    await write.tx
      .updateTable("control.databases")
      .set({ stopped_by_suspension: true })
      .where("id", "=", row.id)
      .execute();
    stopped.push(uri);
  }
  return { stopped, later };
}

async function lockDatabases(tx: Tx, org: Org): Promise<DatabaseRow[]> {
  return await tx
    .selectFrom("control.databases")
    .selectAll()
    .where("org_id", "=", org.id)
    .orderBy("name")
    .forUpdate()
    .execute();
}

/** Makes gateways read these databases' routes again. Sleeping ones change nothing else. */
async function notifyGateways(tx: Tx, orgId: string): Promise<void> {
  await sql`select pg_notify('control_service_routes', id::text) from control.databases where org_id = ${orgId}`.execute(
    tx,
  );
}
