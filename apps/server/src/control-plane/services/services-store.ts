import { serviceUriOf } from "@appdb/contract/control/resource-names";
import { appError } from "@appdb/contract/errors";
import type { Manifest, ManifestService } from "@appdb/contract/manifest";
import type { DatabaseState } from "@appdb/contract/routes/control-databases";
import type { HostedService } from "@appdb/contract/routes/control-services";
import { MAX_SERVICES_TOLD, type PodService } from "@appdb/contract/routes/pod";
import { describeRoutes } from "@appdb/engine/services/describe-routes";
import { sql } from "kysely";
import type { ServerConfig } from "../../config/config.ts";
import { type PageQuery, readPageCursor, toPage } from "../../database/pages.ts";
import type { ControlDatabase, Tx } from "../../database/pool.ts";
import { serviceEndpoint } from "../../edge/address.ts";
import { certificateState, selectCertificate } from "../../edge/certificate-state.ts";
import type { manageGrants } from "../../requests/manage-grants.ts";
import { findDatabase, type OrgOfDatabases, podAnswer } from "../databases/databases-store.ts";

/** The running release, otherwise the desired one. */
const RELEASE_IN_USE = sql<boolean>`r.number = coalesce((s.observed ->> 'release')::int, (s.desired ->> 'release')::int)`;

export interface ServiceStoreDeps {
  readonly db: ControlDatabase | Tx;
  readonly config: Pick<ServerConfig, "gateway">;
}

/** Services by database and name, within the key's grants. @throws database_not_found */
export async function listServices(
  { config, db }: ServiceStoreDeps,
  org: OrgOfDatabases,
  page: PageQuery & { readonly database?: string | undefined },
  grants: ReturnType<typeof manageGrants> = "all",
): Promise<{ items: HostedService[]; next: string | null }> {
  const from = readPageCursor(page.cursor);
  const order = sql<string>`(d.name || '/' || s.name) collate "C"`;
  let query = selectServices(db, org)
    .orderBy(order)
    .limit(page.limit + 1);
  if (page.database !== undefined) {
    const { id } = await findDatabase(db, org, page.database);
    query = query.where("s.database_id", "=", id);
  }
  if (grants !== "all") {
    query = query.where(({ and, eb, or }) =>
      or(
        grants.map(({ database, service }) =>
          and([eb("d.name", "=", database), ...(service === null ? [] : [eb("s.name", "=", service)])]),
        ),
      ),
    );
  }
  if (from !== undefined) query = query.where(order, ">", from.after);
  return toPage(
    await query.execute(),
    page.limit,
    (row) => toService(config, org, row),
    (row) => ({ after: `${row.database_name}/${row.name}`, id: row.id }),
  );
}

/** A service by name within a database. @throws database_not_found, service_not_found */
export async function findService(
  { config, db }: ServiceStoreDeps,
  org: OrgOfDatabases,
  database: string,
  name: string,
): Promise<HostedService> {
  const row = await selectServices(db, org)
    .where("d.name", "=", database)
    .where("s.name", "=", name)
    .executeTakeFirst();
  if (row !== undefined) return toService(config, org, row);
  const { uri } = await findDatabase(db, org, database);
  throw serviceNotFound(uri, name);
}

/** The ids of a service, which never change. @throws database_not_found, service_not_found */
export async function findServiceIds(
  db: ControlDatabase,
  org: OrgOfDatabases,
  database: string,
  name: string,
): Promise<{ readonly id: string; readonly database_id: string }> {
  const found = await findDatabase(db, org, database);
  const row = await db
    .selectFrom("control.services")
    .select(["id", "database_id"])
    .where("database_id", "=", found.id)
    .where("name", "=", name)
    .executeTakeFirst();
  if (row !== undefined) return row;
  throw serviceNotFound(found.uri, name);
}

/** The manifest of the running release, otherwise of the desired one. @throws database_not_found, service_not_found */
export async function findDeclared(
  db: ControlDatabase,
  org: OrgOfDatabases,
  database: string,
  name: string,
): Promise<{
  readonly service_id: string;
  readonly manifest: Manifest;
  readonly service: ManifestService | undefined;
}> {
  const { id } = await findServiceIds(db, org, database, name);
  const { manifest } = await db
    .selectFrom("control.services as s")
    .innerJoin("control.releases as r", (join) => join.onRef("r.service_id", "=", "s.id").on(RELEASE_IN_USE))
    .select("r.manifest")
    .where("s.id", "=", id)
    .executeTakeFirstOrThrow();
  const declared = name.slice(name.lastIndexOf("/") + 1);
  return { service_id: id, manifest, service: manifest.services.find((service) => service.name === declared) };
}

