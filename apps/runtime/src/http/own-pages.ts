import { VERSION } from "@appdb/contract/version";
import type { OpenApiDocument } from "@appdb/engine/openapi/schemas";
import type { FastifyInstance } from "fastify";
import { addDocsPage } from "./docs-page.ts";
import type { PathMethods } from "./path-methods.ts";
import { sendReply } from "./send-reply.ts";
import type { ServedRoutes } from "./serve-endpoints.ts";
import type { MetricsPage } from "./service-metrics.ts";

/** Adds a service's own pages next to its routes: its description and its docs. */
export function addOwnPages(
  server: FastifyInstance,
  paths: PathMethods,
  endpoints: ServedRoutes,
  page: { readonly service: string; readonly mount: string; readonly prefix: string; readonly needs_key: boolean },
): void {
  const { service, mount, needs_key: needsKey, prefix } = page;
  const description = JSON.stringify(describe(endpoints.openapi(service), prefix + mount, needsKey));
  server.get(`${mount}/openapi.json`, (request, reply) => {
    sendReply(request, reply, {
      status: 200,
      headers: { "content-type": "application/json; charset=utf-8" },
      body: description,
    });
  });
  paths.add("GET", `${mount}/openapi.json`);
  addHealth(server, paths, endpoints, mount);
  // An application object answers this path, or reports that it has none.
  if (endpoints.routes.some((route) => route.service === service && route.method === "ANY")) return;
  paths.add("GET", `${mount}/docs`);
  for (const path of addDocsPage(server, page)) paths.add("GET", path);
}

/** Headers for API keys; the first one present wins. */
const KEYS = {
  ApiKey: { type: "apiKey", in: "header", name: "X-api-key" },
  Bearer: { type: "http", scheme: "bearer" },
} as const;

function describe(document: OpenApiDocument, url: string, needsKey: boolean): object {
  const served = url === "" ? document : { ...document, servers: [{ url }] };
  if (!needsKey) return served;
  const components = Object.assign({}, document.components, { securitySchemes: KEYS });
  return { ...served, components, security: Object.keys(KEYS).map((name) => ({ [name]: [] })) };
}

/** Reports whether PostgreSQL responds. */
export function addHealth(server: FastifyInstance, paths: PathMethods, endpoints: ServedRoutes, mount: string): void {
  server.get(`${mount}/health`, { config: { is_open: true } }, async (request, reply) => {
    await endpoints.checkHealth();
    const body = JSON.stringify({ status: "ok", version: VERSION, services: endpoints.services });
    sendReply(request, reply, { status: 200, headers: { "content-type": "application/json; charset=utf-8" }, body });
    return reply;
  });
  paths.add("GET", `${mount}/health`);
}

/** For scrapers on this machine only, because the metrics reveal an application's functions. */
export function addMetrics(server: FastifyInstance, paths: PathMethods, metrics: () => Promise<MetricsPage>): void {
  paths.add("GET", "/metrics");
  server.get("/metrics", async (request, reply) => {
    if (!isLoopback(request.raw.socket.remoteAddress)) {
      reply.callNotFound();
      return reply;
    }
    const { text, content_type: contentType } = await metrics();
    sendReply(request, reply, { status: 200, headers: { "content-type": contentType }, body: text });
    return reply;
  });
}

function isLoopback(address: string | undefined): boolean {
  return address === "::1" || /^(::ffff:)?127\./.test(address ?? "");
}
