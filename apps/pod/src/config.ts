import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { appError } from "@appdb/contract/errors";
import { DEFAULT_LIMITS, type ServiceSpec } from "@appdb/contract/service-spec";
import * as z from "zod";

/** A whole number in a variable; empty counts as unset. */
const count = (fallback: number, min: number) =>
  z.preprocess((text) => (text === "" ? undefined : text), z.coerce.number().int().min(min).default(fallback));
const text = z.preprocess((value) => (value === "" ? undefined : value), z.string().optional());

/** Every variable that the daemon reads. */
const environmentSchema = z.object({
  /** Everything the daemon keeps. */
  SERVICE_HOME: text,
  /** bin folder of another PostgreSQL 18. */
  SERVICE_PG_BIN: text,
  /** An own PostgreSQL server instead of the embedded one. */
  SERVICE_LOCAL_DATABASE_URL: text,
  SERVICE_LOG_LEVEL: z.preprocess(
    (value) => (value === "" ? undefined : value),
    z.enum(["debug", "info", "warn", "error"]).default("info"),
  ),
  /** UDF worker processes of each service. */
  SERVICE_WORKERS: count(DEFAULT_LIMITS.workers, 1),
  /** Time limit of one row in a worker. */
  SERVICE_FUNCTION_TIMEOUT_MS: count(DEFAULT_LIMITS.function_timeout_ms, 1),
  SERVICE_WORKER_MEMORY_MB: count(DEFAULT_LIMITS.worker_memory_mb, 16),
  /** Largest request body. */
  SERVICE_BODY_BYTES: count(DEFAULT_LIMITS.body_bytes, 1),
  /** Rows that one request may insert. */
  SERVICE_INSERT_ROWS: count(DEFAULT_LIMITS.insert_rows, 1),
  /** Time limit of one statement of a service. */
  SERVICE_STATEMENT_TIMEOUT_MS: count(DEFAULT_LIMITS.statement_timeout_ms, 1),
  /** Largest answer of a query. */
  SERVICE_RESULT_ROWS: count(DEFAULT_LIMITS.result_rows, 1),
  SERVICE_RESULT_BYTES: count(DEFAULT_LIMITS.result_bytes, 1),
  /** Rows that queries hold for Python. */
  SERVICE_ROWS_IN_FLIGHT: count(DEFAULT_LIMITS.rows_in_flight, 1),
  SERVICE_LIVE_QUERIES: count(DEFAULT_LIMITS.live_queries, 1),
  SERVICE_LIVE_BYTES: count(DEFAULT_LIMITS.live_bytes, 1),
  /** How long answers to requests with a key are kept. */
  SERVICE_IDEMPOTENCY_KEEP_S: count(DEFAULT_LIMITS.idempotency_keep_s, 1),
  SERVICE_BACKGROUND_JOBS: count(DEFAULT_LIMITS.background_jobs, 1),
  SERVICE_BACKGROUND_AT_ONCE: count(DEFAULT_LIMITS.background_at_once, 1),
  /** Folder for sockets, the system's temporary folder when unset. */
  XDG_RUNTIME_DIR: text,
});

export interface DaemonConfig {
  readonly home: string;
  readonly postgres: { readonly bin: string | undefined; readonly url: string | undefined };
  readonly runtime_base: string | undefined;
  readonly log_level: "debug" | "info" | "warn" | "error";
  readonly limits: ServiceSpec["limits"];
}

/** Reads the daemon's settings from the environment, all problems reported together. @throws config_invalid */
export function readDaemonConfig(env: Readonly<Record<string, string | undefined>> = process.env): DaemonConfig {
  const parsed = environmentSchema.safeParse(env);
  if (!parsed.success) {
    const problems = parsed.error.issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`);
    throw appError("config_invalid", {
      detail: `The environment is not valid: ${problems.join("; ")}.`,
      hint: "Correct or unset these variables.",
      meta: { variables: parsed.error.issues.map((issue) => issue.path.join(".")) },
    });
  }
  const found = parsed.data;
  return {
    home: resolve(found.SERVICE_HOME ?? join(homedir(), ".service")),
    postgres: { bin: found.SERVICE_PG_BIN, url: found.SERVICE_LOCAL_DATABASE_URL },
    runtime_base: found.XDG_RUNTIME_DIR,
    log_level: found.SERVICE_LOG_LEVEL,
    limits: {
      ...DEFAULT_LIMITS,
      workers: found.SERVICE_WORKERS,
      function_timeout_ms: found.SERVICE_FUNCTION_TIMEOUT_MS,
      worker_memory_mb: found.SERVICE_WORKER_MEMORY_MB,
      body_bytes: found.SERVICE_BODY_BYTES,
      insert_rows: found.SERVICE_INSERT_ROWS,
      statement_timeout_ms: found.SERVICE_STATEMENT_TIMEOUT_MS,
      result_rows: found.SERVICE_RESULT_ROWS,
      result_bytes: found.SERVICE_RESULT_BYTES,
      rows_in_flight: found.SERVICE_ROWS_IN_FLIGHT,
      live_queries: found.SERVICE_LIVE_QUERIES,
      live_bytes: found.SERVICE_LIVE_BYTES,
      idempotency_keep_s: found.SERVICE_IDEMPOTENCY_KEEP_S,
      background_jobs: found.SERVICE_BACKGROUND_JOBS,
      background_at_once: found.SERVICE_BACKGROUND_AT_ONCE,
    },
  };
}

const launcherSchema = z.array(z.string()).min(1);

/** What stands before the Python of tenants' code where a driver of pods bounds it: SERVICE_POD_LAUNCHER, a JSON array. @throws config_invalid */
export function readPodLauncher(env: Readonly<Record<string, string | undefined>> = process.env): string[] | undefined {
  const value = env.SERVICE_POD_LAUNCHER;
  if (value === undefined || value === "") return undefined;
  try {
    return launcherSchema.parse(JSON.parse(value));
  } catch (cause) {
    throw appError("config_invalid", {
      detail: "SERVICE_POD_LAUNCHER is no JSON array of texts.",
      hint: "The driver of the pods sets it; correct or unset it.",
      cause,
    });
  }
}
