import type { Role } from "@appdb/contract/permissions";
import type { Org } from "@appdb/contract/routes/control";
import type { Principal } from "../../audit/principal.ts";
import { type PageQuery, readPageCursor, toPage } from "../../database/pages.ts";
import type { ControlDatabase, Tx } from "../../database/pool.ts";
import { suspensionOf } from "../../identity/principal.ts";
import type { CallOrg, FindOrg } from "../../requests/checked-route.ts";
import { etagOf } from "../../requests/etag.ts";

/**
 * Finds an organization by name, with the caller's role. A key reaches only its own organization, with the role of the
 * person that it acts as.
 */
export function createFindOrg(db: ControlDatabase): FindOrg {
  return async (principal, name) => {
    const { organization, user_id: userId, key } = principal;
    if (organization?.name === name && organization.role !== null) return { ...organization, role: organization.role };
    if (userId === null || key !== null) return undefined;
    return await db
      .selectFrom("control.organizations as o")
      .innerJoin("control.members as m", "m.org_id", "o.id")
      .select(["o.id", "o.name", "m.role", suspensionOf("o").as("suspension")])
      .where("o.name", "=", name)
      .where("m.user_id", "=", userId)
      .executeTakeFirst();
  };
}

/** The organizations of the caller, by name. A key has only its own. */
export async function listOrganizations(
  db: ControlDatabase,
  principal: Principal,
  page: PageQuery,
): Promise<{ items: Org[]; next: string | null }> {
  const from = readPageCursor(page.cursor);
  let query = selectOrgs(db)
    .innerJoin("control.members as m", "m.org_id", "o.id")
    .select("m.role")
    .where("m.user_id", "=", principal.user_id)
    .orderBy("o.name")
    .limit(page.limit + 1);
  if (principal.key !== null) query = query.where("o.id", "=", principal.organization?.id ?? null);
  if (from !== undefined) query = query.where("o.name", ">", from.after);
  const rows = await query.execute();
  return toPage(
    rows,
    page.limit,
    (row) => toOrg(row, row.role),
    (row) => ({ after: row.name, id: row.id }),
  );
}

export async function readOrganization(db: ControlDatabase | Tx, org: CallOrg): Promise<Org> {
  return toOrg(await selectOrgs(db).where("o.id", "=", org.id).executeTakeFirstOrThrow(), org.role);
}

interface OrgRow {
  readonly id: string;
  readonly name: string;
  readonly display_name: string;
  readonly database_quota: number;
  readonly version: number;
  readonly created_at: Date;
  readonly databases: string | null;
}

function selectOrgs(db: ControlDatabase | Tx) {
  return db.selectFrom("control.organizations as o").select((eb) => [
    "o.id",
    "o.name",
    "o.display_name",
    "o.database_quota",
    "o.version",
    "o.created_at",
    eb
      .selectFrom("control.databases as d")
      .whereRef("d.org_id", "=", "o.id")
      .select(({ fn }) => fn.countAll<string>().as("count"))
      .as("databases"),
  ]);
}

function toOrg(row: OrgRow, role: Role): Org {
  return {
    id: row.id,
    name: row.name,
    display_name: row.display_name,
    role,
    databases: Number(row.databases ?? 0),
    database_quota: row.database_quota,
    created_at: row.created_at.toISOString(),
    etag: etagOf(row.version),
  };
}
