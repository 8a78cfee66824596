import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** A span in OTLP's JSON form, with its attributes as plain values. */
export interface CollectedSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  /** The resource's `service.name`. */
  readonly service: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly ms: number;
}

export interface TraceCollector extends AsyncDisposable {
  /** For OTEL_EXPORTER_OTLP_ENDPOINT. */
  readonly url: string;
  /** The spans received so far. */
  readonly spans: readonly CollectedSpan[];
  /** Headers of the last export. */
  headers(): Readonly<Record<string, unknown>>;
}

interface Value {
  readonly stringValue?: string;
  readonly intValue?: number;
  readonly arrayValue?: { readonly values: readonly Value[] };
}
type Attributes = readonly { readonly key: string; readonly value: Value }[];
interface SentSpan extends Omit<CollectedSpan, "attributes" | "service" | "ms"> {
  readonly attributes: Attributes;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
}
interface Sent {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: Attributes };
    readonly scopeSpans: readonly { readonly spans: readonly SentSpan[] }[];
  }[];
}

/** A trace collector that takes OTLP over HTTP, on its own port. With another status it takes nothing. */
export async function startTraceCollector(status = 200): Promise<TraceCollector> {
  const spans: CollectedSpan[] = [];
  let headers: Readonly<Record<string, unknown>> = {};
  const server = createServer(async (request, response) => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece);
    headers = request.headers;
    const sent: Sent = JSON.parse(Buffer.concat(pieces).toString());
    for (const { resource, scopeSpans } of sent.resourceSpans) {
      const service = String(plain(resource.attributes)["service.name"]);
      for (const span of scopeSpans.flatMap((scope) => scope.spans)) {
        const { name, parentSpanId, spanId, traceId } = span;
        const ms = Number(BigInt(span.endTimeUnixNano) - BigInt(span.startTimeUnixNano)) / 1e6;
        spans.push({ name, parentSpanId, spanId, traceId, service, ms, attributes: plain(span.attributes) });
      }
    }
    response.writeHead(status, { "content-type": "application/json" }).end("{}");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    spans,
    headers: () => headers,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

function plain(attributes: Attributes): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, plainValue(value)]));
}

function plainValue({ arrayValue, intValue, stringValue }: Value): unknown {
  return stringValue ?? intValue ?? arrayValue?.values.map(plainValue);
}
