import { sql } from "kysely";
import * as z from "zod";
import type { Database, Tx } from "../database/pool.ts";

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
  /** Posts an event to a webhook. */
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
  readonly queue?: string;
}

/** Adds a job in the transaction of the change that it serves: both are there or neither is. */
export async function enqueueJob<Name extends JobName>(
  db: Database | Tx,
  name: Name,
  payload: z.input<(typeof JOBS)[Name]>,
  options: EnqueueOptions,
): Promise<void> {
  await sql`select graphile_worker.add_job(identifier => ${name}, payload => ${JSON.stringify(payload)}::json,
    run_at => now() + make_interval(secs => ${options.delay_s ?? 0}::float8), job_key => ${options.job_key}, queue_name => ${options.queue ?? null})`.execute(
    db,
  );
}

/**
 * Has the reconciler look at a database: what shall be, what is, and the operation that waits. It belongs in the transaction
 * that changes one of these. A database is worked at by one job at a time.
 */
export async function enqueueReconcileDatabase(db: Database | Tx, database_id: string, delay_s = 0): Promise<void> {
  const name = `reconcile-database ${database_id}`;
  await enqueueJob(db, "reconcile-database", { database_id }, { job_key: name, queue: name, delay_s });
}

/** The same for a service. Its job runs beside the one of its database. */
export async function enqueueReconcileService(db: Database | Tx, service_id: string, delay_s = 0): Promise<void> {
  const name = `reconcile-service ${service_id}`;
  await enqueueJob(db, "reconcile-service", { service_id }, { job_key: name, queue: name, delay_s });
}

/** Has the image built that a database waits for; it is the database's next step, and starts the one after. */
export async function enqueueBuildImage(db: Database | Tx, database_id: string): Promise<void> {
  await enqueueJob(db, "build-image", { database_id }, { job_key: `build-image ${database_id}` });
}

/** Has a deployment prepared; those of a database one after the other, so that no other's builds wait for all of them. */
export async function enqueuePrepareImage(tx: Tx, preparation_id: string, database_id: string): Promise<void> {
  const options = { job_key: `prepare-image ${preparation_id}`, queue: `prepare-image ${database_id}` };
  await enqueueJob(tx, "prepare-image", { preparation_id }, options);
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
