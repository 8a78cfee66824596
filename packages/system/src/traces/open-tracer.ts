import type { Logger } from "@appdb/engine/ports";
import type { RequestTracer } from "@appdb/engine/request-tracer";
import type { OtlpTracerInput } from "./otlp-tracer.ts";

/** At least one of them must be set before anything is traced or loaded. */
const ASKED_BY = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];

const VARIABLES = [
  ...ASKED_BY,
  "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
  "OTEL_EXPORTER_OTLP_HEADERS",
  "OTEL_TRACES_SAMPLER_ARG",
  "OTEL_SDK_DISABLED",
];

/** Names of the environment variables that affect tracing; values may contain credentials. Empty without tracing. */
export function traceVariables(env: Readonly<Record<string, string | undefined>>): Readonly<Record<string, string>> {
  if (!ASKED_BY.some((name) => env[name])) return {};
  return Object.fromEntries(VARIABLES.flatMap((name) => (env[name] ? [[name, env[name]]] : [])));
}

/**
 * Opens the tracer that the environment configures (otlp-tracer.ts). Undefined without configuration, and, after a log
 * entry, when it is invalid, because tracing must not stop the service.
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
    log.warn(
      { reason: error instanceof Error ? error.message : String(error) },
      "tracing is off because of invalid settings",
    );
    return undefined;
  }
}
