import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import { AppError, appError, ERRORS } from "@appdb/contract/errors";
import { PARTS_AT_ONCE, streamedContent } from "./content.ts";
import { isKey, type MediaStore } from "./media-store.ts";
import type { StoreBounds, StoreLimits } from "./store-bounds.ts";
import { storeError } from "./store-errors.ts";

/** The largest part of a store, of which `PARTS_AT_ONCE` are in memory. */
const PART_BYTES = 16 << 20;
/** Memory of a request without a body, and of a body that is read. */
const LEAST_BYTES = 1 << 20;
const MAX_JSON_BYTES = 1 << 20;
const MAX_KEYS = 1_000;
const MAX_CONNECTIONS = 128;
const HEADERS_MS = 10_000;
const SILENT_MS = 120_000;
const WHOLE_MS = 3_600_000;
/** Codes that a client gets. It gets no texts: they name the bucket. */
const SHOWN = [
  "media_denied",
  "media_store_not_found",
  "media_not_found",
  "media_store_full",
  "media_invalid",
  "media_unavailable",
  "overloaded",
  "unauthorized",
  "invalid_request",
] as const;

export interface StoreServerDeps {
  /** What the clients may reach: all of it. It is asked for with each request. */
  open(): Promise<MediaStore>;
  readonly org_id: string;
  readonly bounds: StoreBounds;
  isAllowed(token: string): Promise<boolean>;
  /** Every request that reached the store: undefined if it did what it should. */
  note(action: "read" | "write", failure: unknown): void;
}

interface Asked {
  readonly head?: unknown;
  readonly list?: { readonly prefix?: unknown; readonly after?: unknown; readonly limit?: unknown };
  readonly delete?: unknown;
}

/**
 * Serves a store to the pods of one database (`openServerStore` is the client). Objects are streamed. Whatever a client
 * does, it holds a bounded number of connections, bytes of memory and hours.
 */
export function createStoreServer(deps: StoreServerDeps): Server {
  const server = createServer(
    { headersTimeout: HEADERS_MS, requestTimeout: WHOLE_MS, connectionsCheckingInterval: HEADERS_MS },
    (req, res) => {
      void answer(deps, req, res);
    },
  );
  server.maxConnections = MAX_CONNECTIONS;
  server.timeout = SILENT_MS;
  server.keepAliveTimeout = SILENT_MS;
  return server;
}

async function answer(deps: StoreServerDeps, req: IncomingMessage, res: ServerResponse): Promise<void> {
  const gone = new AbortController();
  res.on("close", () => {
    if (!res.writableFinished) gone.abort(new Error("The client is gone."));
  });
  req.on("error", () => undefined);
  res.on("error", () => undefined);
  try {
    const [, token = ""] = /^Bearer (.+)$/.exec(req.headers.authorization ?? "") ?? [];
    if (!(await deps.isAllowed(token)))
      throw appError("unauthorized", { detail: "The token is not that of the database." });
    const [path = "", search] = (req.url ?? "").split("?");
    const key = path.slice(1);
    if (req.method === "POST" && key === "") return await answerAsked(deps, req, res, gone.signal);
    if (!isKey(key)) throw invalidRequest();
    if (req.method === "PUT") return await take(deps, key, req, res, gone.signal);
    if (req.method === "GET") return await send(deps, key, new URLSearchParams(search), res, gone.signal);
    throw invalidRequest();
  } catch (error) {
    refuse(req, res, error);
  }
}

function refuse(req: IncomingMessage, res: ServerResponse, error: unknown): void {
  if (res.headersSent || res.destroyed) return void res.destroy();
  // a body that is not read is dropped as it comes
  req.resume();
  const found = error instanceof AppError ? SHOWN.find((code) => code === error.code) : undefined;
  json(res, statusOf(found), { code: found ?? "media_unavailable" });
}

function statusOf(code: (typeof SHOWN)[number] | undefined): number {
  return code === undefined ? 503 : ERRORS[code].status;
}

function json(res: ServerResponse, status: number, body: object): void {
  const text = JSON.stringify(body);
  res.writeHead(status, { "content-type": "application/json", "content-length": Buffer.byteLength(text) });
  res.end(text);
}

/** Runs a request of the store within bounds, and notes how it ended. */
async function within<T>(
  { bounds, note, open, org_id: orgId }: StoreServerDeps,
  action: "read" | "write",
  bytes: number,
  signal: AbortSignal,
  work: (store: MediaStore) => Promise<T>,
): Promise<T> {
  return await bounds.run(orgId, bytes, signal, async () => {
    try {
      const done = await work(await open());
      note(action, undefined);
      return done;
    } catch (error) {
      if (!signal.aborted) note(action, error);
      throw error;
    }
  });
}

