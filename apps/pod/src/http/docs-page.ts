import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { REQUEST_ID_HEADER } from "./request-id.ts";

const ASSETS = [
  { file: "swagger-ui.css", type: "text/css; charset=utf-8" },
  { file: "swagger-ui-bundle.js", type: "text/javascript; charset=utf-8" },
] as const;
const SECURITY = {
  "content-security-policy":
    "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
} as const;

/**
 * Adds the page that shows a service's routes, `<mount>/docs`, with everything it needs: it loads without the internet.
 * A person's own GET of that path wins; their POST stands beside it. Gives the paths that it added.
 */
export function addDocsPage(
  server: FastifyInstance,
  { service, mount, prefix }: { readonly service: string; readonly mount: string; readonly prefix: string },
): readonly string[] {
  const place = `${mount}/docs`;
  const shown = prefix + mount;
  if (server.hasRoute({ method: "GET", url: place })) return [];
  const folder = docsAssets();
  const files = `${place}/assets`;
  server.get(place, (request, reply) =>
    reply.headers(headersFor(request)).type("text/html; charset=utf-8").send(page(shown, service)),
  );
  server.get(`${files}/start.js`, (request, reply) =>
    reply.headers(headersFor(request)).type("text/javascript; charset=utf-8").send(startScript(shown)),
  );
  for (const asset of ASSETS) {
    server.get(`${files}/${asset.file}`, async (request, reply) =>
      reply
        .headers({ ...headersFor(request), "cache-control": "max-age=3600" })
        .type(asset.type)
        .send(await readFile(join(folder, asset.file))),
    );
  }
  return [place, `${files}/start.js`, ...ASSETS.map(({ file }) => `${files}/${file}`)];
}

function headersFor(request: FastifyRequest): Record<string, string> {
  return { ...SECURITY, [REQUEST_ID_HEADER]: request.id };
}

/** Beside the bundled program, or the package in a checkout. */
function docsAssets(): string {
  const bundled = join(import.meta.dirname, "swagger-ui");
  if (existsSync(bundled)) return bundled;
  return dirname(createRequire(import.meta.url).resolve("swagger-ui-dist/package.json"));
}

function page(mount: string, service: string): string {
  const assets = escapeHtml(`${mount}/docs/assets`);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(service)}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${assets}/swagger-ui.css">
</head>
<body>
<div id="routes"></div>
<script src="${assets}/swagger-ui-bundle.js"></script>
<script src="${assets}/start.js"></script>
</body>
</html>
`;
}

function startScript(mount: string): string {
  return `SwaggerUIBundle({ url: ${JSON.stringify(`${mount}/openapi.json`)}, dom_id: "#routes", deepLinking: true, tryItOutEnabled: true });\n`;
}

function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
