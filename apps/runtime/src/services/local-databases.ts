import { join } from "node:path";
import { appError } from "@appdb/contract/errors";
import { HOME_PATHS } from "@appdb/contract/home";
import { HOME_STORE } from "@appdb/contract/media-place";
import { parseLocalTarget, serviceText } from "@appdb/contract/names";
import { nearestName } from "@appdb/contract/nearest";
import type { LocalDatabase, LocalDeletion, ServiceRecord } from "@appdb/contract/routes/local";
import { readDefinitions } from "@appdb/engine/catalog/load-catalog";
import { SERVICE_CONNECTIONS } from "@appdb/engine/catalog/reader-connections";
import { withClient } from "@appdb/postgres/cluster/database-admin";
import type { PostgresProvider } from "@appdb/postgres/cluster/postgres-provider";
import { removeFolder } from "@appdb/system/files/remove-folder";
import { describeTables } from "../databases/data-tables.ts";
import type { OpenDatabases } from "../databases/open-databases.ts";
import type { ScratchDatabases } from "../databases/scratch-databases.ts";
import type { Services } from "./service-processes.ts";

export interface LocalDatabasesDeps {
  readonly home: string;
  readonly databases: OpenDatabases;
  readonly postgres: PostgresProvider;
  readonly scratch: Pick<ScratchDatabases, "listOthers">;
  readonly services: Services;
}

const MEDIA_BYTES = "select coalesce(sum(bytes), 0)::float8 as bytes from appdb.media_objects where store = $1";
/** Databases queried concurrently. */
const AT_ONCE = 8;

/** The databases of the home's PostgreSQL, except those of tests, with their contents and projects. */
export async function listLocalDatabases({
  postgres,
  scratch,
  services,
}: Pick<LocalDatabasesDeps, "postgres" | "scratch" | "services">): Promise<LocalDatabase[]> {
  const names = await scratch.listOthers();
  const found: LocalDatabase[] = [];
  for (let at = 0; at < names.length; at += AT_ONCE) {
    const some = names.slice(at, at + AT_ONCE);
    found.push(...(await Promise.all(some.map(async (name) => await describe(postgres, services, name)))));
  }
  return found;
}

/**
 * Creates an empty database. An update of an application creates its database itself.
 * @throws database_exists, invalid_target
 */
export async function createLocalDatabase(
  { databases }: Pick<LocalDatabasesDeps, "databases">,
  { if_exists: ifExists, name }: { readonly name: string; readonly if_exists: "error" | "ignore" },
): Promise<{ created: boolean }> {
  const { database, folders } = parseLocalTarget(name);
  if (folders.length > 0)
    throw appError("invalid_target", {
      detail: `'${name}' is a folder in the database ${database}.`,
      hint: `Name the database only: ${database}`,
      meta: { target: name },
    });
  if ((await databases.find(database)) === undefined) {
    await databases.open(database);
    return { created: true };
  }
  if (ifExists === "ignore") return { created: false };
  throw appError("database_exists", {
    detail: `The database ${database} exists.`,
    hint: "Choose another name, or allow a database that exists.",
    meta: { database },
  });
}

/**
 * Deletes a database with its contents and its media, and removes its services, which must be stopped. A dry run only lists what would
 * be deleted.
 * @throws database_not_found, service_state, invalid_target
 */
export async function deleteLocalDatabase(
  { databases, home, postgres, services }: LocalDatabasesDeps,
  input: { readonly name: string; readonly dry_run: boolean },
): Promise<LocalDeletion> {
  const { database, folders } = parseLocalTarget(input.name);
  if (folders.length > 0 || !(await postgres.hasDatabase(database)))
    throw notFound(input.name, await postgres.listDatabases());
  const own = servicesOf(services, database);
  const running = own.filter(({ endpoint }) => endpoint !== null);
  if (running.length > 0) throw stillServed(database, running);
  const inTerminals = await listConnectedServices(postgres.dsn(database));
  if (inTerminals.length > 0) throw servedInTerminal(database, inTerminals);
  const open = await databases.find(database);
  const catalog = open === undefined ? undefined : await readDefinitions(open.sql);
  const tables =
    open === undefined || catalog === undefined ? [] : await describeTables(open.sql, catalog, catalog.tables);
  const deletion = {
    name: database,
    tables: tables.map(({ path, rows }) => ({ path: `${database}/${path}`, rows })),
    services: own.map(serviceText),
  };
  if (input.dry_run) return deletion;
  for (const service of own) await services.forget(serviceText(service));
  await databases.remove(database);
  // after the rows that refer to them
  await removeFolder(join(home, HOME_PATHS.media, database));
  return deletion;
}

