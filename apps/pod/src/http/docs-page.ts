import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type { FastifyInstance } from "fastify";

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
 * A person's own GET of that path wins; their POST stands beside it.
 */
export function addDocsPage(server: FastifyInstance, mount: string, service: string): void {
  if (server.hasRoute({ method: "GET", url: `${mount}/docs` })) return;
  const folder = docsAssets();
  server.get(`${mount}/docs`, (_request, reply) =>
    reply.headers(SECURITY).type("text/html; charset=utf-8").send(page(mount, service)),
  );
  server.get(`${mount}/docs/assets/start.js`, (_request, reply) =>
    reply.headers(SECURITY).type("text/javascript; charset=utf-8").send(startScript(mount)),
  );
  for (const asset of ASSETS) {
    server.get(`${mount}/docs/assets/${asset.file}`, async (_request, reply) =>
      reply
        .headers({ ...SECURITY, "cache-control": "max-age=3600" })
        .type(asset.type)
        .send(await readFile(join(folder, asset.file))),
    );
  }
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
