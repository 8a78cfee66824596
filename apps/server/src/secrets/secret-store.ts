import { appError } from "@appdb/contract/errors";
import type { SecretEntry as SecretAnswer } from "@appdb/contract/routes/control";
import type { Secret } from "@appdb/system/secret";
import { sql } from "kysely";
import { type PageQuery, readPageCursor, toPage } from "../database/pages.ts";
import type { ControlDatabase, Tx } from "../database/pool.ts";
import type { Envelope, Owner } from "./envelope.ts";

interface SecretRow {
  readonly name: string;
  readonly database_id: string | null;
  readonly overrides: boolean;
  readonly set_by: string | null;
  readonly updated_at: Date;
}

/** The secrets of an organization. With a database, its own and those of the organization that it does not override. */
export async function listSecrets(
  db: ControlDatabase,
  owner: Owner,
  page: PageQuery,
): Promise<{ items: SecretAnswer[]; next: string | null }> {
  const after = readPageCursor(page.cursor)?.after ?? "";
  const { rows } = await selectEffective(owner, after, page.limit + 1).execute(db);
  return toPage(rows, page.limit, toSecret, (row) => ({ after: row.name, id: "" }));
}

export async function readSecret(tx: Tx, owner: Owner, name: string): Promise<SecretAnswer> {
  const { rows } = await sql<SecretRow>`
    select s.name, s.database_id, s.set_by, s.updated_at,
      s.database_id is not null and exists (
        select from control.secrets o where o.org_id = s.org_id and o.database_id is null and o.name = s.name) as overrides
    from control.secrets s
    where s.org_id = ${owner.org_id} and s.database_id is not distinct from ${owner.database_id} and s.name = ${name}`.execute(
    tx,
  );
  const [row] = rows;
  if (row === undefined) throw secretNotFound(name);
  return toSecret(row);
}

/** The decrypted secrets for the services of a database. */
export async function openSecrets(
  db: ControlDatabase,
  envelope: Envelope,
  owner: Owner,
): Promise<ReadonlyMap<string, Secret>> {
  const rows = await db
    .selectFrom("control.secrets")
    .select(["name", "database_id", "data_key_id", "sealed"])
    .where("org_id", "=", owner.org_id)
    .where((eb) => eb.or([eb("database_id", "is", null), eb("database_id", "=", owner.database_id)]))
    // the database's come last and override
    .orderBy(sql`database_id nulls first`)
    .execute();
  const values = new Map<string, Secret>();
  for (const { name, database_id: databaseId, ...sealed } of rows) {
    values.set(name, await envelope.open(db, { org_id: owner.org_id, database_id: databaseId }, name, sealed));
  }
  return values;
}

export function secretNotFound(name: string): Error {
  const shown = JSON.stringify(name.slice(0, 128));
  return appError("secret_not_found", {
    detail: `There is no secret ${shown} here.`,
    hint: "List the secrets: cli secret list",
    meta: { name: name.slice(0, 128) },
  });
}

function selectEffective(owner: Owner, after: string, limit: number) {
  return sql<SecretRow>`
    select name, database_id, set_by, updated_at,
      database_id is not null and is_twice as overrides
    from (
      select s.*, count(*) over (partition by name) > 1 as is_twice,
        row_number() over (partition by name order by database_id nulls last) as place
      from control.secrets s
      where org_id = ${owner.org_id} and (database_id is null or database_id = ${owner.database_id}::uuid)
    ) found
    where place = 1 and name > ${after}
    order by name limit ${limit}`;
}

function toSecret(row: SecretRow): SecretAnswer {
  return {
    name: row.name,
    scope: row.database_id === null ? "organization" : "database",
    overrides_organization: row.overrides,
    set_by: row.set_by,
    updated_at: row.updated_at.toISOString(),
  };
}
