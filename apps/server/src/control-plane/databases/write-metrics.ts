import { DATABASE_STATES } from "@appdb/contract/routes/control-databases";
import { Counter, Gauge, Registry } from "prom-client";
import type { ControlDatabase } from "../../database/pool.ts";
import type { OrgOfDatabases } from "./databases-store.ts";

/** Writes state and usage of an organization's databases in Prometheus format. Omits unmeasured values. */
export async function writeMetrics(db: ControlDatabase, org: OrgOfDatabases): Promise<{ type: string; text: string }> {
  const registry = new Registry();
  const gauge = (name: string, help: string, more: readonly string[] = []) => {
    const labelNames = ["organization", "database", ...more];
    return new Gauge({ name: `appdb_database_${name}`, help, labelNames, registers: [registry] });
  };
  const states = gauge("state", "1 for its current state.", ["state"]);
  const awake = gauge("awake_seconds", "Uptime of its pod; 0 without a pod.");
  const total = (name: string, help: string) =>
    new Counter({
      name: `appdb_database_${name}_seconds_total`,
      help,
      labelNames: ["organization", "database"],
      registers: [registry],
    });
  const cpu = total("cpu", "CPU time of all its pods since its creation.");
  const awakeTotal = total("awake", "Time awake since its creation.");
  const restarts = gauge("pod_restarts", "Automatic restarts of its pod.");
  const memory = gauge("memory_bytes", "Memory of its pods.");
  const memoryLimit = gauge("memory_limit_bytes", "Maximum memory of the pods.");
  const disk = gauge("disk_bytes", "Used disk space.");
  const diskLimit = gauge("disk_limit_bytes", "Disk size at which writes are refused.");
  for (const row of await readRows(db, org.id)) {
    const labels = { organization: org.name, database: row.name };
    for (const state of DATABASE_STATES) states.set({ ...labels, state }, row.state === state ? 1 : 0);
    const { memory_mb: memoryMb } = (row.observed ?? row.desired).resources;
    const runsS = row.started_at === null ? 0 : (Date.now() - row.started_at.getTime()) / 1_000;
    awake.set(labels, Math.max(0, runsS));
    cpu.inc(labels, Number(row.cpu_ms) / 1_000);
    awakeTotal.inc(labels, Number(row.awake_ms) / 1_000);
    restarts.set(labels, row.restarts ?? 0);
    memoryLimit.set(labels, memoryMb * 1024 * 1024);
    if (row.started_at === null) memory.set(labels, 0);
    else if (row.memory_bytes !== null) memory.set(labels, Number(row.memory_bytes));
    if (row.usage === null) continue;
    if (row.usage.disk_bytes > 0) disk.set(labels, row.usage.disk_bytes);
    diskLimit.set(labels, row.usage.disk_limit_bytes);
  }
  return { type: registry.contentType, text: await registry.metrics() };
}

async function readRows(db: ControlDatabase, orgId: string) {
  return await db
    .selectFrom("control.databases as d")
    .leftJoin("control.pods as p", (join) =>
      join
        .onRef("p.database_id", "=", "d.id")
        .on("p.kind", "=", "database")
        .on("p.state", "in", ["READY", "NOT_READY"]),
    )
    .select(["d.name", "d.state", "d.desired", "d.observed", "d.usage", "d.cpu_ms", "d.awake_ms"])
    .select(["p.started_at", "p.restarts", "p.memory_bytes"])
    .where("d.org_id", "=", orgId)
    .orderBy("d.name")
    .execute();
}
