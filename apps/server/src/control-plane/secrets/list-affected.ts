import { serviceUriOf } from "@appdb/contract/control/resource-names";
import { sql } from "kysely";
import type { Tx } from "../../database/pool.ts";
import type { Owner } from "../../secrets/envelope.ts";

/** Addresses of running services that read the secret, unless their database overrides it. */
export async function listAffected(
  tx: Tx,
  org: string,
  { database_id: databaseId, org_id: orgId }: Owner,
  name: string,
): Promise<string[]> {
  const { rows } = await sql<{ database: string; service: string }>`
    select d.name as database, s.name as service
    from control.services s join control.databases d on d.id = s.database_id
    where s.org_id = ${orgId} and (s.database_id = ${databaseId}::uuid or (${databaseId}::uuid is null and not exists (
        select from control.secrets o where o.database_id = s.database_id and o.name = ${name})))
      and s.observed is not null and (s.desired ->> 'is_running')::boolean and not s.is_pruned
    order by d.name, s.name`.execute(tx);
  return rows.map(({ database, service }) => serviceUriOf(org, database, service));
}
