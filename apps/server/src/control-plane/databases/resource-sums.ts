import { databaseUriOf } from "@appdb/contract/control/resource-names";
import { appError, type FieldError } from "@appdb/contract/errors";
import type { Resources } from "@appdb/contract/pod-spec";
import { sql } from "kysely";
import type { ResourceBounds } from "../../config/config-pods.ts";
import { ORG_SETTINGS, type OrgResources } from "../../config/config-quotas.ts";
import type { ControlDatabase, Tx } from "../../database/pool.ts";
import { type OrgOfDatabases, PROTECTED_DATABASE } from "./databases-store.ts";
import { usualResources } from "./plan-resources.ts";

const NAMES = ["cpu", "memory_mb", "disk_gb"] as const satisfies readonly (keyof OrgResources)[];
/** Rounds sums of fractions: 0.1 + 0.2 is 0.3. */
const DECIMALS = 1_000;

export interface SumInput {
  readonly name: string;
  /** The database's current resources. Undefined for a new one. */
  readonly before: Resources | undefined;
  readonly after: Resources;
  readonly bounds: ResourceBounds;
  readonly sums: Partial<OrgResources>;
}

/**
 * The operator's maximum for an organization. By default, twice the maximum of one database, or the default size for
 * every database in the quota if that is more.
 */
export function organizationLimit(
  { bounds, sums }: Pick<SumInput, "bounds" | "sums">,
  databaseQuota: number,
): OrgResources {
  const usual = usualResources(bounds);
  const max = (name: keyof OrgResources) => sums[name] ?? Math.max(2 * bounds.most[name], databaseQuota * usual[name]);
  return { cpu: max("cpu"), memory_mb: max("memory_mb"), disk_gb: max("disk_gb") };
}

/**
 * Refuses growth beyond what the organization has left. Unchanged sizes pass, because the operator may have lowered
 * bounds. Databases count until they are removed, and `main` counts before it is made.
 * @throws resources_quota
 */
export async function refuseSums(db: ControlDatabase | Tx, org: OrgOfDatabases, input: SumInput): Promise<void> {
  const { after, before, bounds, name } = input;
  const grown = NAMES.filter((one) => before === undefined || after[one] > before[one]);
  if (grown.length === 0) return;
  const { quota, used } = await readSums(db, org, name, bounds);
  const max = organizationLimit(input, quota);
  const errors: FieldError[] = [];
  for (const one of grown) {
    if (round(used[one] + after[one]) <= max[one]) continue;
    errors.push({
      pointer: `/settings/${one}`,
      detail: `${one} is ${after[one]}, the other databases have ${round(used[one])}; the maximum together is ${max[one]} (${ORG_SETTINGS[one]} of the server)`,
    });
  }
  if (errors.length === 0) return;
  throw appError("resources_quota", {
    detail: `${databaseUriOf(org.name, name)} requests more than ${org.name} has left: ${errors.map(({ detail }) => detail).join("; ")}.`,
    hint: "Request less in the database's entry in service.toml, shrink or delete another database, or ask the operator for more.",
    meta: { used, asked: after, most: max },
    errors,
  });
}

/** Like `refuseSums`, and locks the organization's resources until the transaction ends. @throws resources_quota */
export async function requireResourceQuota(tx: Tx, org: OrgOfDatabases, input: SumInput): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended('control.resources ' || ${org.id}::text, 0))`.execute(tx);
  await refuseSums(tx, org, input);
}

/** The resources of the other databases: the larger of their observed and desired ones. */
async function readSums(
  db: ControlDatabase | Tx,
  org: OrgOfDatabases,
  name: string,
  bounds: ResourceBounds,
): Promise<{ readonly quota: number; readonly used: OrgResources }> {
  const sum = (one: keyof OrgResources) =>
    sql<number>`coalesce(sum(greatest((d.desired -> 'resources' ->> ${sql.lit(one)})::float8, (d.observed -> 'resources' ->> ${sql.lit(one)})::float8)), 0)`;
  const { rows } = await sql<OrgResources & { quota: number; has_main: boolean }>`
    select o.database_quota as quota, ${sum("cpu")} as cpu, ${sum("memory_mb")} as memory_mb, ${sum("disk_gb")} as disk_gb,
      ${name} = ${PROTECTED_DATABASE} or coalesce(bool_or(d.name = ${PROTECTED_DATABASE}), false) as has_main
    from control.organizations o left join control.databases d on d.org_id = o.id and d.name <> ${name}
    where o.id = ${org.id} group by o.id`.execute(db);
  const [found] = rows;
  if (found === undefined) throw new Error("The organization of a database does not exist.");
  const main = found.has_main ? undefined : usualResources(bounds);
  const used = (one: keyof OrgResources) => found[one] + (main?.[one] ?? 0);
  return {
    quota: found.quota,
    used: { cpu: used("cpu"), memory_mb: used("memory_mb"), disk_gb: used("disk_gb") },
  };
}

function round(value: number): number {
  return Math.round(value * DECIMALS) / DECIMALS;
}
