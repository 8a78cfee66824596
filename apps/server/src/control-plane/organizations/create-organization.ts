import { refuseDeviceName } from "@appdb/contract/device-names";
import { appError } from "@appdb/contract/errors";
import { parseName } from "@appdb/contract/names";
import type { Org, orgCreateSchema } from "@appdb/contract/routes/control";
import { sql } from "kysely";
import type * as z from "zod";
import type { RecordEvent } from "../../audit/event.ts";
import type { CallClient } from "../../audit/principal.ts";
import type { Tx } from "../../database/pool.ts";
import type { Person } from "../../identity/person.ts";
import { switchOrg } from "../../identity/tokens/session-orgs.ts";
import { enqueueProvisionMain } from "../../queue/jobs.ts";
import { readOrganization } from "./organizations-store.ts";

/**
 * Limits the organizations that a person may create. The server's first account belongs to its operator and has no
 * limit. Serializes a person's requests until the transaction ends.
 * @throws organization_quota
 */
async function refuseManyOrganizations(tx: Tx, userId: string, max: number): Promise<void> {
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

export interface CreateOrganizationDeps {
  readonly tx: Tx;
  readonly recordEvent: RecordEvent;
  readonly database_quota: number;
  readonly orgs_per_person: number;
  /** @throws disk_full: the organization also gets a database */
  requireDiskSpace(): Promise<void>;
  /** Whether the pod driver isolates organizations. Undefined if this server does not know. */
  readonly isolates: boolean | undefined;
}

/**
 * Creates an organization owned by the person, and switches the session to it. The reconciler creates its database
 * `main`.
 * @throws invalid_name, organization_taken, organization_quota, disk_full, pods_one_organization
 */
export async function createOrganization(
  deps: CreateOrganizationDeps,
  owner: Person,
  input: z.output<typeof orgCreateSchema>,
  client: CallClient,
): Promise<Org> {
  const { tx } = deps;
  const name = parseName("organization", input.name);
  refuseDeviceName("organization", name);
  const displayName = input.display_name ?? name;
  await refuseManyOrganizations(tx, owner.user_id, deps.orgs_per_person);
  await deps.requireDiskSpace();
  const created = await tx
    .insertInto("control.organizations")
    .values({ name, display_name: displayName, database_quota: deps.database_quota, created_by: owner.user_id })
    .onConflict((conflict) => conflict.column("name").doNothing())
    .returning("id")
    .executeTakeFirst();
  if (created === undefined) throw nameTaken(name);
  if (deps.isolates === false) await refuseSecond(tx, created.id);
  await tx
    .insertInto("control.members")
    .values({ org_id: created.id, user_id: owner.user_id, role: "owner" })
    .execute();
  await switchOrg(tx, owner.session_id, created.id);
  await enqueueProvisionMain(tx, created.id);
  await deps.recordEvent(tx, {
    action: "org.create",
    target: name,
    org_id: created.id,
    actor: owner.email,
    principal: owner,
    ...client,
    outcome: "succeeded",
    detail: { display_name: displayName },
  });
  return await readOrganization(tx, { id: created.id, name, role: "owner" });
}

/** Plain processes do not isolate organizations. Serializes requests. @throws pods_one_organization */
async function refuseSecond(tx: Tx, id: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended('control.organizations', 0))`.execute(tx);
  const other = await tx
    .selectFrom("control.organizations")
    .select("id")
    .where("id", "!=", id)
    .limit(1)
    .executeTakeFirst();
  if (other === undefined) return;
  throw appError("pods_one_organization", {
    detail:
      "This server runs pods as plain processes, which do not isolate organizations. It can serve only one, which exists.",
    hint: "Ask its operator for SERVICE_PODS=sandbox, or run another server.",
  });
}

function nameTaken(name: string): Error {
  return appError("organization_taken", {
    detail: `The name ${name} is taken: names of organizations are unique on a server.`,
    hint: "Choose another name, or ask a member of that organization for an invitation.",
    meta: { name },
  });
}
