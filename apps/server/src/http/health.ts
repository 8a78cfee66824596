import type { Logger } from "@appdb/engine/ports";
import type { FastifyInstance } from "fastify";
import { sql } from "kysely";
import type pg from "pg";
import { collectDefaultMetrics, Histogram, type Registry } from "prom-client";
import type { ServerConfig } from "../config/config.ts";
import type { Database } from "../database/pool.ts";
import { noMetricsToken, showsMetricsToken } from "../secrets/metrics-token.ts";

export interface HealthDeps {
  readonly db: Database;
  readonly pool: pg.Pool;
  readonly log: Logger;
  readonly metrics: Registry;
  readonly config: Pick<ServerConfig, "metrics_token">;
  /** Who may know something that an operator has to see to, without a name of a tenant. */
  readonly problems: TellProblems[];
  /** What `/metrics` answers beside the registry, of other processes of this server. */
  readonly more_metrics: (() => Promise<string>)[];
}

/** What an operator has to know, just now. */
export type TellProblems = () => readonly string[] | Promise<readonly string[]>;

const BUCKETS_S = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30];

/**
 * `/health`: the process lives. `/ready`: it reaches its database. `/metrics`: for Prometheus; no name of a tenant is a label. Who shows the
 * operator's token reads the metrics, and in `/health` what an operator has to see to.
 */
export function addHealthRoutes(app: FastifyInstance, deps: HealthDeps): void {
  const registry = deps.metrics;
  collectDefaultMetrics({ register: registry });
  const requests = new Histogram({
    name: "appdb_control_request_seconds",
    help: "How long requests of the control plane took.",
    labelNames: ["method", "route", "status"],
    buckets: BUCKETS_S,
    registers: [registry],
  });
  app.addHook("onResponse", async (request, reply) => {
    // the route's pattern, never the path: names of organizations are in that
    const route = request.routeOptions.url ?? "none";
    requests.observe({ method: request.method, route, status: String(reply.statusCode) }, reply.elapsedTime / 1000);
  });
  const { metrics_token: token } = deps.config;
  app.get("/health", { config: { permission: "public" } }, async ({ headers }) => {
    if (!showsMetricsToken(headers.authorization, token)) return { status: "ok" };
    const problems = (await Promise.all(deps.problems.map((tell) => tell()))).flat();
    return { status: "ok", ...(problems.length === 0 ? {} : { problems }) };
  });
  app.get("/ready", { config: { permission: "public" } }, async (_request, reply) => {
    try {
      await sql`select 1`.execute(deps.db);
      return { status: "ready" };
    } catch (error) {
      deps.log.warn({ err: error }, "PostgreSQL does not answer");
      return reply.code(503).send({ status: "not ready" });
    }
  });
  app.get("/metrics", { config: { permission: "public" } }, async ({ headers }, reply) => {
    if (!showsMetricsToken(headers.authorization, token)) throw noMetricsToken(token);
    const all = await Promise.all([registry.metrics(), ...deps.more_metrics.map((tell) => tell())]);
    return reply.type(registry.contentType).send(all.join("\n"));
  });
}
