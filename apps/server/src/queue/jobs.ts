import { type RawBuilder, sql } from "kysely";
import * as z from "zod";
import type { ControlDatabase, Tx } from "../database/pool.ts";
import { OF_ONE_ORG } from "./shares.ts";

/** The jobs of the reconciler and their payloads. */
export const JOBS = {
  /** Makes `main` of an organization that lacks it. */
  "provision-main": z.object({ org_id: z.uuid() }),
  /** Moves a database towards its desired state. */
  "reconcile-database": z.object({ database_id: z.uuid() }),
  /** Moves a service towards its desired state. */
  "reconcile-service": z.object({ service_id: z.uuid() }),
  /** Builds the image that a database waits for. */
  "build-image": z.object({ database_id: z.uuid() }),
  /** Builds the image that a deployment would bring, and has it read the application. */
  "prepare-image": z.object({ preparation_id: z.uuid() }),
  /** Posts events to the webhooks of an organization, for one turn. */
  "deliver-webhooks": z.object({ org_id: z.uuid() }),
  /** Finds what was left undone, and forgets what has had its time. */
  sweep: z.object({}),
  /** Removes images, files and storage that nothing uses any more. */
  collect: z.object({}),
} as const;
export type JobName = keyof typeof JOBS;

export interface EnqueueOptions {
  /** Jobs of one key are one: a second request replaces the first while that waits, and runs after it otherwise. */
  readonly key: string;
  /** From now, by the database's clock. */
  readonly delay_s?: number;
  /** Jobs of one lane run one after the other. By default the key. */
  readonly lane?: RawBuilder<string>;
  /** A job that waits and is due sooner keeps its time. */
  readonly keeps_sooner?: boolean;
}

/** Adds a job in the transaction of the change that it serves: both exist or neither does. Workers hear of it when that commits. */
export async function enqueueJob<Name extends JobName>(
  db: ControlDatabase | Tx,
  name: Name,
  payload: z.input<(typeof JOBS)[Name]>,
  { delay_s: delayS = 0, keeps_sooner: keepsSooner = false, key, lane = sql<string>`${key}` }: EnqueueOptions,
): Promise<void> {
  const due = (column: "run_at" | "again_at") =>
    keepsSooner ? sql`least(j.${sql.ref(column)}, excluded.run_at)` : sql`excluded.run_at`;
  await sql`
    with added as (
      insert into control.jobs as j (key, name, payload, lane, run_at)
        values (${key}, ${name}, ${JSON.stringify(payload)}::jsonb, ${lane}, now() + make_interval(secs => ${delayS}::float8))
        on conflict (key) do update set payload = excluded.payload,
          lane = case when j.lease is null then excluded.lane else j.lane end,
          attempts = case when j.lease is null then 0 else j.attempts end,
          run_at = case when j.lease is null then ${due("run_at")} else j.run_at end,
          again_at = case when j.lease is null then null else ${due("again_at")} end)
    select pg_notify('control_jobs', ${name})`.execute(db);
}

/** Whether none of the jobs waits or runs: `name id` is the key of the job of a resource. */
export function hasNoJob(names: readonly JobName[], id: RawBuilder<unknown>): RawBuilder<boolean> {
  const keys = names.map((name) => sql`${`${name} `} || ${id}`);
  return sql<boolean>`not exists (select from control.jobs j where j.key in (${sql.join(keys)}))`;
}

/**
 * A place of the organization that owns the row: an organization never has more jobs running than places. A row always has the same
 * place, so that one job at a time works at it. A row that is gone has a lane of its own.
 */
function placeOf(kind: "databases" | "services", id: string, work: keyof typeof OF_ONE_ORG = kind): RawBuilder<string> {
  return sql<string>`coalesce((select ${`${work} of `} || org_id || ' ' || ((hashtext(id::text) & 2147483647) % ${OF_ONE_ORG[work]}::int)
    from ${sql.table(`control.${kind}`)} where id = ${id}), ${`${work} ${id}`})`;
}

/**
 * Has the reconciler look at a database: its desired state, its observed state and the operation that waits. The call belongs in the
 * transaction that changes one of these.
 */
export async function enqueueReconcileDatabase(
  db: ControlDatabase | Tx,
  id: string,
  delayS = 0,
  options: Pick<EnqueueOptions, "keeps_sooner"> = {},
): Promise<void> {
  const key = `reconcile-database ${id}`;
  const lane = placeOf("databases", id);
  await enqueueJob(db, "reconcile-database", { database_id: id }, { ...options, key, lane, delay_s: delayS });
}

/** The same for a service. Its job may run at the same time as the one of its database. */
export async function enqueueReconcileService(
  db: ControlDatabase | Tx,
  id: string,
  delayS = 0,
  options: Pick<EnqueueOptions, "keeps_sooner"> = {},
): Promise<void> {
  const key = `reconcile-service ${id}`;
  const lane = placeOf("services", id);
  await enqueueJob(db, "reconcile-service", { service_id: id }, { ...options, key, lane, delay_s: delayS });
}

/** Has the image built that a database waits for. The build enqueues the database's next step. */
export async function enqueueBuildImage(db: ControlDatabase | Tx, databaseId: string): Promise<void> {
  const options = { key: `build-image ${databaseId}`, lane: placeOf("databases", databaseId, "builds") };
  await enqueueJob(db, "build-image", { database_id: databaseId }, options);
}

/** Has a deployment prepared. An organization has one build or preparation running at a time. */
export async function enqueuePrepareImage(tx: Tx, preparationId: string, databaseId: string): Promise<void> {
  const options = { key: `prepare-image ${preparationId}`, lane: placeOf("databases", databaseId, "builds") };
  await enqueueJob(tx, "prepare-image", { preparation_id: preparationId }, options);
}

/** Has the due deliveries of an organization posted: one job for all of them, in the transaction that adds a delivery. */
export async function enqueueDeliveries(db: ControlDatabase | Tx, orgId: string, delayS = 0): Promise<void> {
  const options = { key: `deliver-webhooks ${orgId}`, delay_s: delayS, keeps_sooner: true };
  await enqueueJob(db, "deliver-webhooks", { org_id: orgId }, options);
}

/** Adds the job that makes `main` of an organization. */
export async function enqueueProvisionMain(db: ControlDatabase | Tx, orgId: string): Promise<void> {
  await enqueueJob(db, "provision-main", { org_id: orgId }, { key: `provision-main ${orgId}` });
}

/** No job of a resource is requested so far ahead. */
const FAR = "5 minutes";

/** Makes jobs of resources due that wait longer than any request asks: the clock was set back while they waited. Returns how many. */
export async function rescheduleFutureJobs(db: ControlDatabase): Promise<number> {
  const names: readonly JobName[] = ["reconcile-database", "reconcile-service", "build-image", "prepare-image"];
  const { numAffectedRows: count } = await sql`update control.jobs set run_at = now()
    where name = any(${names}) and lease is null and run_at > now() + ${FAR}::interval`.execute(db);
  return Number(count ?? 0n);
}
