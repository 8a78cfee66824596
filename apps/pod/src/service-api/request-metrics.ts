import type { MetricsPage } from "../http/service-metrics.ts";

/** From what a small insert takes to what a model does. */
const BUCKETS_S = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

export interface EndedRequest {
  readonly method: string;
  /** As it was declared: `/items/:id`; null for a path without a route. */
  readonly route: string | null;
  readonly status: number;
  readonly seconds: number;
}

/** Counts the requests of a service by route. */
export interface RequestMetrics {
  observe(request: EndedRequest): void;
  print(): Promise<MetricsPage>;
}

/** Makes counters of requests and of their durations, in the words of Prometheus. */
export async function createRequestMetrics(in_flight: () => number): Promise<RequestMetrics> {
  const { Counter, Gauge, Histogram, Registry } = await import("prom-client");
  const registry = new Registry();
  const registers = [registry];
  const total = new Counter({
    name: "appdb_requests_total",
    help: "Requests that were answered, by what was answered.",
    labelNames: ["method", "route", "status"],
    registers,
  });
  const seconds = new Histogram({
    name: "appdb_request_seconds",
    help: "From a request's head to the end of its answer.",
    labelNames: ["method", "route"],
    buckets: BUCKETS_S,
    registers,
  });
  new Gauge({
    name: "appdb_requests_in_flight",
    help: "Requests that are under way.",
    registers,
    collect() {
      this.set(in_flight());
    },
  });
  return {
    observe({ method, route, status, seconds: taken }) {
      // paths that nobody declared are without end, and would each be a series
      const labels = { method, route: route ?? "none" };
      total.inc({ ...labels, status });
      seconds.observe(labels, taken);
    },
    print: async () => ({ text: await registry.metrics(), content_type: registry.contentType }),
  };
}
