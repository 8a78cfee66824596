import type { Whoami } from "@appdb/contract/routes/control";
import type { Principal } from "../../audit/principal.ts";
import type { ControlDatabase } from "../../database/pool.ts";

/** Describes the credential's owner for the CLI and the dashboard. */
export async function toWhoami(db: ControlDatabase, principal: Principal): Promise<Whoami> {
  return {
    kind: principal.kind,
    email: principal.email,
    name: principal.name,
    user_id: principal.user_id,
    organization: principal.organization,
    organizations: await countOrgs(db, principal),
    key: principal.key === null ? null : { ...principal.key, grants: [...principal.key.grants] },
    expires_at: principal.expires_at?.toISOString() ?? null,
  };
}

/** A key reaches only its own organization. */
async function countOrgs(db: ControlDatabase, principal: Principal): Promise<number> {
  if (principal.key !== null || principal.user_id === null) return principal.organization === null ? 0 : 1;
  const found = await db
    .selectFrom("control.members")
    .select(({ fn }) => fn.countAll<string>().as("count"))
    .where("user_id", "=", principal.user_id)
    .executeTakeFirstOrThrow();
  return Number(found.count);
}
