import type { Logger } from "@appdb/engine/ports";
import type { FastifyInstance } from "fastify";
import { sql } from "kysely";
import { collectDefaultMetrics, Histogram, type Registry } from "prom-client";
import type { ServerConfig } from "../config/config.ts";
import { createOutageLog } from "../database/outage-log.ts";
import type { ControlDatabase } from "../database/pool.ts";
import { healthCode } from "../health/problems.ts";
import type { ServerHealth } from "../health/server-health.ts";
import { writeServerMetrics } from "../health/server-metrics.ts";
import { hasMetricsToken, noMetricsToken } from "../secrets/metrics-token.ts";
export interface HealthRouteDeps {
  readonly db: ControlDatabase;
  readonly log: Logger;
  readonly metrics: Registry;
  readonly config: Pick<ServerConfig, "home" | "metrics_token" | "quotas">;
  readonly health: ServerHealth;
  /** Metrics of this server's other processes for `/metrics`. */
  readonly more_metrics: (() => Promise<string>)[];
}

const BUCKETS_S = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30];

/**
 * Adds `/health` (the server's status, 503 if failing), `/ready` (its database answers) and `/metrics` (Prometheus,
 * without names of tenants). The operator's token is needed for metrics and for the problems in `/health`.
 */
export function addHealthRoutes(app: FastifyInstance, deps: HealthRouteDeps): void {
  const registry = deps.metrics;
  collectDefaultMetrics({ register: registry });
  const requests = new Histogram({
    name: "appdb_control_request_seconds",
    help: "Duration of control plane requests.",
    labelNames: ["method", "route", "status"],
    buckets: BUCKETS_S,
    registers: [registry],
  });
  app.addHook("onResponse", async (request, reply) => {
    // the route's pattern, because the path contains names of organizations
    const route = request.routeOptions.url ?? "none";
    requests.observe({ method: request.method, route, status: String(reply.statusCode) }, reply.elapsedTime / 1000);
  });
  const { metrics_token: token } = deps.config;
  const outage = createOutageLog(deps.log);
  app.get("/health", { config: { permission: "public" } }, async ({ headers }, reply) => {
    const { problems, status } = await deps.health.check();
    const isOperator = hasMetricsToken(headers.authorization, token);
    reply.header("cache-control", "no-store").code(healthCode(status));
    return isOperator ? { status, problems } : { status };
  });
  app.get("/ready", { config: { permission: "public" } }, async (_request, reply) => {
    try {
      await sql`select 1`.execute(deps.db);
      outage.worked();
      return { status: "ready" };
    } catch (error) {
      outage.failed(error, "PostgreSQL does not answer");
      return reply.code(503).send({ status: "not ready" });
    }
  });
  app.get("/metrics", { config: { permission: "public" } }, async ({ headers }, reply) => {
    if (!hasMetricsToken(headers.authorization, token)) throw noMetricsToken(token);
    const all = await Promise.all([
      registry.metrics(),
      writeServerMetrics(deps),
      ...deps.more_metrics.map((tell) => tell()),
    ]);
    return reply.type(registry.contentType).send(all.join("\n"));
  });
}
