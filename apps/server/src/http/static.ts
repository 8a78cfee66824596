import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";

/** The built dashboard in memory. It is small, and a concurrent build cannot mix two versions. */
export interface Dashboard {
  /** By URL path: `/assets/index-C31SAIIj.css`. */
  readonly files: ReadonlyMap<string, ServedFile>;
  /** The page of all addresses. The browser then shows the right one. */
  readonly page: ServedFile;
}

interface ServedFile {
  readonly type: string;
  readonly etag: string;
  readonly cache: string;
  readonly plain: Buffer;
  readonly br: Buffer | undefined;
  readonly gzip: Buffer | undefined;
}

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** Names below /assets/ end with a hash of the content. */
const HASHED = "public, max-age=31536000, immutable";
const ASKED_EACH_TIME = "no-cache";

/**
 * No inline code, no foreign sources, no frames. Pictures, video and audio of services come from the gateway, and
 * `blob:` are those that a called route has sent.
 */
function pagePolicy(gateway: string | undefined): string {
  const files = ["'self'", "blob:", ...(gateway === undefined ? [] : [gateway])].join(" ");
  return `default-src 'self'; img-src ${files}; media-src ${files}; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'`;
}

const PAGE_HEADERS = {
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=()",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
} as const;

/** The folder of the built dashboard, from the bundle in dist/ or the sources. Undefined if it is not built. */
export function findDashboard(): string | undefined {
  const folders = ["../apps/dashboard/dist", "../../../dashboard/dist"].map((name) => join(import.meta.dirname, name));
  return folders.find((folder) => existsSync(join(folder, "index.html")));
}

/** Reads a built dashboard, including the compressed copies next to its files. */
export function readDashboard(folder: string): Dashboard {
  const files = new Map<string, ServedFile>();
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    const type = TYPES[extname(name)];
    if (type === undefined) continue;
    const path = `/${name.replaceAll("\\", "/")}`;
    files.set(path, readServed(join(folder, name), type, path.startsWith("/assets/") ? HASHED : ASKED_EACH_TIME));
  }
  const page = files.get("/index.html");
  if (page === undefined) throw new Error(`${folder} has no index.html.`);
  return { files, page: { ...page, cache: "no-store" } };
}

function readServed(path: string, type: string, cache: string): ServedFile {
  const plain = readFileSync(path);
  const etag = `"${createHash("sha256").update(plain).digest("base64url").slice(0, 22)}"`;
  return { type, etag, cache, plain, br: readPacked(`${path}.br`), gzip: readPacked(`${path}.gz`) };
}

function readPacked(path: string): Buffer | undefined {
  return existsSync(path) ? readFileSync(path) : undefined;
}

/**
 * Serves the dashboard's files. Serves its page at all other paths, except those of the API and of missing files.
 * `gateway`: the source of files of services, as policies name it.
 */
export function addDashboard(
  app: FastifyInstance,
  dashboard: Dashboard | undefined,
  gateway: string | undefined,
): void {
  const policy = pagePolicy(gateway);
  app.get("/*", { config: { permission: "public" } }, (request, reply) => {
    const path = request.url.split("?")[0] ?? "/";
    if (path === "/v1" || path.startsWith("/v1/")) return reply.callNotFound();
    if (dashboard === undefined) {
      return reply
        .code(503)
        .type("text/plain; charset=utf-8")
        .send("The dashboard is not built. Build it with: npm run build\n");
    }
    const file = path === "/index.html" ? dashboard.page : dashboard.files.get(path);
    if (file !== undefined) return sendFile(request, reply, file, policy);
    const isPage = !path.slice(path.lastIndexOf("/")).includes(".");
    return isPage ? sendFile(request, reply, dashboard.page, policy) : reply.callNotFound();
  });
}

function sendFile(request: FastifyRequest, reply: FastifyReply, file: ServedFile, policy: string): FastifyReply {
  reply.headers({
    ...PAGE_HEADERS,
    "content-security-policy": policy,
    "cache-control": file.cache,
    etag: file.etag,
    vary: "accept-encoding",
  });
  if (request.headers["if-none-match"] === file.etag && file.cache !== "no-store") return reply.code(304).send();
  const encodings = acceptedEncodings(request.headers["accept-encoding"]);
  reply.type(file.type);
  if (file.br !== undefined && encodings.has("br")) return reply.header("content-encoding", "br").send(file.br);
  if (file.gzip !== undefined && encodings.has("gzip")) return reply.header("content-encoding", "gzip").send(file.gzip);
  return reply.send(file.plain);
}

function acceptedEncodings(header: string | string[] | undefined): ReadonlySet<string> {
  const named = String(header ?? "")
    .toLowerCase()
    .split(",")
    .map((part) => part.split(";", 2).map((piece) => piece.trim()));
  return new Set(
    named.filter(([, weight]) => !weight?.startsWith("q=") || Number(weight.slice(2)) > 0).map(([name]) => name ?? ""),
  );
}
