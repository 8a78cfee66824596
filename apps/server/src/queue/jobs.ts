import { type RawBuilder, sql } from "kysely";
import type { Pool } from "pg";
import * as z from "zod";
import type { Database, Tx } from "../database/pool.ts";
import { OF_ONE_ORG } from "./shares.ts";

/** The jobs of the reconciler and what each is given. */
export const JOBS = {
  /** Makes `main` of an organization that lacks it. */
  "provision-main": z.object({ org_id: z.uuid() }),
  /** Takes a database to what it shall be. */
  "reconcile-database": z.object({ database_id: z.uuid() }),
  /** Takes a service to what it shall be. */
  "reconcile-service": z.object({ service_id: z.uuid() }),
  /** Builds the image that a database waits for. */
  "build-image": z.object({ database_id: z.uuid() }),
  /** Builds the image that a deployment would bring, and has it read the application. */
  "prepare-image": z.object({ preparation_id: z.uuid() }),
  /** Posts events to the webhooks of an organization, for one turn. */
  "deliver-webhooks": z.object({ org_id: z.uuid() }),
  /** Posted one delivery; a server before 0.9.0 added it. */
  "deliver-webhook": z.object({ delivery_id: z.uuid() }),
  /** Finds what was left undone, and forgets what has had its time. */
  sweep: z.object({}),
  /** Removes images, files and storage that nothing uses any more. */
  collect: z.object({}),
} as const;
export type JobName = keyof typeof JOBS;

export interface EnqueueOptions {
  /** A job of the same key that waits is replaced, not added. */
  readonly job_key: string;
  /** From now, by the database's clock. */
  readonly delay_s?: number;
  /** Jobs of one queue run one after the other. */
  readonly queue?: string | RawBuilder<string> | undefined;
  /** A job of the same key that waits and is due sooner keeps its time. */
  readonly keeps_sooner?: boolean;
}

/** Adds a job in the transaction of the change that it serves: both are there or neither is. */
export async function enqueueJob<Name extends JobName>(
  db: Database | Tx,
  name: Name,
  payload: z.input<(typeof JOBS)[Name]>,
  options: EnqueueOptions,
): Promise<void> {
  const { delay_s: delayS = 0, job_key: jobKey, keeps_sooner: keepsSooner = false, queue = null } = options;
  const runAt = sql`now() + make_interval(secs => ${delayS}::float8)`;
  await sql`select graphile_worker.add_job(identifier => ${name}, payload => ${JSON.stringify(payload)}::json, run_at => ${runAt},
    job_key => ${jobKey}, queue_name => ${queue}, job_key_mode => ${keepsSooner ? "preserve_run_at" : "replace"})`.execute(
    db,
  );
  // the row is locked by now: whoever adds the same job waits
  if (keepsSooner) {
    await sql`update graphile_worker._private_jobs set run_at = ${runAt}
      where key = ${jobKey} and locked_at is null and run_at > ${runAt}`.execute(db);
  }
}

/**
 * A place of the organization to which the row belongs: an organization never has more jobs under way than places. The same row always
 * has the same place, so that one job at a time works at it. A row that is gone has a queue of its own.
 */
function placeOf(kind: "databases" | "services", id: string): RawBuilder<string> {
  return sql<string>`coalesce((select ${`${kind} of `} || org_id || ' ' || ((hashtext(id::text) & 2147483647) % ${OF_ONE_ORG[kind]}::int)
    from ${sql.table(`control.${kind}`)} where id = ${id}), ${`${kind} ${id}`})`;
}

/** The same among those who build: builds of one database have one place, whatever they are asked for by. */
function buildPlaceOf(databaseId: string): RawBuilder<string> {
  return sql<string>`coalesce((select 'builds of ' || org_id || ' ' || ((hashtext(id::text) & 2147483647) % ${OF_ONE_ORG.builds}::int)
    from control.databases where id = ${databaseId}), ${`builds ${databaseId}`})`;
}

/**
 * Has the reconciler look at a database: what shall be, what is, and the operation that waits. It belongs in the transaction
 * that changes one of these. A database is worked at by one job at a time.
 */
