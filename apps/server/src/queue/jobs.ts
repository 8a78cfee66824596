import { type RawBuilder, sql } from "kysely";
import * as z from "zod";
import type { ControlDatabase, Tx } from "../database/pool.ts";
import { OF_ONE_ORG } from "./shares.ts";

/** The reconciler's jobs and their payloads. */
export const JOBS = {
  /** Creates `main` of an organization that lacks it. */
  "provision-main": z.object({ org_id: z.uuid() }),
  /** Moves a database towards its desired state. */
  "reconcile-database": z.object({ database_id: z.uuid() }),
  /** Moves a service towards its desired state. */
  "reconcile-service": z.object({ service_id: z.uuid() }),
  /** Builds the image that a database waits for. */
  "build-image": z.object({ database_id: z.uuid() }),
  /** Builds a deployment's image and makes it read the application. */
  "prepare-image": z.object({ preparation_id: z.uuid() }),
  /** Posts events to the webhooks of an organization, for one turn. */
  "deliver-webhooks": z.object({ org_id: z.uuid() }),
  /** Continues unfinished work and removes expired rows. */
  sweep: z.object({}),
  /** Removes unused images, files and storage. */
  collect: z.object({}),
} as const;
export type JobName = keyof typeof JOBS;

export interface EnqueueOptions {
  /** Jobs with one key are one job: a second request replaces a waiting job, or runs after a running one. */
  readonly key: string;
  /** From now, by the database's clock. */
  readonly delay_s?: number;
  /** Jobs of one lane run one after the other. By default the key. */
  readonly lane?: RawBuilder<string>;
  /** Whether a waiting job that is due sooner keeps its time. */
  readonly keeps_sooner?: boolean;
}

/** Adds a job in the transaction of the change that it serves. Workers are notified at the commit. */
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
 * The lane of a row: one of its organization's places, so that an organization has at most that many running jobs. A
 * row keeps its place, so that only one job at a time handles it. A row that was removed has its own lane.
 */
function placeOf(kind: "databases" | "services", id: string, work: keyof typeof OF_ONE_ORG = kind): RawBuilder<string> {
  return sql<string>`coalesce((select ${`${work} of `} || org_id || ' ' || ((hashtext(id::text) & 2147483647) % ${OF_ONE_ORG[work]}::int)
    from ${sql.table(`control.${kind}`)} where id = ${id}), ${`${work} ${id}`})`;
}

/**
 * Requests a reconcile of a database. Call it in the transaction that changes its desired state, observed state or
 * operations.
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

/** Requests a reconcile of a service. Its job may run concurrently with its database's. */
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

/** Requests the image build that a database waits for. The build enqueues the database's next step. */
export async function enqueueBuildImage(db: ControlDatabase | Tx, databaseId: string): Promise<void> {
  const options = { key: `build-image ${databaseId}`, lane: placeOf("databases", databaseId, "builds") };
  await enqueueJob(db, "build-image", { database_id: databaseId }, options);
}

/** Requests the preparation of a deployment. An organization runs one build or preparation at a time. */
export async function enqueuePrepareImage(tx: Tx, preparationId: string, databaseId: string): Promise<void> {
  const options = { key: `prepare-image ${preparationId}`, lane: placeOf("databases", databaseId, "builds") };
  await enqueueJob(tx, "prepare-image", { preparation_id: preparationId }, options);
}

/** Requests an organization's due deliveries: one job for all. Call it in the transaction that adds a delivery. */
export async function enqueueDeliveries(db: ControlDatabase | Tx, orgId: string, delayS = 0): Promise<void> {
  const options = { key: `deliver-webhooks ${orgId}`, delay_s: delayS, keeps_sooner: true };
  await enqueueJob(db, "deliver-webhooks", { org_id: orgId }, options);
}

/** Requests the creation of an organization's `main`. */
export async function enqueueProvisionMain(db: ControlDatabase | Tx, orgId: string): Promise<void> {
  await enqueueJob(db, "provision-main", { org_id: orgId }, { key: `provision-main ${orgId}` });
}

/** No job of a resource is delayed longer. */
const FAR = "5 minutes";

/** Makes jobs due that wait longer than any request asks: the clock was set back. Returns how many. */
export async function rescheduleFutureJobs(db: ControlDatabase): Promise<number> {
  const names: readonly JobName[] = ["reconcile-database", "reconcile-service", "build-image", "prepare-image"];
  const { numAffectedRows: count } = await sql`update control.jobs set run_at = now()
    where name = any(${names}) and lease is null and run_at > now() + ${FAR}::interval`.execute(db);
  return Number(count ?? 0n);
}
