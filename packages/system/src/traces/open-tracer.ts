import type { Logger, RequestTracer } from "@appdb/engine/ports";
import type { OtlpTracerInput } from "./otlp-tracer.ts";

/** One of them has to be set before anything is traced, or loaded for it. */
const ASKED_BY = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];

const VARIABLES = [
  ...ASKED_BY,
  "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
  "OTEL_EXPORTER_OTLP_HEADERS",
  "OTEL_TRACES_SAMPLER_ARG",
  "OTEL_SDK_DISABLED",
];

/** What of an environment the tracer hangs on, by name; values may hold credentials. Empty when nothing is traced. */
export function traceVariables(env: Readonly<Record<string, string | undefined>>): Readonly<Record<string, string>> {
  if (!ASKED_BY.some((name) => env[name])) return {};
  return Object.fromEntries(VARIABLES.flatMap((name) => (env[name] ? [[name, env[name]]] : [])));
}

/**
 * The tracer that the variables of an environment ask for (otlp-tracer.ts); undefined when they ask for none, and after a line in
 * the log when they cannot be used: nobody is refused service for that.
 */
export async function openTracer(
  env: Readonly<Record<string, string | undefined>>,
  about: Omit<OtlpTracerInput, "settings">,
  log: Logger,
): Promise<(RequestTracer & AsyncDisposable) | undefined> {
  if (!ASKED_BY.some((name) => env[name])) return undefined;
  const { createOtlpTracer, readTraceSettings } = await import("./otlp-tracer.ts");
  try {
    const settings = readTraceSettings(env);
    return settings === undefined ? undefined : createOtlpTracer({ ...about, settings }, log);
  } catch (error) {
    log.warn({ reason: error instanceof Error ? error.message : String(error) }, "nothing is traced");
    return undefined;
  }
}
