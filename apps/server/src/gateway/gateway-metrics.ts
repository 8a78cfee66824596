import { Counter, Gauge, Histogram, type Registry } from "prom-client";

const BUCKETS_S = [0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30];

/** What the gateway tells of all its requests together; names of tenants are in none. */
export interface GatewayMetrics {
  count(status: number, ms: number): void;
}

/** `in_flight` is asked when somebody reads the metrics. */
export function createGatewayMetrics(registry: Registry, in_flight: () => number): GatewayMetrics {
  const registers = [registry];
  const seconds = new Histogram({
    name: "appdb_gateway_request_seconds",
    help: "How long requests to services took, refused ones included.",
    buckets: BUCKETS_S,
    registers,
  });
  const requests = new Counter({
    name: "appdb_gateway_requests_total",
    help: "Requests to services, by the hundred of the status that was answered.",
    labelNames: ["status"],
    registers,
  });
  new Gauge({
    name: "appdb_gateway_in_flight",
    help: "Requests that services work at.",
    registers,
    collect() {
      this.set(in_flight());
    },
  });
  return {
    count(status, ms) {
      requests.inc({ status: `${Math.floor(status / 100)}xx` });
      seconds.observe(ms / 1_000);
    },
  };
}
