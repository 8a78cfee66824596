import { appError } from "@appdb/contract/errors";
import { sql } from "kysely";
import type { Tx } from "../../database/pool.ts";

/**
 * Limits the organizations that a person may create. The server's first account belongs to its operator and has no
 * limit. Serializes a person's requests until the transaction ends.
 * @throws organization_quota
 */
export async function refuseManyOrganizations(tx: Tx, userId: string, max: number): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended('control.organizations of ' || ${userId}::text, 0))`.execute(
    tx,
  );
  const { rows } = await sql<{ made: number; is_operator: boolean }>`
    select (select count(*)::int from control.organizations o where o.created_by = ${userId}
        or (o.created_by is null and exists (
          select from control.members m where m.org_id = o.id and m.user_id = ${userId} and m.role = 'owner'))) as made,
      ${userId} = (select id from identity.users order by created_at, id limit 1) as is_operator`.execute(tx);
  const [found] = rows;
  if (found === undefined || found.is_operator || found.made < max) return;
  throw appError("organization_quota", {
    detail: `You have created ${found.made} organizations. The maximum per person is ${max} (SERVICE_ORGS_PER_PERSON of the server).`,
    hint: "Have a member of an existing organization invite you, or ask the operator of the server for more.",
    meta: { made: found.made, most: max },
  });
}
