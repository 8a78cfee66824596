import * as z from "zod";
import { manifestSchema } from "./manifest.ts";
import { mediaPlaceSchema } from "./media-place.ts";
import { runtimeSchema } from "./runtime.ts";

/**
 * The start document of a service process: `pod.js service <file>`. The file is private (0600), and the process deletes
 * it after reading. Started with a Node IPC channel, it sends one `ServiceMessage`.
 */
export const serviceSpecSchema = z.strictObject({
  dsn: z.string(),
  /** Parsed local target: `main`, `main/reports`. */
  target: z.string(),
  manifest: manifestSchema,
  runtime: runtimeSchema,
  media: mediaPlaceSchema,
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
    /** Maximum bytes of all files of one upload. */
    upload_bytes: z.int().min(1),
    /** Maximum rows of one insert request. */
    insert_rows: z.int().min(1),
    /** Connections to PostgreSQL per service. */
    connections: z.int().min(2),
    /** Time limit of one statement in PostgreSQL. */
    statement_timeout_ms: z.int().min(1),
    /** Maximum rows and bytes of a query's result. */
    result_rows: z.int().min(1),
    result_bytes: z.int().min(1),
    /** Maximum bytes of the response to one request that computes many rows and stores none. */
    compute_bytes: z.int().min(1),
    /** Maximum bytes of rows that iterator views make for responses to single rows, in one process. */
    made_bytes: z.int().min(1),
    /** Rows that queries hold at a time because Python computes a value before sorting or grouping. */
    rows_in_flight: z.int().min(1),
    /** Maximum concurrent requests of one route. */
    route_requests: z.int().min(1),
    /** Maximum open live query streams. */
    live_queries: z.int().min(1),
    /** Maximum bytes of the results of all live queries together. */
    live_bytes: z.int().min(1),
    /** Retention of the response to a request with an Idempotency-Key. */
    idempotency_keep_s: z.int().min(1),
    /** Maximum unfinished background jobs of a service, and how many of them run at a time. */
    background_jobs: z.int().min(1),
    background_at_once: z.int().min(1),
  }),
});
export type ServiceSpec = z.infer<typeof serviceSpecSchema>;

/** Defaults of `limits`; docs/limits.md is generated from it. */
export const DEFAULT_LIMITS: ServiceSpec["limits"] = {
  workers: 1,
  function_timeout_ms: 30_000,
  worker_memory_mb: 512,
  body_bytes: 16_000_000,
  upload_bytes: 2_000_000_000,
  insert_rows: 10_000_000,
  connections: 6,
  statement_timeout_ms: 30_000,
  result_rows: 100_000,
  result_bytes: 64_000_000,
  compute_bytes: 1_000_000_000,
  made_bytes: 128_000_000,
  rows_in_flight: 200_000,
  route_requests: 2_048,
  live_queries: 2_000,
  live_bytes: 64_000_000,
  idempotency_keep_s: 86_400,
  background_jobs: 1_000,
  background_at_once: 16,
};

/** The one IPC message of a service process: it listens (and its workers are started), or it cannot run. */
export const serviceMessageSchema = z.discriminatedUnion("event", [
  z.strictObject({ event: z.literal("listening"), address: z.string(), port: z.int() }),
  z.strictObject({ event: z.literal("failed"), problem: z.looseObject({ code: z.string(), detail: z.string() }) }),
]);
export type ServiceMessage = z.infer<typeof serviceMessageSchema>;