/** The services of a database that run or will run, for plans of its pod. */
export async function listForPlan(db: ControlDatabase, databaseId: string, databaseUri: string): Promise<PodService[]> {
  const rows = await db
    .selectFrom("control.services as s")
    .innerJoin("control.releases as r", (join) => join.onRef("r.service_id", "=", "s.id").on(RELEASE_IN_USE))
    .select(["s.name", "r.manifest"])
    .where("s.database_id", "=", databaseId)
    .where("s.is_pruned", "=", false)
    .where(sql<boolean>`(s.desired ->> 'is_running')::boolean`)
    .orderBy("s.name")
    .limit(MAX_SERVICES_TOLD)
    .execute();
  return rows.map(({ manifest, name }) => {
    const [service = name, ...folders] = name.split("/").toReversed();
    return { service, target: [databaseUri, ...folders.toReversed()].join("/"), manifest };
  });
}

export function serviceNotFound(databaseUri: string, name: string): Error {
  const shown = name.slice(0, 200);
  return appError("service_not_found", {
    detail: `${databaseUri} has no service ${JSON.stringify(shown)}.`,
    hint: `List its services: cli service list ${databaseUri}`,
    meta: { uri: databaseUri, service: shown },
  });
}

/** Selects all fields of an answer in one statement. */
function selectServices(db: ControlDatabase | Tx, org: OrgOfDatabases) {
  return db
    .selectFrom("control.services as s")
    .innerJoin("control.databases as d", "d.id", "s.database_id")
    .innerJoin("control.releases as w", (join) =>
      join.onRef("w.service_id", "=", "s.id").on(sql<boolean>`w.number = (s.desired ->> 'release')::int`),
    )
    .leftJoin("control.releases as r", (join) =>
      join.onRef("r.service_id", "=", "s.id").on(sql<boolean>`r.number = (s.observed ->> 'release')::int`),
    )
    .selectAll("s")
    .select([
      "d.name as database_name",
      "d.state as database_state",
      "d.gateway_label",
      "d.gateway_port",
      selectCertificate("s.database_id").as("certificate"),
      sql<string>`coalesce(r.app_file, w.app_file)`.as("app_file"),
      sql<number>`coalesce(r.workers, w.workers)`.as("workers"),
      sql<Pick<Manifest, "services" | "queries">>`json_build_object(
        'services', coalesce(r.manifest, w.manifest) -> 'services', 'queries', coalesce(r.manifest, w.manifest) -> 'queries')`.as(
        "declared",
      ),
      sql<boolean>`(d.observed ->> 'tree') is distinct from w.tree
        or (d.observed ->> 'environment') is distinct from w.environment`.as("update_pending"),
      sql<HostedService["pods"]>`(
        select coalesce(jsonb_agg(${podAnswer()} order by p.id), '[]')
        from control.pods p where p.database_id = s.database_id and p.id like 'svc-' || s.id || '-%')`.as("pods"),
      sql<HostedService["operation"]>`(
        select jsonb_build_object('id', o.id, 'kind', o.kind) from control.operations o
        where o.service_id = s.id and o.state in ('pending', 'running') order by o.id desc limit 1)`.as("operation"),
    ])
    .where("s.org_id", "=", org.id);
}

type SelectedRow = Awaited<ReturnType<ReturnType<typeof selectServices>["executeTakeFirstOrThrow"]>>;

function toService(config: ServiceStoreDeps["config"], org: OrgOfDatabases, row: SelectedRow): HostedService {
  const { database_name: database, declared, desired, name, observed } = row;
  return {
    id: row.id,
    name,
    uri: serviceUriOf(org.name, database, name),
    organization: org.name,
    database,
    state: row.state,
    reason: reasonOf(row),
    endpoint: serviceEndpoint(config, row, name),
    certificate: certificateState(config, row.gateway_label, row.certificate, Date.now()),
    generation: row.generation,
    release: observed?.release ?? null,
    desired_release: desired.release,
    app_file: row.app_file,
    update_pending: row.update_pending,
    workers: row.workers,
    routes: describeRoutes(declared, name.slice(name.lastIndexOf("/") + 1)),
    failure: row.failure,
    pods: row.pods,
    operation: row.operation,
    created_at: row.created_at.toISOString(),
  };
}

const BECAUSE_OF_DATABASE = {
  PROVISIONING: "its database is being created",
  UPDATING: null,
  AVAILABLE: null,
  STOPPING: "its database sleeps",
  STOPPED: "its database sleeps",
  STARTING: "its database is starting",
  FAILED: "its database has failed",
  DELETING: "its database is being deleted",
} as const satisfies Record<DatabaseState, string | null>;

/** Why a service is not AVAILABLE, if its state does not say so. */
function reasonOf(row: SelectedRow): string | null {
  if (row.is_pruned) return "it is being removed";
  if (row.state === "AVAILABLE") return null;
  if (row.failure !== null) return row.failure.detail;
  return row.desired.is_running ? BECAUSE_OF_DATABASE[row.database_state] : null;
}
