import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { DOCS_PAGE, DOCS_SCRIPT, DOCS_STYLE } from "./docs-page.ts";

/** A file of the API documentation page of a service, with its headers. */
export interface DocsFile {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

export interface DocsFiles {
  /**
   * Reads a file by its path below the service: `/docs`, `/docs/assets/start.js`. Undefined for other paths than
   * DOCS_PATHS.
   */
  read(path: string): Promise<DocsFile | undefined>;
}

/** `blob:` is a picture or a sound that a route has responded with. */
const SECURITY = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; media-src blob:; connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
} as const;
const HTML = "text/html; charset=utf-8";
const SCRIPT = "text/javascript; charset=utf-8";
const STYLE = "text/css; charset=utf-8";
/** Headers of files that change only with the version. */
const CACHED = { "cache-control": "max-age=3600" } as const;

const OWN: Readonly<Record<string, readonly [type: string, text: string]>> = {
  "/docs": [HTML, DOCS_PAGE],
  "/docs/assets/page.css": [STYLE, DOCS_STYLE],
  "/docs/assets/start.js": [SCRIPT, DOCS_SCRIPT],
};
const SWAGGER: Readonly<Record<string, readonly [type: string, file: string]>> = {
  "/docs/assets/swagger-ui.css": [STYLE, "swagger-ui.css"],
  "/docs/assets/swagger-ui-bundle.js": [SCRIPT, "swagger-ui-bundle.js"],
};

/** The page and its assets. The page loads nothing from other hosts. */
export const DOCS_PATHS: readonly string[] = [...Object.keys(OWN), ...Object.keys(SWAGGER)];

/** Reads the files on first use and keeps them in memory; the largest has 1.5 MB. All services share them. */
export function createDocsFiles(): DocsFiles {
  const cached = new Map<string, DocsFile>();
  return {
    read: async (path) => {
      const known = cached.get(path);
      if (known !== undefined) return known;
      const file = await readFileOf(path);
      if (file !== undefined) cached.set(path, file);
      return file;
    },
  };
}

async function readFileOf(path: string): Promise<DocsFile | undefined> {
  const own = OWN[path];
  if (own !== undefined) return toFile(own[0], Buffer.from(own[1]), path === "/docs" ? {} : CACHED);
  const asset = SWAGGER[path];
  return asset && toFile(asset[0], await readFile(join(swaggerFolder(), asset[1])), CACHED);
}

function toFile(type: string, body: Buffer, more: Readonly<Record<string, string>>): DocsFile {
  const headers = { ...SECURITY, ...more, "content-type": type, "content-length": String(body.length) };
  return { headers, body };
}

/** Folder next to the bundled program, or of the package in a checkout. */
function swaggerFolder(): string {
  const bundled = join(import.meta.dirname, "swagger-ui");
  if (existsSync(bundled)) return bundled;
  return dirname(createRequire(import.meta.url).resolve("swagger-ui-dist/package.json"));
}
