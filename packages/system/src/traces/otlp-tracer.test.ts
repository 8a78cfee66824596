import { createSilentLog } from "@appdb/testkit/silent-log";
import { startTraceCollector } from "@appdb/testkit/trace-collector";
import { expect, test } from "vitest";
import { openTracer } from "./open-tracer.ts";
import { readTraceSettings } from "./otlp-tracer.ts";

const ABOUT = { name: "main/notes", version: "1.2.3", role: "service" } as const;
const REQUEST = { service: "notes", method: "POST", route: "/notes", id: "req-1" };

test("exports a request as a span of its caller's trace with child spans", async () => {
  await using collector = await startTraceCollector();
  const log = createSilentLog();
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_EXPORTER_OTLP_HEADERS: "x-token=a%20b" };
  const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
  {
    await using tracer = await openTracer(env, ABOUT, log);
    const headers = { traceparent: `00-${traceId}-00f067aa0ba902b7-01` };
    const trace = tracer?.begin({ ...REQUEST, headers });
    const now = performance.now();
    trace?.note("py", now - 30, now - 10, [{ id: "app:shout", module: "app", name: "shout" }]);
    trace?.note("db", now - 10, now - 5, undefined);
    trace?.end(200);
    expect(trace?.traceparent).toMatch(new RegExp(`^00-${traceId}-[0-9a-f]{16}-01$`));
    // a caller's decision not to trace applies to us too
    expect(tracer?.begin({ ...REQUEST, headers: { traceparent: headers.traceparent.replace(/1$/, "0") } })).toBe(
      undefined,
    );
  }
  const request = collector.spans.find(({ name }) => name === "POST /notes");
  expect(request).toMatchObject({
    traceId: traceId,
    parentSpanId: "00f067aa0ba902b7",
    service: "main/notes",
    attributes: { "http.route": "/notes", "http.response.status_code": 200, "appdb.request_id": "req-1" },
  });
  const below = { traceId: traceId, parentSpanId: request?.spanId };
  expect(collector.spans.find(({ name }) => name === "Python shout")).toMatchObject(below);
  expect(collector.spans.find(({ name }) => name === "Python shout")?.ms).toBeCloseTo(20, 0);
  expect(collector.spans.find(({ name }) => name === "PostgreSQL")).toMatchObject(below);
  expect(collector.headers()["x-token"]).toBe("a b");
  expect(log.lines).toEqual([]);
});

test("traces only with an address and reports bad settings without values", async () => {
  expect(await openTracer({ OTEL_SERVICE_NAME: "x" }, ABOUT, createSilentLog())).toBe(undefined);
  expect(readTraceSettings({ OTEL_EXPORTER_OTLP_ENDPOINT: "http://c:1", OTEL_SDK_DISABLED: "TRUE" })).toBe(undefined);
  expect(
    readTraceSettings({ OTEL_EXPORTER_OTLP_ENDPOINT: "http://c:1/otlp/", OTEL_TRACES_SAMPLER_ARG: "0.1" }),
  ).toEqual({
    url: "http://c:1/otlp/v1/traces",
    headers: {},
    ratio: 0.1,
  });
  const exact = { OTEL_EXPORTER_OTLP_ENDPOINT: "ftp://x", OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "https://c/own" };
  expect(readTraceSettings(exact)?.url).toBe("https://c/own");
  for (const [env, name] of [
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: "user:secret@c" }, "OTEL_EXPORTER_OTLP_ENDPOINT"],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: "http://c", OTEL_TRACES_SAMPLER_ARG: "secret" }, "OTEL_TRACES_SAMPLER_ARG"],
  ] as const) {
    const log = createSilentLog();
    expect(await openTracer(env, ABOUT, log)).toBe(undefined);
    expect(log.lines).toMatchObject([
      {
        level: "warn",
        message: "tracing is off because of invalid settings",
        fields: { reason: expect.stringContaining(name) },
      },
    ]);
    expect(JSON.stringify(log.lines)).not.toContain("secret");
  }
});

test("logs a refusing collector once and keeps serving requests", async () => {
  await using collector = await startTraceCollector(403);
  const log = createSilentLog();
  {
    await using tracer = await openTracer({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url }, ABOUT, log);
    for (let at = 0; at < 1_200; at++) tracer?.begin({ ...REQUEST, headers: {} })?.end(200);
  }
  expect(log.lines).toMatchObject([{ level: "warn", message: "traces could not be sent to their collector" }]);
});
