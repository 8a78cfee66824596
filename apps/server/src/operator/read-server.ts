import { databaseUriOf } from "@appdb/contract/control/resource-names";
import type { OperatedDatabase, OperatedOrg, OperatorAnswer } from "@appdb/contract/operator";
import { VERSION } from "@appdb/contract/version";
import { sql } from "kysely";
import { readRunning } from "../config/server-home.ts";
import type { ControlDatabase } from "../database/pool.ts";
import { checkDisk } from "../health/checks.ts";
import { type DiskFloorDeps, readHomeDisk } from "../storage/disk-floor.ts";

const ANSWER_MS = 3_000;

/** Counts and state of a server. */
export async function readStatus(db: ControlDatabase, disk: DiskFloorDeps): Promise<OperatorAnswer<"status">> {
  const { rows } = await sql<
    Omit<OperatorAnswer<"status">, "home" | "version" | "url" | "is_responding" | "free_disk_bytes" | "disk_problem">
  >`
    select (select count(*)::int from control.organizations) as organizations,
      (select count(*)::int from control.organizations where suspended_at is not null) as suspended,
      (select coalesce(jsonb_object_agg(state, count), '{}')
        from (select state, count(*)::int from control.databases group by state) d) as databases,
      (select coalesce(jsonb_object_agg(state, count), '{}')
        from (select state, count(*)::int from control.services group by state) s) as services,
      (select count(*)::int from control.operations where state = 'pending') as operations_waiting`.execute(db);
  const [counted] = rows;
  if (counted === undefined) throw new Error("A statement without a table answered no row.");
  const { home } = disk.config;
  const { free_bytes: freeBytes } = await readHomeDisk(disk);
  const url = readRunning(home) ?? null;
  const responds = url !== null && (await isResponding(url));
  return {
    home,
    version: VERSION,
    url,
    is_responding: responds,
    ...counted,
    free_disk_bytes: freeBytes,
    disk_problem: await findDiskProblem(disk),
  };
}

/** A problem of the home's disk, as /health reports it. */
export async function findDiskProblem(disk: DiskFloorDeps): Promise<OperatorAnswer<"status">["disk_problem"]> {
  const [problem] = await checkDisk(disk);
  return problem === undefined ? null : { code: problem.code, what: problem.what };
}

/** Any response counts, also that of a failing server. */
async function isResponding(url: string): Promise<boolean> {
  return await fetch(`${url}/health`, { signal: AbortSignal.timeout(ANSWER_MS) }).then(
    () => true,
    () => false,
  );
}

/** All organizations, by name. */
export async function listOperatedOrgs(db: ControlDatabase): Promise<OperatedOrg[]> {
  const { rows } = await sql<OperatedOrg & { created: Date; suspended: Date | null }>`
    select o.name, o.database_quota, o.created_at as created, o.suspended_at as suspended, o.suspended_for,
      (select count(*)::int from control.databases d where d.org_id = o.id) as databases,
      (select count(*)::int from control.members m where m.org_id = o.id) as members
    from control.organizations o order by o.name`.execute(db);
  return rows.map(({ created, suspended, ...org }) => ({
    ...org,
    created_at: created.toISOString(),
    suspended_at: suspended?.toISOString() ?? null,
  }));
}

/** The databases of one organization or of all, by address. */
export async function listOperatedDatabases(db: ControlDatabase, org: string | undefined): Promise<OperatedDatabase[]> {
  const { rows } = await sql<
    Omit<OperatedDatabase, "uri" | "retry_at"> & { org: string; name: string; at: Date | null }
  >`
    select o.name as org, d.name, d.id, d.state, (d.usage ->> 'disk_bytes')::float8 as disk_bytes,
      (d.usage ->> 'disk_limit_bytes')::float8 as disk_limit_bytes,
      coalesce((d.usage ->> 'is_disk_full')::bool, false) as is_disk_full,
      d.failure,
      case when d.state = 'FAILED' then d.retry_at end as at,
      coalesce((select jsonb_object_agg(s.name, s.state) from control.services s
        where s.database_id = d.id and not s.is_pruned), '{}') as services,
      coalesce((select jsonb_object_agg(s.name, s.failure) from control.services s
        where s.database_id = d.id and not s.is_pruned and s.failure is not null), '{}') as service_failures
    from control.databases d join control.organizations o on o.id = d.org_id
    where ${org === undefined ? sql`true` : sql`o.name = ${org}`} order by o.name, d.name`.execute(db);
  return rows.map(({ at, name, org, ...row }) => ({
    ...row,
    uri: databaseUriOf(org, name),
    retry_at: at?.toISOString() ?? null,
  }));
}
