import type { Problem } from "@appdb/contract/errors";
import { LEASE_MS } from "../jobs/job-store.ts";
import type { Clock, SqlConnection, SqlPool } from "../ports.ts";

/** NOTIFY channel of background jobs: signals new and cancelled jobs. */
export const BACKGROUND_CHANNEL = "appdb_background";
/** Extra starts, beyond its failures, of a job whose processes died. After these it is given up. */
const DEATHS = 3;

/** A request to run later. */
export interface BackgroundRequest {
  readonly id: string;
  /** PostgreSQL schema of the service's tables. */
  readonly folder: string;
  readonly service: string;
  /** Method and path of the route. */
  readonly route: string;
  readonly body: string;
  readonly search: string;
  /** Replaces `body`: a form whose files are stored. */
  readonly form: string | null;
}

/** A job leased by this process. */
export interface BackgroundJob extends BackgroundRequest {
  /** Number of failed attempts. */
  readonly attempts: number;
  readonly most_attempts: number;
}

export interface BackgroundState {
  readonly state: "queued" | "running" | "done" | "failed" | "cancelled";
  readonly error: Problem | null;
  /** The body of the response. */
  readonly result: string | null;
}

export interface BackgroundDeps {
  readonly sql: SqlPool;
  readonly clock: Clock;
}

/**
 * Stores a request in the caller's transaction. Returns false if the service has `most` unfinished jobs. Requests of
 * one service wait for each other here, which makes the limit exact.
 */
export async function queueBackground(
  sql: SqlConnection,
  request: BackgroundRequest,
  limits: { readonly most: number; readonly attempts: number; readonly expires_s: number },
): Promise<boolean> {
  const { id, folder, service, route, body, search, form } = request;
  await sql.query({
    text: "select pg_advisory_xact_lock(hashtextextended($1, 0))",
    values: [`appdb background ${folder} ${service}`],
  });
  const { row_count: rowCount } = await sql.query({
    text: `insert into appdb.background (id, folder, service, route, body, search, most_attempts, expires_s, form, incarnation)
      select $1, $2, $3, $4, $5, $6, $7, $8, $10, s.incarnation from appdb.state s
      where (select count(*) from appdb.background b
        where b.folder = $2 and b.service = $3 and b.state in ('queued', 'running')) < $9::int`,
    values: [id, folder, service, route, body, search, limits.attempts, limits.expires_s, limits.most, form],
  });
  if (rowCount === 1) await sql.query({ text: "select pg_notify($1, '')", values: [BACKGROUND_CHANNEL] });
  return rowCount === 1;
}

export interface LeaseScope {
  readonly folder: string;
  readonly services: readonly string[];
  readonly owner: string;
}

/** Leases the oldest due jobs of some services that no process holds. */
export async function leaseBackground(
  { sql, clock }: BackgroundDeps,
  { folder, services, owner }: LeaseScope,
  max: number,
): Promise<readonly BackgroundJob[]> {
  const now = clock.now();
  const { rows } = await sql.query({
    text: `update appdb.background set state = 'running', owner = $1, lease_until = $2, leases = leases + 1
      where id in (
        select b.id from appdb.background b join appdb.state s on s.incarnation = b.incarnation
        where b.folder = $3 and b.service = any($4::text[]) and b.leases < b.most_attempts + ${DEATHS}
          and ((b.state = 'queued' and b.not_before <= $5) or (b.state = 'running' and b.lease_until < $5))
        order by b.seq limit $6 for update of b skip locked)
      returning json_build_object('id', id, 'folder', folder, 'service', service, 'route', route, 'body', body,
        'search', search, 'form', form, 'attempts', attempts, 'most_attempts', most_attempts)`,
    values: [owner, time(now + LEASE_MS), folder, [...services], time(now), max],
  });
  return rows.map(([text]) => JSON.parse(text ?? "") as BackgroundJob);
}

/** Ends the jobs whose processes died too often. Returns their ids. */
export async function abandonBackground(
  { sql, clock }: BackgroundDeps,
  { folder, services }: LeaseScope,
  error: Problem,
): Promise<readonly string[]> {
  const now = clock.now();
  const { rows } = await sql.query({
    text: `update appdb.background b set state = 'failed', error = $4, owner = null, lease_until = null,
        ended_at = $3, expires_at = $3::timestamptz + make_interval(secs => b.expires_s)
      from appdb.state s where s.incarnation = b.incarnation and b.folder = $1 and b.service = any($2::text[])
        and b.state = 'running' and b.lease_until < $3 and b.leases >= b.most_attempts + ${DEATHS}
      returning b.id`,
    values: [folder, [...services], time(now), JSON.stringify(error)],
  });
  return rows.map(([id]) => id ?? "");
}

