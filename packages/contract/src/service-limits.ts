import * as z from "zod";
import { DEFAULT_LIMITS, type ServiceSpec, serviceSpecSchema } from "./service-spec.ts";

export type ServiceLimits = ServiceSpec["limits"];

/** The limits with an environment variable, and its name. `connections` has none. */
const VARIABLES = [
  ["workers", "SERVICE_WORKERS"],
  ["function_timeout_ms", "SERVICE_FUNCTION_TIMEOUT_MS"],
  ["worker_memory_mb", "SERVICE_WORKER_MEMORY_MB"],
  ["body_bytes", "SERVICE_BODY_BYTES"],
  ["upload_bytes", "SERVICE_UPLOAD_BYTES"],
  ["insert_rows", "SERVICE_INSERT_ROWS"],
  ["statement_timeout_ms", "SERVICE_STATEMENT_TIMEOUT_MS"],
  ["result_rows", "SERVICE_RESULT_ROWS"],
  ["result_bytes", "SERVICE_RESULT_BYTES"],
  ["compute_bytes", "SERVICE_COMPUTE_BYTES"],
  ["made_bytes", "SERVICE_MADE_BYTES"],
  ["rows_in_flight", "SERVICE_ROWS_IN_FLIGHT"],
  ["route_requests", "SERVICE_ROUTE_REQUESTS"],
  ["live_queries", "SERVICE_LIVE_QUERIES"],
  ["live_bytes", "SERVICE_LIVE_BYTES"],
  ["idempotency_keep_s", "SERVICE_IDEMPOTENCY_KEEP_S"],
  ["background_jobs", "SERVICE_BACKGROUND_JOBS"],
  ["background_at_once", "SERVICE_BACKGROUND_AT_ONCE"],
] as const satisfies readonly (readonly [keyof ServiceLimits, `SERVICE_${string}`])[];

type Name = (typeof VARIABLES)[number][0];
type Variable = (typeof VARIABLES)[number][1];

/** The variable that sets a limit, for hints. */
export function limitVariable(name: Name): string {
  return VARIABLES.find(([limit]) => limit === name)?.[1] ?? name;
}

/** The maximum share of a pod's memory for one body. A row is in memory several times while it is stored. */
export const BODY_SHARE = 1 / 32;
const BYTES_PER_MB = 1024 * 1024;

/** The limit of bodies, with how to raise it, for hints. Default: by the variable of this machine. */
export interface BodyLimit {
  readonly body_bytes: number;
  readonly raise_bodies?: string;
}

/** How to raise a limit of bodies: `raise SERVICE_BODY_BYTES`. */
export function howToRaiseBodies({ raise_bodies: raise }: BodyLimit): string {
  return raise ?? `raise ${limitVariable("body_bytes")}`;
}

/** The limits of a pod. Its server has another setting for bodies, and a small pod a share of its memory. */
export function limitsOfPod<Limits extends BodyLimit>(limits: Limits, memoryMb: number): Limits & BodyLimit {
  const isSmall = limits.body_bytes >= Math.floor(memoryMb * BYTES_PER_MB * BODY_SHARE);
  return {
    ...limits,
    raise_bodies: isSmall ? "raise memory_mb of the database" : "raise SERVICE_MAX_BODY_MB of the server",
  };
}

/** A limit of services. */
export const limitSchema = z.strictObject({
  name: z.string(),
  value: z.number(),
  /** The variable that sets it; null if none does. */
  setting: z.string().nullable(),
  default: z.number(),
});
export type Limit = z.infer<typeof limitSchema>;

/** Limits with the variables that set them, and their defaults. */
export function listLimits(limits: ServiceLimits): Limit[] {
  return Object.entries(limits).map(([name, value]) => ({
    name,
    value,
    setting: VARIABLES.find(([limit]) => limit === name)?.[1] ?? null,
    default: DEFAULT_LIMITS[name as keyof ServiceLimits],
  }));
}

/** Whether a variable sets a limit, which the daemon reads at its start. */
export function isLimitVariable(name: string): boolean {
  return VARIABLES.some(([, variable]) => variable === name);
}

/** An integer in a variable, at least the limit's minimum; empty counts as unset. */
function wholeNumber(name: Name) {
  const min = serviceSpecSchema.shape.limits.shape[name].minValue ?? 0;
  return z
    .string()
    .default("")
    .transform((text, context) => {
      const value = text === "" ? DEFAULT_LIMITS[name] : Number(text);
      if (/^\d*$/.test(text) && Number.isSafeInteger(value) && value >= min) return value;
      context.addIssue({ code: "custom", message: `is '${text}', expected a whole number of at least ${min}` });
      return z.NEVER;
    });
}

/** The environment variables of service limits: of the daemon, and of a server for hosted services. */
export const limitSettings = {
  SERVICE_WORKERS: wholeNumber("workers"),
  SERVICE_FUNCTION_TIMEOUT_MS: wholeNumber("function_timeout_ms"),
  SERVICE_WORKER_MEMORY_MB: wholeNumber("worker_memory_mb"),
  SERVICE_BODY_BYTES: wholeNumber("body_bytes"),
  SERVICE_UPLOAD_BYTES: wholeNumber("upload_bytes"),
  SERVICE_INSERT_ROWS: wholeNumber("insert_rows"),
  SERVICE_STATEMENT_TIMEOUT_MS: wholeNumber("statement_timeout_ms"),
  SERVICE_RESULT_ROWS: wholeNumber("result_rows"),
  SERVICE_RESULT_BYTES: wholeNumber("result_bytes"),
  SERVICE_COMPUTE_BYTES: wholeNumber("compute_bytes"),
  SERVICE_MADE_BYTES: wholeNumber("made_bytes"),
  SERVICE_ROWS_IN_FLIGHT: wholeNumber("rows_in_flight"),
  SERVICE_ROUTE_REQUESTS: wholeNumber("route_requests"),
  SERVICE_LIVE_QUERIES: wholeNumber("live_queries"),
  SERVICE_LIVE_BYTES: wholeNumber("live_bytes"),
  SERVICE_IDEMPOTENCY_KEEP_S: wholeNumber("idempotency_keep_s"),
  SERVICE_BACKGROUND_JOBS: wholeNumber("background_jobs"),
  SERVICE_BACKGROUND_AT_ONCE: wholeNumber("background_at_once"),
} as const satisfies Record<Variable, z.ZodType<number, string | undefined>>;

/** The limits in an environment, with defaults for missing ones, or all errors. */
export function readServiceLimits(
  env: Readonly<Record<string, string | undefined>>,
): { readonly limits: ServiceLimits } | { readonly problems: readonly string[] } {
  const read = z.object(limitSettings).safeParse(env);
  if (read.success) return { limits: toServiceLimits(read.data) };
  return { problems: read.error.issues.map(({ message, path }) => `${path.join(".")} ${message}`) };
}

/** The limits from parsed variables, with defaults for missing ones. */
export function toServiceLimits(found: Partial<Record<Variable, number>>): ServiceLimits {
  const limits = { ...DEFAULT_LIMITS };
  for (const [name, variable] of VARIABLES) limits[name] = found[variable] ?? limits[name];
  return limits;
}