export async function enqueueReconcileDatabase(db: Database | Tx, databaseId: string, delayS = 0): Promise<void> {
  const name = `reconcile-database ${databaseId}`;
  const queue = placeOf("databases", databaseId);
  await enqueueJob(db, "reconcile-database", { database_id: databaseId }, { job_key: name, queue, delay_s: delayS });
}

/** Has the reconciler look at a database again in a while, or sooner where somebody else asked for that. */
export async function lookAtDatabaseLater(db: Database | Tx, databaseId: string, delayS: number): Promise<void> {
  const options = { job_key: `reconcile-database ${databaseId}`, queue: placeOf("databases", databaseId) };
  await enqueueJob(
    db,
    "reconcile-database",
    { database_id: databaseId },
    { ...options, delay_s: delayS, keeps_sooner: true },
  );
}

/** The same for a service. Its job runs beside the one of its database. */
export async function enqueueReconcileService(db: Database | Tx, serviceId: string, delayS = 0): Promise<void> {
  const name = `reconcile-service ${serviceId}`;
  const queue = placeOf("services", serviceId);
  await enqueueJob(db, "reconcile-service", { service_id: serviceId }, { job_key: name, queue, delay_s: delayS });
}

/** Has the reconciler look at a service again in a while, or sooner where somebody else asked for that. */
export async function lookAtServiceLater(db: Database | Tx, serviceId: string, delayS: number): Promise<void> {
  const options = { job_key: `reconcile-service ${serviceId}`, queue: placeOf("services", serviceId) };
  await enqueueJob(
    db,
    "reconcile-service",
    { service_id: serviceId },
    { ...options, delay_s: delayS, keeps_sooner: true },
  );
}

/** Has the image built that a database waits for; it is the database's next step, and starts the one after. */
export async function enqueueBuildImage(db: Database | Tx, databaseId: string): Promise<void> {
  const options = { job_key: `build-image ${databaseId}`, queue: buildPlaceOf(databaseId) };
  await enqueueJob(db, "build-image", { database_id: databaseId }, options);
}

/** Has a deployment prepared. An organization has one build or preparation under way at a time. */
export async function enqueuePrepareImage(tx: Tx, preparationId: string, databaseId: string): Promise<void> {
  const options = { job_key: `prepare-image ${preparationId}`, queue: buildPlaceOf(databaseId) };
  await enqueueJob(tx, "prepare-image", { preparation_id: preparationId }, options);
}

/** Has the due deliveries of an organization posted: one job for all of them, in the transaction that adds a delivery. */
export async function enqueueDeliveries(db: Database | Tx, orgId: string, delayS = 0): Promise<void> {
  const name = `deliver-webhooks ${orgId}`;
  await enqueueJob(
    db,
    "deliver-webhooks",
    { org_id: orgId },
    { job_key: name, queue: name, delay_s: delayS, keeps_sooner: true },
  );
}

/**
 * Ends an organization's turn: what else of it is due in the same place steps behind the jobs of all others, in the order that it had.
 * Organizations thereby take turns, however many jobs each of them has.
 */
export async function stepBehind(pool: Pick<Pool, "query">, jobQueueId: number): Promise<void> {
  await pool.query(
    `update graphile_worker._private_jobs j set run_at = now() + o.at * interval '1 microsecond' from (
       select id, row_number() over (order by priority, run_at, id) as at from graphile_worker._private_jobs
       where job_queue_id = $1 and is_available and run_at <= now()) o
     where j.id = o.id and j.is_available`,
    [jobQueueId],
  );
}

/** No job of a database is asked for so far ahead. */
const FAR = "5 minutes";

/**
 * Makes jobs of databases and services due that wait for longer than anybody asked them to: whoever set the clock back while they waited did not mean
 * that. Answers how many.
 */
export async function hurryJobs(db: Database): Promise<number> {
  const { rows } = await sql`update graphile_worker._private_jobs set run_at = now()
    where (key like 'reconcile-database %' or key like 'reconcile-service %' or key like 'build-image %' or key like 'prepare-image %') and locked_at is null
      and run_at > now() + ${FAR}::interval returning id`.execute(db);
  return rows.length;
}

/** Adds the job that makes `main` of an organization. */
export async function enqueueProvisionMain(db: Database | Tx, orgId: string): Promise<void> {
  const name = `provision-main ${orgId}`;
  await enqueueJob(db, "provision-main", { org_id: orgId }, { job_key: name, queue: name });
}