/** Renews leases. Jobs missing from the result have ended or belong to another process. */
export async function renewBackground(
  { sql, clock }: BackgroundDeps,
  owner: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, { readonly is_cancelled: boolean }>> {
  const { rows } = await sql.query({
    text: `update appdb.background set lease_until = $3
      where id = any($1::uuid[]) and owner = $2 and state = 'running' returning id, is_cancelled`,
    values: [[...ids], owner, time(clock.now() + LEASE_MS)],
  });
  return new Map(rows.map(([id, isCancelled]) => [id ?? "", { is_cancelled: isCancelled === "t" }]));
}

/** Ends a job of this process with its result or error. Does nothing if another process holds the job. */
export async function endBackground(
  { sql, clock }: BackgroundDeps,
  owner: string,
  id: string,
  end: { readonly state: "done" | "failed" | "cancelled"; readonly result?: string; readonly error?: Problem },
): Promise<void> {
  await sql.query({
    text: `update appdb.background set state = $3, result = $4, error = $5, owner = null, lease_until = null,
        attempts = attempts + ($3::text = 'failed')::int, ended_at = $6, expires_at = $6::timestamptz + make_interval(secs => expires_s)
      where id = $1 and owner = $2 and state = 'running'`,
    values: [
      id,
      owner,
      end.state,
      end.result ?? null,
      end.error === undefined ? null : JSON.stringify(end.error),
      time(clock.now()),
    ],
  });
}

/** Returns a job to the queue, to start again after a pause. `has_failed`: this counts as one of its attempts. */
export async function releaseBackground(
  { sql, clock }: BackgroundDeps,
  owner: string,
  id: string,
  { has_failed: hasFailed, pause_ms: pauseMs }: { readonly has_failed: boolean; readonly pause_ms: number },
): Promise<void> {
  await sql.query({
    text: `update appdb.background set state = 'queued', owner = null, lease_until = null, not_before = $3,
        attempts = attempts + $4::int, leases = leases - 1 + $4::int
      where id = $1 and owner = $2 and state = 'running'`,
    values: [id, owner, time(clock.now() + pauseMs), hasFailed ? 1 : 0],
  });
}

/** Reads the status of a job; undefined if it does not exist or has expired. */
export async function readBackground(
  { sql, clock }: BackgroundDeps,
  { folder, service, id }: Pick<BackgroundRequest, "folder" | "service" | "id">,
): Promise<BackgroundState | undefined> {
  const { rows } = await sql.query({
    text: `select state, error, result from appdb.background
      where id = $1 and folder = $2 and service = $3 and (expires_at is null or expires_at > $4)`,
    values: [id, folder, service, time(clock.now())],
  });
  const [state, error, result] = rows[0] ?? [];
  if (state == null) return undefined;
  const parsed = error == null ? null : (JSON.parse(error) as Problem);
  return { state: state as BackgroundState["state"], error: parsed, result: result ?? null };
}

/** Ends a waiting job, or signals a running one to stop. False if it had already ended. */
export async function cancelBackground({ sql, clock }: BackgroundDeps, id: string): Promise<boolean> {
  const { row_count: rowCount } = await sql.query({
    text: `update appdb.background set is_cancelled = true,
        state = case state when 'queued' then 'cancelled' else state end,
        ended_at = case state when 'queued' then $2::timestamptz end,
        expires_at = case state when 'queued' then $2::timestamptz + make_interval(secs => expires_s) end
      where id = $1 and state in ('queued', 'running')`,
    values: [id, time(clock.now())],
  });
  if (rowCount > 0) await sql.query({ text: "select pg_notify($1, '')", values: [BACKGROUND_CHANNEL] });
  return rowCount > 0;
}

/** Removes expired jobs. Returns their number. */
export async function collectBackground({ sql, clock }: BackgroundDeps): Promise<number> {
  const { row_count: rowCount } = await sql.query({
    text: "delete from appdb.background where expires_at <= $1",
    values: [time(clock.now())],
  });
  return rowCount;
}

function time(ms: number): string {
  return new Date(ms).toISOString();
}