/** Names of services that are connected to a database. The daemon does not know those of `cli service run`. */
async function listConnectedServices(dsn: string): Promise<string[]> {
  const prefix = `${SERVICE_CONNECTIONS} `;
  return await withClient(dsn, async (client) => {
    const found = await client.query<{ name: string }>(
      `select distinct application_name as name from pg_stat_activity
        where datname = current_database() and starts_with(application_name, $1) order by 1`,
      [prefix],
    );
    return found.rows.map(({ name }) => name.slice(prefix.length));
  });
}

async function describe(postgres: PostgresProvider, services: Services, name: string): Promise<LocalDatabase> {
  const counts = await withClient(postgres.dsn(name), async (client) => {
    const { rows } = await client.query<{ bytes: number; columns: string[]; has_media: boolean; has_views: boolean }>(
      `select pg_database_size(current_database())::float8 as bytes, array(select column_name::text from information_schema.columns
        where table_schema = 'appdb' and table_name = 'tables') as columns, to_regclass('appdb.media_objects') is not null as has_media,
        to_regclass('appdb.views') is not null as has_views`,
    );
    const { bytes = 0, columns = [], has_media: hasMedia = false, has_views: hasViews = false } = rows[0] ?? {};
    const media = hasMedia ? await client.query<{ bytes: number }>(MEDIA_BYTES, [HOME_STORE]) : undefined;
    const sizes = { bytes, media_bytes: media?.rows[0]?.bytes ?? 0 };
    if (columns.length === 0) return { ...sizes, tables: 0, views: 0, projects: [] };
    // a database that no version since 0.8.0 has opened does not know projects
    const projects = columns.includes("project")
      ? "array_agg(distinct project) filter (where project is not null)"
      : "null::text[]";
    const made = hasViews ? "count(rows_of)" : "0";
    const filtered = hasViews ? "(select count(*) from appdb.views)" : "0";
    const counts = await client.query<{ tables: number; views: number; projects: string[] | null }>(
      `select (count(*) - ${made})::int as tables, (${made} + ${filtered})::int as views, ${projects} as projects
        from appdb.tables`,
    );
    const { tables = 0, views = 0, projects: owners } = counts.rows[0] ?? {};
    return { ...sizes, tables, views, projects: owners ?? [] };
  });
  const own = servicesOf(services, name);
  return { name, ...counts, services: own.map((service) => ({ name: serviceText(service), state: service.state })) };
}

function servicesOf(services: Services, database: string): ServiceRecord[] {
  return services.list(undefined).filter((record) => parseLocalTarget(record.catalog_path).database === database);
}

function notFound(name: string, known: readonly string[]): Error {
  const suggestion = nearestName(name, known);
  return appError("database_not_found", {
    detail: `No local database named '${name}'.${suggestion === undefined ? "" : ` Did you mean '${suggestion}'?`}`,
    hint: "List the databases: cli db list --local",
    meta: { database: name },
  });
}

function stillServed(database: string, running: readonly ServiceRecord[]): Error {
  const names = running.map(serviceText);
  return appError("service_state", {
    detail: `${database} is in use by ${names.join(", ")}. A database can be deleted only when its services are stopped.`,
    hint: `Stop them first: cli service stop ${names.join(" ")}`,
    meta: { database, services: names },
  });
}

function servedInTerminal(database: string, services: readonly string[]): Error {
  return appError("service_state", {
    detail: `${database} is in use by cli service run, which serves ${services.join(", ")} in a terminal.`,
    hint: "Press Ctrl-C in that terminal, then delete the database.",
    meta: { database, services },
  });
}
