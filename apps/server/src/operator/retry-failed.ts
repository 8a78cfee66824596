import { databaseUriOf, serviceUriOf } from "@appdb/contract/control/resource-names";
import type { OperatorAnswer } from "@appdb/contract/operator";
import { sql } from "kysely";
import { doneBy, type RecordEvent } from "../audit/event.ts";
import type { ServerConfig } from "../config/config.ts";
import { requestChange } from "../control-plane/databases/request-change.ts";
import { operatorOf } from "../control-plane/organizations/operator-caller.ts";
import { requestService } from "../control-plane/services/request-service.ts";
import type { ControlDatabase } from "../database/pool.ts";

export interface RetryDeps {
  readonly db: ControlDatabase;
  readonly recordEvent: RecordEvent;
  readonly config: ServerConfig;
}

interface Failed {
  readonly org_id: string;
  readonly org: string;
  readonly database: string;
  readonly service: string | null;
  readonly service_id: string | null;
  readonly is_up: boolean;
}

/**
 * Restarts FAILED databases and services of one organization or of all, except suspended ones. A service of a stopped
 * database starts once the database runs.
 */
export async function retryFailed(deps: RetryDeps, org: string | undefined): Promise<OperatorAnswer<"retry">> {
  const tried = { databases: [] as string[], services: [] as string[] };
  for (const failed of await findFailed(deps.db, org)) {
    // one transaction each: a database that changed meanwhile does not stop the others
    await deps.db.transaction().execute(async (tx) => {
      const caller = operatorOf({ id: failed.org_id, name: failed.org });
      const write = { tx, recordEvent: deps.recordEvent };
      if (failed.service === null) {
        await requestChange(write, caller, failed.database, "retry");
        tried.databases.push(databaseUriOf(failed.org, failed.database));
        return;
      }
      const uri = serviceUriOf(failed.org, failed.database, failed.service);
      tried.services.push(uri);
      if (failed.is_up) {
        const target = { database: failed.database, name: failed.service };
        await requestService({ ...write, config: deps.config }, caller, target, "retry");
        return;
      }
      await tx
        .updateTable("control.services")
        .set({ retry_at: sql<Date>`now()` })
        .where("id", "=", failed.service_id)
        .execute();
      await deps.recordEvent(tx, { action: "service.retry", target: uri, ...doneBy(caller) });
    });
  }
  return tried;
}

/** Services first: those of a database that is retried here do not run yet. */
async function findFailed(db: ControlDatabase, org: string | undefined): Promise<Failed[]> {
  const { rows } = await sql<Failed>`
    select o.id as org_id, o.name as org, d.name as database, s.name as service, s.id as service_id,
        d.state = 'AVAILABLE' as is_up
      from control.services s join control.databases d on d.id = s.database_id join control.organizations o on o.id = d.org_id
      where s.state = 'FAILED' and not s.is_pruned and o.suspended_at is null and ${ofOrg(org)}
    union all
    select o.id, o.name, d.name, null, null, false
      from control.databases d join control.organizations o on o.id = d.org_id
      where d.state = 'FAILED' and o.suspended_at is null and ${ofOrg(org)}`.execute(db);
  return rows;
}

function ofOrg(org: string | undefined) {
  return org === undefined ? sql`true` : sql`o.name = ${org}`;
}
