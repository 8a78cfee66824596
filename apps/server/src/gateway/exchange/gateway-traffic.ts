import { randomBytes } from "node:crypto";
import type { Logger } from "@appdb/engine/ports";
import { withinTime } from "@appdb/system/processes/within-time";
import { sql } from "kysely";
import { type ControlDatabase, errorFields } from "../../database/pool.ts";
import type { CountedRoute } from "../../database/service-tables.ts";
import { bucketOf } from "../../edge/latencies.ts";

const WRITE_MS = 2_000;
/** Minutes kept while PostgreSQL does not answer. */
const MAX_WAITING = 15;
/** Maximum paths of one service in one minute. Others, and longer ones, are counted together: callers choose them. */
const MAX_PATHS = 64;
const ROUTE_CHARACTERS = 208;
/** How long a stopping gateway waits for the last write. */
const LAST_MS = 1_000;
const MINUTE_MS = 60_000;

export interface TrafficDeps {
  readonly db: ControlDatabase;
  readonly log: Logger;
  /** Milliseconds since 1970. */
  now?(): number;
}

export interface CountedRequest {
  /** Method and path within the service, without its query: `POST /docs`. */
  readonly route: string;
  readonly status: number;
  readonly ms: number;
  /** The application's code failed, whatever the status. */
  readonly has_failed?: boolean;
}

/** Counts requests to services and their results by minute. */
export interface GatewayTraffic extends AsyncDisposable {
  count(serviceId: string, request: CountedRequest): void;
  /** Writes the counts since the last write, in one statement. Also runs every few seconds. */
  write(): Promise<void>;
}

interface Counted {
  client_errors: number;
  server_errors: number;
  readonly latencies: number[];
}
type Minute = Map<string, Map<string, Counted>>;

/** Counts requests into `control.traffic`. Drops counts that cannot be written for long, never requests. */
export function createTraffic({ db, log, now = Date.now }: TrafficDeps): GatewayTraffic {
  const writer = randomBytes(6).toString("base64url");
  const waiting = new Map<number, Minute>();
  let current: Minute = new Map();
  let currentAt = -1;
  let isChanged = false;
  let isLost = false;
  const turn = (at: number) => {
    currentAt = at;
    // exists if the clock was set back
    current = waiting.get(at) ?? new Map();
    waiting.set(at, current);
    for (const oldest of waiting.keys()) {
      if (waiting.size <= MAX_WAITING) break;
      waiting.delete(oldest);
    }
  };
  const write = async () => {
    if (!isChanged) return;
    isChanged = false;
    const rows = [...waiting].flatMap(([at, minute]) => toRows(at, minute));
    const ended = [...waiting.keys()].filter((at) => at !== currentAt);
    try {
      await writeRows(db, writer, rows);
      // the current minute is written whole again
      for (const at of ended) waiting.delete(at);
      isLost = false;
    } catch (error) {
      isChanged = true;
      if (!isLost) log.warn(errorFields(error), "cannot write traffic counts; they are kept for some minutes");
      isLost = true;
    }
  };
  let last: Promise<void> = Promise.resolve();
  const writeNext = () => (last = last.then(write));
  const timer = setInterval(() => void writeNext(), WRITE_MS).unref();
  return {
    count(serviceId, { route, status, ms, has_failed: hasFailed = false }) {
      const at = Math.floor(now() / MINUTE_MS);
      if (at !== currentAt) turn(at);
      isChanged = true;
      const routes = current.get(serviceId) ?? new Map<string, Counted>();
      if (routes.size === 0) current.set(serviceId, routes);
      const counted = countedOf(routes, route.length > ROUTE_CHARACTERS ? "" : route);
      if (hasFailed || status >= 500) counted.server_errors += 1;
      else if (status >= 400) counted.client_errors += 1;
      const bucket = bucketOf(ms);
      counted.latencies[bucket] = (counted.latencies[bucket] ?? 0) + 1;
    },
    write: writeNext,
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      await withinTime(writeNext(), LAST_MS);
    },
  };
}

function countedOf(routes: Map<string, Counted>, route: string): Counted {
  const known = routes.get(route);
  if (known !== undefined) return known;
  if (route !== "" && routes.size >= MAX_PATHS) return countedOf(routes, "");
  const counted = { client_errors: 0, server_errors: 0, latencies: [] };
  routes.set(route, counted);
  return counted;
}

interface Row {
  readonly service_id: string;
  readonly minute: string;
  readonly routes: Readonly<Record<string, CountedRoute>>;
}

function toRows(at: number, minute: Minute): Row[] {
  return [...minute].map(([serviceId, routes]) => ({
    service_id: serviceId,
    minute: new Date(at * MINUTE_MS).toISOString(),
    routes: Object.fromEntries(
      [...routes].map(([route, { latencies, ...errors }]) => [
        route,
        // JSON would turn holes into nulls
        { ...errors, latencies: Array.from(latencies, (count) => count ?? 0) },
      ]),
    ),
  }));
}

/** Skips services that were removed meanwhile. */
async function writeRows(db: ControlDatabase, writer: string, rows: readonly Row[]): Promise<void> {
  await sql`insert into control.traffic (service_id, minute, writer, routes)
    select r.service_id, r.minute, ${writer}, r.routes
    from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as r (service_id uuid, minute timestamptz, routes jsonb)
    join control.services s on s.id = r.service_id
    on conflict (service_id, minute, writer) do update set routes = excluded.routes`.execute(db);
}
