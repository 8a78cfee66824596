import { databaseUriOf } from "@appdb/contract/control/resource-names";
import { appError } from "@appdb/contract/errors";
import type { Deploy } from "@appdb/contract/routes/control-deploys";
import { type Selectable, sql } from "kysely";
import { actorOf, doneBy, type RecordEvent } from "../../audit/event.ts";
import type { ControlDatabase, Tx } from "../../database/pool.ts";
import type { DeployContent, ServiceTables } from "../../database/service-tables.ts";
import { type DatabaseRow, databaseNotFound, lockDatabase, type OrgOfDatabases } from "../databases/databases-store.ts";
import type { Caller } from "../keys/create-key.ts";
import { type LockedService, lockServices } from "../services/lock-services.ts";

export type DeployRow = Selectable<ServiceTables["control.deploys"]>;

export interface DeployDeps {
  readonly tx: Tx;
  readonly recordEvent: RecordEvent;
}

/** Kept deployments of each database. Their files stay stored. */
const KEPT_DEPLOYS = 10;

/** A deployment counts as cut off after this time without a heartbeat, if no operation of it runs. */
const ALIVE = "60 seconds";

/** Records the state of everything that a deployment may change. @throws database_not_found, deploy_under_way */
export async function beginDeploy(
  { tx }: DeployDeps,
  { org, principal }: Caller,
  { app_file: appFile, database: name }: { readonly app_file: string; readonly database: string },
): Promise<Deploy> {
  const { content, database } = await lockContent(tx, org, name);
  const last = await findLastDeploy(tx, database.id);
  if (last !== undefined) await refuseUnderWay(tx, databaseUriOf(org.name, database.name), last);
  const created = await tx
    .insertInto("control.deploys")
    .values({
      org_id: org.id,
      database_id: database.id,
      app_file: appFile,
      created_by: actorOf(principal),
      before: JSON.stringify(content),
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  await sql`delete from control.deploys where database_id = ${database.id} and id not in
    (select id from control.deploys where database_id = ${database.id} order by id desc limit ${KEPT_DEPLOYS})`.execute(
    tx,
  );
  return toDeploy(created);
}

/** Records a heartbeat and returns the deployment's state. @throws database_not_found, deploy_not_found */
export async function keepAlive(
  { tx }: DeployDeps,
  { org }: Caller,
  { database: name, id }: { readonly database: string; readonly id: string },
): Promise<Deploy> {
  const { database } = await lockContent(tx, org, name);
  const row = await tx
    .updateTable("control.deploys")
    .set({ alive_at: sql<Date>`now()` })
    .where("database_id", "=", database.id)
    .where(sql<boolean>`id::text = ${id}`)
    .returningAll()
    .executeTakeFirst();
  if (row === undefined) throw deployNotFound(databaseUriOf(org.name, database.name));
  return toDeploy(row);
}

/** Records a deployment's end and its event, once. @throws database_not_found, deploy_not_found */
export async function endDeploy(
  { recordEvent, tx }: DeployDeps,
  caller: Caller,
  { database: name, id, state }: { readonly database: string; readonly id: string; readonly state: "done" | "failed" },
): Promise<Deploy> {
  const { org } = caller;
  const { content, database } = await lockContent(tx, org, name);
  const row = await tx
    .selectFrom("control.deploys")
    .selectAll()
    .where("database_id", "=", database.id)
    .where(sql<boolean>`id::text = ${id}`)
    .forUpdate()
    .executeTakeFirst();
  const uri = databaseUriOf(org.name, database.name);
  if (row === undefined) throw deployNotFound(uri);
  if (row.state !== "running") return toDeploy(row);
  const ended = await tx
    .updateTable("control.deploys")
    .set({ state, ended_at: sql<Date>`now()`, after: JSON.stringify(content) })
    .where("id", "=", row.id)
    .returningAll()
    .executeTakeFirstOrThrow();
  const outcome = state === "done" ? "succeeded" : "failed";
  const { app_file: appFile } = row;
  await recordEvent(tx, { action: "deploy", target: uri, ...doneBy(caller), outcome, detail: { app_file: appFile } });
  return toDeploy(ended);
}

export interface LockedContent {
  readonly database: DatabaseRow;
  readonly services: readonly LockedService[];
  readonly content: DeployContent;
}

/** Reads and locks the desired state of all parts of a deployment. @throws database_not_found */
export async function lockContent(tx: Tx, org: OrgOfDatabases, name: string): Promise<LockedContent> {
  const database = await lockDatabase(tx, org.id, name);
  if (database === undefined) throw databaseNotFound(org, name);
  const services = (await lockServices(tx, database.id)).filter(({ is_pruned: isPruned }) => !isPruned);
  const { environment, resources, settings, tree } = database.desired;
  const ran = services.map(({ desired: { is_running: isRunning, release }, name }) => ({
    name,
    release,
    is_running: isRunning,
  }));
  return { database, services, content: { tree, environment, resources, settings, services: ran } };
}

/** The last deployment that is not undone, or undefined. */
export async function findLastDeploy(tx: Tx, databaseId: string): Promise<DeployRow | undefined> {
  return await selectLast(tx, databaseId).forUpdate().executeTakeFirst();
}

function selectLast(db: ControlDatabase | Tx, databaseId: string) {
  return db
    .selectFrom("control.deploys")
    .selectAll()
    .where("database_id", "=", databaseId)
    .where("state", "!=", "rolled_back")
    .orderBy("id", "desc")
    .limit(1);
}

/** The state to which undoing the last deployment returns, or undefined. Takes no lock. */
export async function findLastBefore(db: ControlDatabase, databaseId: string): Promise<DeployContent | undefined> {
  const row = await selectLast(db, databaseId).executeTakeFirst();
  return row?.before;
}

/** Prevents concurrent deployments, which would overwrite each other. @throws deploy_under_way */
export async function refuseUnderWay(tx: Tx, uri: string, deploy: DeployRow): Promise<void> {
  if (deploy.state !== "running") return;
  const { rows } = await sql<{ is_alive: boolean; operation: string | null }>`
    select ${deploy.alive_at}::timestamptz > now() - ${ALIVE}::interval as is_alive,
      (select id::text from control.operations where database_id = ${deploy.database_id} and state in ('pending', 'running')
        order by id limit 1) as operation`.execute(tx);
  const { is_alive: isAlive = false, operation = null } = rows[0] ?? {};
  if (!isAlive && operation === null) return;
  const { app_file: appFile, created_at: createdAt, created_by: createdBy } = deploy;
  throw appError("deploy_under_way", {
    detail: `${createdBy} is deploying ${appFile} to ${uri}, since ${createdAt.toISOString()}.`,
    hint:
      operation === null
        ? "Try again when it has ended. If it was cut off, the server notices within a minute."
        : `Wait for it: cli operations wait ${operation}   then try again`,
    meta: { uri, operation },
  });
}

export function toDeploy({
  app_file: appFile,
  created_at: createdAt,
  created_by: createdBy,
  ended_at: endedAt,
  id,
  state,
}: DeployRow): Deploy {
  return {
    id,
    app_file: appFile,
    state,
    created_by: createdBy,
    created_at: createdAt.toISOString(),
    ended_at: endedAt?.toISOString() ?? null,
  };
}

export function deployNotFound(uri: string): Error {
  return appError("deploy_not_found", {
    detail: `${uri} has no deployment to undo.`,
    hint: `To roll back one service: cli service rollback ${uri}/<service>`,
    meta: { uri },
  });
}
