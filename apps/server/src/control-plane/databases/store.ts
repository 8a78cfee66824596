import { databaseUriOf } from "@appdb/contract/control/resource-names";
import { appError } from "@appdb/contract/errors";
import type { Database as DatabaseAnswer } from "@appdb/contract/routes/control";
import type { Database, Tx } from "../../database/pool.ts";
import { type PageQuery, readCursor, toPage } from "../../http/pages.ts";

interface OrgOfDatabases {
  readonly id: string;
  readonly name: string;
}

/** The databases of an organization, by name. */
export async function listDatabases(
  db: Database,
  org: OrgOfDatabases,
  page: PageQuery,
): Promise<{ items: DatabaseAnswer[]; next: string | null }> {
  const from = readCursor(page.cursor);
  let query = selectDatabases(db, org)
    .orderBy("name")
    .limit(page.limit + 1);
  if (from !== undefined) query = query.where("name", ">", from.after);
  const rows = await query.execute();
  return toPage(
    rows,
    page.limit,
    (row) => toDatabase(org, row),
    (row) => ({ after: row.name, id: row.id }),
  );
}

/** @throws database_not_found */
export async function findDatabase(db: Database | Tx, org: OrgOfDatabases, name: string): Promise<DatabaseAnswer> {
  const row = await selectDatabases(db, org).where("name", "=", name).executeTakeFirst();
  if (row !== undefined) return toDatabase(org, row);
  throw appError("database_not_found", {
    detail: `${org.name} has no database ${JSON.stringify(name.slice(0, 63))}.`,
    hint: "A new organization gets its database main in a moment; ask again then.",
    meta: { organization: org.name, database: name.slice(0, 63) },
  });
}

function selectDatabases(db: Database | Tx, org: OrgOfDatabases) {
  return db.selectFrom("control.databases").select(["id", "name", "state", "created_at"]).where("org_id", "=", org.id);
}

function toDatabase(
  org: OrgOfDatabases,
  row: Pick<DatabaseAnswer, "id" | "name" | "state"> & { readonly created_at: Date },
): DatabaseAnswer {
  return {
    id: row.id,
    name: row.name,
    uri: databaseUriOf(org.name, row.name),
    organization: org.name,
    state: row.state,
    created_at: row.created_at.toISOString(),
  };
}
