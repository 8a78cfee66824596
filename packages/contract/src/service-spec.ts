import * as z from "zod";
import { manifestSchema } from "./manifest.ts";
import { runtimeSchema } from "./runtime.ts";

/**
 * What a service process is told: `pod.js service <file>`, the file private (0600) and removed by the process once read.
 * Started with a Node IPC channel it answers one `ServiceMessage`.
 */
export const serviceSpecSchema = z.strictObject({
  dsn: z.string(),
  /** Parsed local target: `main`, `main/reports`. */
  target: z.string(),
  manifest: manifestSchema,
  runtime: runtimeSchema,
  /** Services to serve. One is served at the root; several each under `/<service>`. */
  services: z.array(z.string()).min(1),
  host: z.string(),
  /** 0 lets the system choose. */
  port: z.int().min(0).max(65535),
  limits: z.strictObject({
    /** UDF worker processes per service. */
    workers: z.int().min(1),
    /** Time limit of one row in a worker. */
    function_timeout_ms: z.int().min(1),
    worker_memory_mb: z.int().min(16),
    /** Largest request body. */
    body_bytes: z.int().min(1),
    /** Rows that one request may insert. */
    insert_rows: z.int().min(1),
    /** Connections to PostgreSQL per service. */
    connections: z.int().min(2),
    /** Time limit of one statement in PostgreSQL. */
    statement_timeout_ms: z.int().min(1),
    /** Rows and bytes of a query's answer. */
    result_rows: z.int().min(1),
    result_bytes: z.int().min(1),
    /** Rows that queries hold at a time because Python computes something before they are sorted or grouped. */
    rows_in_flight: z.int().min(1),
    /** Requests of one route that wait for their answer at a time. */
    route_requests: z.int().min(1),
    /** Streams of live queries that are open at a time. */
    live_queries: z.int().min(1),
    /** Bytes of the answers of all live queries together. */
    live_bytes: z.int().min(1),
    /** How long the answer of a request with an Idempotency-Key is kept. */
    idempotency_keep_s: z.int().min(1),
    /** Background jobs of a service that have not ended, and how many of them run at a time. */
    background_jobs: z.int().min(1),
    background_at_once: z.int().min(1),
  }),
});
export type ServiceSpec = z.infer<typeof serviceSpecSchema>;

/** Defaults of `limits`; docs/limits.md is printed from here. */
export const DEFAULT_LIMITS: ServiceSpec["limits"] = {
  workers: 1,
  function_timeout_ms: 30_000,
  worker_memory_mb: 512,
  body_bytes: 16_000_000,
  insert_rows: 10_000_000,
  connections: 6,
  statement_timeout_ms: 30_000,
  result_rows: 100_000,
  result_bytes: 64_000_000,
  rows_in_flight: 200_000,
  route_requests: 2_048,
  live_queries: 2_000,
  live_bytes: 64_000_000,
  idempotency_keep_s: 86_400,
  background_jobs: 1_000,
  background_at_once: 16,
};

/** What a service process says over its IPC channel, once: it listens (and its workers are started), or it cannot run. */
export const serviceMessageSchema = z.discriminatedUnion("event", [
  z.strictObject({ event: z.literal("listening"), address: z.string(), port: z.int() }),
  z.strictObject({ event: z.literal("failed"), problem: z.looseObject({ code: z.string(), detail: z.string() }) }),
]);
export type ServiceMessage = z.infer<typeof serviceMessageSchema>;
