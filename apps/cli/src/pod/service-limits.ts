import { appError } from "@appdb/contract/errors";
import { DEFAULT_LIMITS, type ServiceSpec } from "@appdb/contract/service-spec";

type Limits = ServiceSpec["limits"];

/** The daemon's settings for its services; a service in the foreground takes the same. */
const VARIABLES = {
  SERVICE_WORKERS: ["workers", 1],
  SERVICE_FUNCTION_TIMEOUT_MS: ["function_timeout_ms", 1],
  SERVICE_WORKER_MEMORY_MB: ["worker_memory_mb", 16],
  SERVICE_BODY_BYTES: ["body_bytes", 1],
  SERVICE_INSERT_ROWS: ["insert_rows", 1],
  SERVICE_STATEMENT_TIMEOUT_MS: ["statement_timeout_ms", 1],
  SERVICE_RESULT_ROWS: ["result_rows", 1],
  SERVICE_RESULT_BYTES: ["result_bytes", 1],
  SERVICE_ROWS_IN_FLIGHT: ["rows_in_flight", 1],
  SERVICE_LIVE_QUERIES: ["live_queries", 1],
  SERVICE_LIVE_BYTES: ["live_bytes", 1],
  SERVICE_IDEMPOTENCY_KEEP_S: ["idempotency_keep_s", 1],
  SERVICE_BACKGROUND_JOBS: ["background_jobs", 1],
  SERVICE_BACKGROUND_AT_ONCE: ["background_at_once", 1],
} as const satisfies Record<string, readonly [keyof Limits, number]>;

/** Limits of a service from the environment, all problems told together. @throws config_invalid */
export function readServiceLimits(env: Readonly<Record<string, string>>): Limits {
  const limits = { ...DEFAULT_LIMITS };
  const problems: string[] = [];
  for (const [variable, [field, least]] of Object.entries(VARIABLES)) {
    const text = env[variable];
    if (text === undefined || text === "") continue;
    const value = Number(text);
    if (/^\d+$/.test(text) && Number.isSafeInteger(value) && value >= least) limits[field] = value;
    else problems.push(`${variable} is '${text}', a whole number of at least ${least} is wanted`);
  }
  if (problems.length === 0) return limits;
  throw appError("config_invalid", {
    detail: `The environment is not valid: ${problems.join("; ")}.`,
    hint: "Correct or unset these variables.",
  });
}
