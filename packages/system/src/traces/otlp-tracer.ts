import { performance } from "node:perf_hooks";
import type { Logger } from "@appdb/engine/ports";
import type { RequestTrace, RequestTracer, TracedRequest } from "@appdb/engine/request-tracer";
import type { NotePart } from "@appdb/engine/timing";
import {
  type Context,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import { ExportResultCode, parseKeyPairsIntoRecord, parseTraceParent } from "@opentelemetry/core";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import { withinTime } from "../processes/within-time.ts";

/** Settings of tracing, which is off unless an address is set. */
export interface TraceSettings {
  /** OTLP over HTTP endpoint: `http://collector:4318/v1/traces`. */
  readonly url: string;
  /** Headers of every export; may contain credentials. */
  readonly headers: Readonly<Record<string, string>>;
  /** Share of requests without a trace that are sampled: 0 to 1. */
  readonly ratio: number;
}

const SIGNAL_PATH = "/v1/traces";

/**
 * Reads the standard variables of OpenTelemetry SDKs (https://opentelemetry.io/docs/specs/otel/protocol/exporter/):
 * OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, otherwise OTEL_EXPORTER_OTLP_ENDPOINT; OTEL_EXPORTER_OTLP_TRACES_HEADERS,
 * otherwise OTEL_EXPORTER_OTLP_HEADERS; OTEL_TRACES_SAMPLER_ARG; OTEL_SDK_DISABLED. Undefined without tracing.
 * @throws Error with the name of the invalid variable, without its value
 */
export function readTraceSettings(env: Readonly<Record<string, string | undefined>>): TraceSettings | undefined {
  if (env.OTEL_SDK_DISABLED?.toLowerCase() === "true") return undefined;
  const name = env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT
    ? "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
    : "OTEL_EXPORTER_OTLP_ENDPOINT";
  const endpoint = env[name]?.trim();
  if (endpoint === undefined || endpoint === "") return undefined;
  const url = URL.canParse(endpoint) ? new URL(endpoint) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new Error(`${name} is not an address that begins with http:// or https://`);
  }
  if (name === "OTEL_EXPORTER_OTLP_ENDPOINT") url.pathname = url.pathname.replace(/\/*$/, SIGNAL_PATH);
  const headers = env.OTEL_EXPORTER_OTLP_TRACES_HEADERS ?? env.OTEL_EXPORTER_OTLP_HEADERS;
  return { url: url.href, headers: parseKeyPairsIntoRecord(headers), ratio: readRatio(env.OTEL_TRACES_SAMPLER_ARG) };
}

function readRatio(text: string | undefined): number {
  if (text === undefined || text.trim() === "") return 1;
  const ratio = Number(text);
  if (!(ratio >= 0 && ratio <= 1)) throw new Error("OTEL_TRACES_SAMPLER_ARG is not a number from 0 to 1");
  return ratio;
}

export interface OtlpTracerInput {
  readonly settings: TraceSettings;
  /** Service name in collectors: `cloud://acme:main/ingest`. */
  readonly name: string;
  readonly version: string;
  /** Role of the tracing process for the request. */
  readonly role: "service" | "gateway";
}

const EXPORT_EVERY_MS = 2_000;
const EXPORT_MS = 10_000;
const LAST_EXPORT_MS = 2_000;
const SAY_EVERY_MS = 60_000;

/** Exports spans to a collector by OTLP over HTTP, in batches of some seconds. Disposing exports the rest. */
export function createOtlpTracer(input: OtlpTracerInput, log: Logger): RequestTracer & AsyncDisposable {
  const { name, role, settings, version } = input;
  const exporter = new OTLPTraceExporter({ url: settings.url, headers: { ...settings.headers } });
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ "service.name": name, "service.version": version }),
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(settings.ratio) }),
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: logFailures(exporter, log),
        scheduledDelayMillis: EXPORT_EVERY_MS,
        exportTimeoutMillis: EXPORT_MS,
      }),
    ],
  });
  const tracer = provider.getTracer("appdb", version);
  return {
    begin: (request) => beginTrace(tracer, request, role),
    async [Symbol.asyncDispose]() {
      // logFailures has already logged a failed export
      const ended = provider.shutdown().catch(() => undefined);
      await withinTime(ended, LAST_EXPORT_MS);
    },
  };
}

function beginTrace(tracer: Tracer, request: TracedRequest, role: OtlpTracerInput["role"]): RequestTrace | undefined {
  const { headers, id, method, route, service } = request;
  const span = tracer.startSpan(
    `${method} ${route}`,
    {
      kind: SpanKind.SERVER,
      attributes: {
        "http.request.method": method,
        "http.route": route,
        "appdb.role": role,
        "appdb.service": service,
        "appdb.request_id": id,
      },
    },
    parentOf(headers),
  );
  if (!span.isRecording()) return undefined;
  const inside = trace.setSpan(ROOT_CONTEXT, span);
  const { spanId, traceFlags, traceId } = span.spanContext();
  return {
    traceparent: `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, "0")}`,
    note: notePartsBelow(tracer, inside),
    end: (status) => endSpan(span, status),
  };
}

function parentOf(headers: TracedRequest["headers"]): Context {
  const text = headers.traceparent;
  const parent = typeof text === "string" ? parseTraceParent(text) : null;
  return parent === null ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, { ...parent, isRemote: true });
}

function notePartsBelow(tracer: Tracer, inside: Context): NotePart {
  return (part, sinceMs, untilMs, functions) => {
    const names = functions?.map(({ name }) => name) ?? [];
    const span = tracer.startSpan(
      part === "db" ? "PostgreSQL" : ["Python", names.join(", ")].join(" ").trimEnd(),
      {
        kind: part === "db" ? SpanKind.CLIENT : SpanKind.INTERNAL,
        startTime: performance.timeOrigin + sinceMs,
        attributes: part === "db" ? { "db.system.name": "postgresql" } : { "appdb.functions": names },
      },
      inside,
    );
    span.end(performance.timeOrigin + untilMs);
  };
}

function endSpan(span: Span, status: number): void {
  span.setAttribute("http.response.status_code", status);
  if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
  span.end();
}

/** Logs a failing collector once a minute. Only spans are lost. */
function logFailures(inner: SpanExporter, log: Logger): SpanExporter {
  let nextAt = 0;
  return {
    export: (spans, done) =>
      inner.export(spans, (result) => {
        const now = performance.now();
        if (result.code !== ExportResultCode.SUCCESS && now >= nextAt) {
          nextAt = now + SAY_EVERY_MS;
          log.warn(
            { spans: spans.length, reason: result.error?.message },
            "traces could not be sent to their collector",
          );
        }
        done(result);
      }),
    forceFlush: async () => inner.forceFlush?.(),
    shutdown: () => inner.shutdown(),
  };
}
