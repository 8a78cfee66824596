import { Counter, Gauge, Histogram, type Registry } from "prom-client";

const BUCKETS_S = [0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30];

/** Metrics of all requests of the gateway, without names of tenants. */
export interface GatewayMetrics {
  /** `hasFailed`: the application's code failed, whatever the status. */
  count(status: number, ms: number, hasFailed?: boolean): void;
}

/** `inFlight` runs when the metrics are read. */
export function createGatewayMetrics(registry: Registry, inFlight: () => number): GatewayMetrics {
  const registers = [registry];
  const seconds = new Histogram({
    name: "appdb_gateway_request_seconds",
    help: "Duration of requests to services, including refused ones.",
    buckets: BUCKETS_S,
    registers,
  });
  // by status class: a labelled counter costs more than the rest of the metrics
  const unread = [0, 0, 0, 0, 0, 0];
  new Counter({
    name: "appdb_gateway_requests_total",
    help: "Requests to services, by status class.",
    labelNames: ["status"],
    registers,
    collect() {
      for (const [hundred, count] of unread.entries()) if (count > 0) this.inc({ status: `${hundred}xx` }, count);
      unread.fill(0);
    },
  });
  let unreadFailed = 0;
  new Counter({
    name: "appdb_gateway_requests_failed_total",
    help: "Requests to services that failed: status 5xx, or an error in the application's code.",
    registers,
    collect() {
      this.inc(unreadFailed);
      unreadFailed = 0;
    },
  });
  new Gauge({
    name: "appdb_gateway_in_flight",
    help: "Requests to services in progress.",
    registers,
    collect() {
      this.set(inFlight());
    },
  });
  return {
    count(status, ms, hasFailed = false) {
      const hundred = Math.floor(status / 100);
      unread[hundred] = (unread[hundred] ?? 0) + 1;
      if (hasFailed || hundred === 5) unreadFailed += 1;
      seconds.observe(ms / 1_000);
    },
  };
}
