import { databaseUriOf } from "@appdb/contract/control/resource-names";
import { appError } from "@appdb/contract/errors";
import type { Database as DatabaseAnswer } from "@appdb/contract/routes/control-databases";
import type { Selectable } from "kysely";
import { sql } from "kysely";
import type { DatabaseTables } from "../../database/database-tables.ts";
import { type PageQuery, readPageCursor, toPage } from "../../database/pages.ts";
import type { ControlDatabase, Tx } from "../../database/pool.ts";

export interface OrgOfDatabases {
  readonly id: string;
  readonly name: string;
}

/** The database that each organization has and cannot delete. */
export const PROTECTED_DATABASE = "main";

export type DatabaseRow = Selectable<DatabaseTables["control.databases"]>;

/** The databases of an organization, by name. */
export async function listDatabases(
  db: ControlDatabase,
  org: OrgOfDatabases,
  page: PageQuery,
): Promise<{ items: DatabaseAnswer[]; next: string | null }> {
  const from = readPageCursor(page.cursor);
  let query = selectDatabases(db, org)
    .orderBy("d.name")
    .limit(page.limit + 1);
  if (from !== undefined) query = query.where("d.name", ">", from.after);
  const rows = await query.execute();
  return toPage(
    rows,
    page.limit,
    (row) => toDatabase(org, row),
    (row) => ({ after: row.name, id: row.id }),
  );
}

/** @throws database_not_found */
export async function findDatabase(
  db: ControlDatabase | Tx,
  org: OrgOfDatabases,
  name: string,
): Promise<DatabaseAnswer> {
  const row = await selectDatabases(db, org).where("d.name", "=", name).executeTakeFirst();
  if (row !== undefined) return toDatabase(org, row);
  throw databaseNotFound(org, name);
}

/** The database's row, or undefined. */
export async function findRow(db: ControlDatabase | Tx, orgId: string, name: string): Promise<DatabaseRow | undefined> {
  return await selectRow(db, orgId, name).executeTakeFirst();
}

/** The database's row, locked until the transaction ends, or undefined. */
export async function lockDatabase(tx: Tx, orgId: string, name: string): Promise<DatabaseRow | undefined> {
  return await selectRow(tx, orgId, name).forUpdate().executeTakeFirst();
}

function selectRow(db: ControlDatabase | Tx, orgId: string, name: string) {
  return db.selectFrom("control.databases").selectAll().where("org_id", "=", orgId).where("name", "=", name);
}

export function databaseNotFound(org: OrgOfDatabases, name: string): Error {
  return appError("database_not_found", {
    detail: `${org.name} has no database ${JSON.stringify(name.slice(0, 63))}.`,
    hint:
      name === PROTECTED_DATABASE
        ? "A new organization gets its database main in a moment. Try again then."
        : `Create it: cli db update ${databaseUriOf(org.name, name.slice(0, 63))}`,
    meta: { organization: org.name, database: name.slice(0, 63) },
  });
}

/** Selects all fields of an answer in one statement. */
function selectDatabases(db: ControlDatabase | Tx, org: OrgOfDatabases) {
  return db
    .selectFrom("control.databases as d")
    .leftJoin("control.trees as t", (join) =>
      join.onRef("t.org_id", "=", "d.org_id").on(sql<boolean>`t.digest = d.observed ->> 'tree'`),
    )
    .leftJoin("control.images as i", (join) =>
      join.onRef("i.org_id", "=", "d.org_id").on(sql<boolean>`i.hash = d.observed ->> 'environment'`),
    )
    .selectAll("d")
    .select([
      "t.digest as tree_digest",
      "t.files as tree_files",
      "t.bytes as tree_bytes",
      "t.created_at as tree_created_at",
      "i.hash as image_hash",
      "i.python as image_python",
      "i.bytes as image_bytes",
      "i.built_at as image_built_at",
      sql<DatabaseAnswer["image"]["source"]>`i.environment ->> 'source'`.as("image_source"),
      sql<number | null>`jsonb_array_length(i.packages)`.as("image_packages"),
      sql<DatabaseAnswer["pods"]>`(
        select coalesce(jsonb_agg(${podAnswer()} order by p.kind, p.id), '[]')
        from control.pods p where p.database_id = d.id)`.as("pods"),
      sql<DatabaseAnswer["operation"]>`(
        select jsonb_build_object('id', o.id, 'kind', o.kind) from control.operations o
        where o.database_id = d.id and o.service_id is null and o.state in ('pending', 'running') order by o.id desc limit 1)`.as(
        "operation",
      ),
    ])
    .where("d.org_id", "=", org.id);
}

/** A pod of the row `p`. */
export function podAnswer() {
  const text = (time: "memory_ended_at" | "started_at") =>
    sql`to_char(${sql.ref(`p.${time}`)} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
  return sql`jsonb_build_object('id', p.id, 'kind', p.kind, 'state', p.state, 'restarts', p.restarts,
    'started_at', ${text("started_at")}, 'reason', p.reason, 'memory_bytes', p.memory_bytes,
    'ended_by_memory', case when p.memory_ended_at is not null and p.memory_ended_mb is not null
      then jsonb_build_object('at', ${text("memory_ended_at")}, 'memory_mb', p.memory_ended_mb) end)`;
}

type SelectedRow = Awaited<ReturnType<ReturnType<typeof selectDatabases>["executeTakeFirstOrThrow"]>>;

function toDatabase(org: OrgOfDatabases, row: SelectedRow): DatabaseAnswer {
  const { desired, observed } = row;
  return {
    id: row.id,
    name: row.name,
    uri: databaseUriOf(org.name, row.name),
    organization: org.name,
    state: row.state,
    created_at: row.created_at.toISOString(),
    generation: row.generation,
    resources: (observed ?? desired).resources,
    desired_resources: desired.resources,
    image: {
      hash: row.image_hash,
      source: row.image_source,
      python: row.image_python,
      packages: row.image_packages ?? 0,
      bytes: Number(row.image_bytes ?? 0),
      built_at: row.image_built_at?.toISOString() ?? null,
    },
    project: toProject(row),
    last_build: row.last_build,
    failure: row.failure,
    sleep_after: desired.settings.sleep_after,
    wake_on_request: desired.settings.wake_on_request,
    awake_because: row.awake_because,
    usage: row.usage,
    used: { cpu_seconds: Number(row.cpu_ms) / 1_000, awake_seconds: Number(row.awake_ms) / 1_000 },
    pods: row.pods,
    operation: row.operation,
    purged_at: row.purge_at?.toISOString() ?? null,
  };
}

function toProject(row: SelectedRow): DatabaseAnswer["project"] {
  const { tree_digest: treeDigest, tree_files: treeFiles, tree_bytes: treeBytes, tree_created_at: treeCreatedAt } = row;
  if (treeDigest === null || treeCreatedAt === null) return null;
  return {
    digest: treeDigest,
    files: treeFiles ?? 0,
    bytes: Number(treeBytes ?? 0),
    uploaded_at: treeCreatedAt.toISOString(),
  };
}