async function take(
  deps: StoreServerDeps,
  key: string,
  req: IncomingMessage,
  res: ServerResponse,
  signal: AbortSignal,
): Promise<void> {
  const bytes = Number(req.headers["content-length"] ?? Number.NaN);
  const { "content-type": type = "application/octet-stream", "x-sha256": sha256 } = req.headers;
  if (!Number.isSafeInteger(bytes) || Array.isArray(sha256)) throw invalidRequest();
  const held = Math.max(LEAST_BYTES, Math.min(bytes, PART_BYTES * PARTS_AT_ONCE));
  const invalid = (said: string) => storeError("invalid", { address: "", said, credentials: "" });
  const content = streamedContent(paced(req, deps.bounds.limits), { bytes, sha256 }, invalid);
  try {
    const options = { content_type: type, ...(sha256 === undefined ? {} : { sha256 }), signal };
    const done = await within(deps, "write", held, signal, (store) => store.put(key, content, options));
    await content.drain();
    json(res, 200, done);
  } catch (error) {
    // The sender reads the response when it has sent all. One that is gone gets none.
    await content.drain().catch(() => undefined);
    throw error;
  }
}

/** Cuts a sender that is too slow, because a put holds memory. Time in which the store reads nothing does not count. */
async function* paced(
  req: IncomingMessage,
  { put_bytes_per_s: bytesPerS, put_wait_ms: waitMs }: StoreLimits,
): AsyncGenerator<Buffer> {
  let [bytes, waitedMs, since] = [0, 0, performance.now()];
  for await (const piece of req as AsyncIterable<Buffer>) {
    bytes += piece.length;
    waitedMs += performance.now() - since;
    if (waitedMs > waitMs + (1_000 * bytes) / bytesPerS) {
      req.socket.destroy();
      throw appError("overloaded", { detail: `A pod sent ${bytes} bytes of an object in ${Math.round(waitedMs)} ms.` });
    }
    yield piece;
    since = performance.now();
  }
}

async function send(
  deps: StoreServerDeps,
  key: string,
  query: URLSearchParams,
  res: ServerResponse,
  signal: AbortSignal,
): Promise<void> {
  const [start, end] = [query.get("start"), query.get("end")].map((text) => (text === null ? undefined : Number(text)));
  const range = start === undefined || end === undefined ? undefined : { start, end };
  if (
    range !== undefined &&
    !(Number.isSafeInteger(range.start) && Number.isSafeInteger(range.end) && range.start >= 0)
  ) {
    throw invalidRequest();
  }
  await within(deps, "read", LEAST_BYTES, signal, async (store) => {
    const options = range === undefined ? { signal } : { range, signal };
    const { body, bytes, version } = await store.get(key, options);
    const length = range === undefined ? bytes : Math.max(0, range.end - range.start);
    res.writeHead(200, { "content-length": length, "x-bytes": bytes, "x-version": encodeURIComponent(version) });
    await pipeline(body, res, { signal });
  });
}

async function answerAsked(
  deps: StoreServerDeps,
  req: IncomingMessage,
  res: ServerResponse,
  signal: AbortSignal,
): Promise<void> {
  const asked = await readAsked(req);
  const { delete: keys, head, list } = asked;
  if (typeof head === "string" && isKey(head)) {
    const found = await within(deps, "read", LEAST_BYTES, signal, (store) => store.head(head));
    return json(res, 200, { found: found ?? null });
  }
  if (Array.isArray(keys) && keys.length <= MAX_KEYS && keys.every((key) => typeof key === "string" && isKey(key))) {
    await within(deps, "write", LEAST_BYTES, signal, (store) => store.delete(keys));
    return json(res, 200, {});
  }
  if (list === undefined) throw invalidRequest();
  const { after, limit = MAX_KEYS, prefix = "" } = list;
  const isWhole = typeof limit === "number" && Number.isInteger(limit) && limit >= 1 && limit <= MAX_KEYS;
  if (typeof prefix !== "string" || !isWhole || (after !== undefined && typeof after !== "string")) {
    throw invalidRequest();
  }
  json(res, 200, await within(deps, "read", LEAST_BYTES, signal, (store) => store.list({ prefix, after, limit })));
}

async function readAsked(req: IncomingMessage): Promise<Asked> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of req as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > MAX_JSON_BYTES) throw invalidRequest();
    pieces.push(piece);
  }
  try {
    const asked: unknown = JSON.parse(Buffer.concat(pieces).toString("utf8"));
    if (typeof asked === "object" && asked !== null) return asked;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw invalidRequest();
}

function invalidRequest(): Error {
  return appError("invalid_request", { detail: "A pod sent a request that the object store does not know." });
}
