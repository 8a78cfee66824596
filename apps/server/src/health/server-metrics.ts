import { DATABASE_STATES, POD_STATES } from "@appdb/contract/routes/control-databases";
import { SERVICE_STATES } from "@appdb/contract/routes/control-services";
import type { Logger } from "@appdb/engine/ports";
import { sql } from "kysely";
import { Gauge, Registry } from "prom-client";
import type { ControlDatabase } from "../database/pool.ts";
import { type DiskFloorDeps, readHomeDisk } from "../storage/disk-floor.ts";
import { PROBLEM_CODES } from "./problems.ts";
import type { ServerHealth } from "./server-health.ts";

const OPEN_STATES = ["pending", "running"] as const;
const BUILD_STATES = ["running", "succeeded", "failed"] as const;
const WEBHOOK_STATES = ["active", "failing", "paused"] as const;
const DELIVERY_STATES = ["pending", "dead"] as const;
const POD_KINDS = ["database", "service"] as const;

type Counted = Readonly<Record<string, number>>;

interface Row {
  databases: Counted;
  full: number;
  services: Counted;
  builds: Counted;
  organizations: Counted;
  pods: Readonly<Record<string, Counted>>;
  restarts: Counted;
  operations: Counted;
  oldest_s: Counted;
  webhooks: Counted;
  deliveries: Counted;
}

export interface ServerMetricsDeps extends DiskFloorDeps {
  readonly db: ControlDatabase;
  readonly log: Logger;
  readonly health: ServerHealth;
}

/**
 * Writes metrics of the server and everything that it runs, in Prometheus format. Labels are states, kinds and codes,
 * never names of tenants. One statement reads all counts; they are missing while PostgreSQL does not answer.
 */
export async function writeServerMetrics(deps: ServerMetricsDeps): Promise<string> {
  const registry = new Registry();
  const gauge = (name: string, help: string, labelNames: readonly string[] = []) =>
    new Gauge({ name: `appdb_${name}`, help, labelNames, registers: [registry] });
  const byLabel = (name: string, help: string, label: string, values: readonly string[], counted: Counted) => {
    const one = gauge(name, help, [label]);
    for (const value of values) one.set({ [label]: value }, counted[value] ?? 0);
  };
  const { problems } = await deps.health.check();
  const codes = new Set(problems.map(({ code }) => code));
  const has = Object.fromEntries([...codes].map((code) => [code, 1]));
  byLabel("health_problem", "1 for each problem in /health.", "code", PROBLEM_CODES, has);
  gauge("control_postgres_up", "1 while the control plane's PostgreSQL answers.").set(
    codes.has("postgres_down") ? 0 : 1,
  );
  if (!codes.has("home_unreadable")) {
    const disk = await readHomeDisk(deps);
    gauge("home_disk_bytes", "Disk size of the home.").set(disk.bytes);
    gauge("home_disk_free_bytes", "Free disk space of the home.").set(disk.free_bytes);
    gauge("home_disk_floor_bytes", "Free disk space below which organizations cannot write.").set(disk.floor_bytes);
    gauge("home_disk_free_files", "Free inodes on the home's disk.").set(disk.free_files);
  }
  if (codes.has("postgres_down")) return await registry.metrics();
  const row = await readRow(deps.db);
  byLabel("databases", "Databases of all organizations, by state.", "state", DATABASE_STATES, row.databases);
  gauge("databases_full", "Databases whose disk is full; their writes are refused.").set(row.full);
  byLabel("services", "Services of all databases, by state.", "state", SERVICE_STATES, row.services);
  byLabel("builds", "Databases by result of their last image build.", "state", BUILD_STATES, row.builds);
  const states = ["active", "suspended"];
  byLabel("organizations", "Organizations by suspension.", "state", states, row.organizations);
  const pods = gauge("pods", "Pods, by kind and state.", ["kind", "state"]);
  for (const kind of POD_KINDS) {
    for (const state of POD_STATES) pods.set({ kind, state }, row.pods[kind]?.[state] ?? 0);
  }
  const restarts = "Automatic restarts of existing pods.";
  byLabel("pod_restarts", restarts, "kind", POD_KINDS, row.restarts);
  byLabel("operations", "Open operations by state.", "state", OPEN_STATES, row.operations);
  const oldest = "Age of the oldest open operation; 0 without one.";
  byLabel("operation_oldest_seconds", oldest, "state", OPEN_STATES, row.oldest_s);
  byLabel(
    "webhooks",
    "Webhooks by state; paused ones get nothing until a member resumes them.",
    "state",
    WEBHOOK_STATES,
    row.webhooks,
  );
  byLabel(
    "webhook_deliveries",
    "Kept deliveries that are waiting or were given up.",
    "state",
    DELIVERY_STATES,
    row.deliveries,
  );
  return await registry.metrics();
}

/** Two partial indexes find the open operations: those of services and the others. */
async function readRow(db: ControlDatabase): Promise<Row> {
  const count = (table: string, state: string, where = "true") => sql`
    (select coalesce(jsonb_object_agg(state, n), '{}') from (
      select ${sql.raw(state)} as state, count(*)::int as n from ${sql.table(table)} where ${sql.raw(where)} group by 1) c)`;
  const { rows } = await sql<Row>`
    with open as materialized (
      select state, created_at from control.operations where state in ('pending', 'running') and service_id is null
      union all
      select state, created_at from control.operations where state in ('pending', 'running') and service_id is not null)
    select ${count("control.databases", "state")} as databases,
      (select count(*)::int from control.databases where (usage ->> 'is_disk_full')::bool) as full,
      ${count("control.services", "state", "not is_pruned")} as services,
      ${count("control.databases", "last_build ->> 'state'", "last_build is not null")} as builds,
      ${count("control.organizations", "case when suspended_at is null then 'active' else 'suspended' end")} as organizations,
      (select coalesce(jsonb_object_agg(kind, states), '{}') from (
        select kind, jsonb_object_agg(state, n) as states from (
          select kind, state, count(*)::int as n from control.pods group by 1, 2) s group by 1) c) as pods,
      (select coalesce(jsonb_object_agg(kind, n), '{}') from (
        select kind, sum(restarts)::int as n from control.pods group by 1) c) as restarts,
      (select coalesce(jsonb_object_agg(state, n), '{}') from (
        select state, count(*)::int as n from open group by 1) c) as operations,
      (select coalesce(jsonb_object_agg(state, s), '{}') from (
        select state, extract(epoch from now() - min(created_at))::float8 as s from open group by 1) c) as oldest_s,
      ${count(
        "control.webhooks",
        "case when paused_at is not null then 'paused' when failing_since is not null then 'failing' else 'active' end",
      )} as webhooks,
      ${count("control.deliveries", "state", "state in ('pending', 'dead')")} as deliveries`.execute(db);
  const [row] = rows;
  if (row === undefined) throw new Error("A statement without a table answered no row.");
  return row;
}
