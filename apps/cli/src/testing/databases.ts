import type { CallAnswer } from "@appdb/contract/clients/control-client";

type Operation = CallAnswer<"operationShow">;
type Database = CallAnswer<"databaseShow">;

export const AT = "2026-11-22T10:00:00.000Z";

/** A database as the control plane returns it. */
export const DATABASE: Database = {
  id: "db1",
  name: "main",
  uri: "cloud://acme:main",
  organization: "acme",
  state: "AVAILABLE",
  created_at: AT,
  generation: 1,
  resources: { cpu: 1, memory_mb: 1024, disk_gb: 10, workers: 1 },
  desired_resources: { cpu: 1, memory_mb: 1024, disk_gb: 10, workers: 1 },
  image: { hash: null, source: null, python: "3.13.1", packages: 0, bytes: 0, built_at: null },
  project: null,
  last_build: null,
  failure: null,
  sleep_after: "never",
  wake_on_request: true,
  awake_because: null,
  usage: null,
  used: { cpu_seconds: 0, awake_seconds: 0 },
  pods: [],
  operation: null,
  purged_at: null,
};

/** A succeeded operation. */
export const DONE: Operation = {
  id: "op1",
  kind: "database.update",
  target: "cloud://acme:main",
  state: "succeeded",
  actor: "ann@example.com",
  detail: null,
  error: null,
  created_at: AT,
  started_at: AT,
  ended_at: AT,
};

/** Answer of a route that requests a change. */
export function changeOf(kind: string, database: Partial<Database> = {}): CallAnswer<"databaseStart"> {
  const operation = { id: "op1", kind };
  return { database: { ...DATABASE, operation, ...database }, operation };
}

export function logLine(number: number, line: string) {
  return { number, at: AT, level: "info" as const, line };
}
