import { Agent, type IncomingMessage, request } from "node:http";
import { Readable } from "node:stream";
import { json as readJson } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { setTimeout as pause } from "node:timers/promises";
import { appError } from "@appdb/contract/errors";
import type { MediaSocket } from "@appdb/contract/media-place";
import { checkKey, type MediaContent, type MediaObject, type MediaPage, type MediaStore } from "./media-store.ts";
import { type StoreFailure, storeError } from "./store-errors.ts";

/** A put of more bytes asks first whether the object is there. */
const ASKED_BYTES = 1 << 20;
const DELETE_AT_ONCE = 1_000;
const MAX_SOCKETS = 32;
/** Before a request is sent again: a gateway that restarts listens within seconds. */
const PAUSES_MS = [50, 200, 500, 1_000, 2_000, 3_000];
const LOST = ["ECONNREFUSED", "ECONNRESET", "ENOENT", "EPIPE", "ETIMEDOUT"];

interface Sent {
  readonly method: "GET" | "PUT" | "POST";
  readonly path: string;
  readonly headers?: Readonly<Record<string, string | number>>;
  readonly content?: Pick<MediaContent, "bytes" | "read">;
  readonly signal?: AbortSignal | undefined;
}

const FAILURES: Readonly<Record<string, StoreFailure>> = { media_not_found: "not_found", media_invalid: "invalid" };

/**
 * The objects of a database in the bucket of its server's operator (`createStoreServer` is the other side). A pod has no
 * credentials of the bucket, and does not learn its name: messages have `address`.
 */
export function openServerStore(place: MediaSocket, address: string): MediaStore {
  const client = new StoreClient(place, address);
  return {
    address,
    async put(key, content, { content_type: type, sha256, signal }) {
      checkKey(key);
      if (content.bytes > ASKED_BYTES && (await this.head(key)) !== undefined) return { created: false };
      const hash = sha256 === undefined ? {} : { "x-sha256": sha256 };
      const headers = { "content-type": type, "content-length": content.bytes, ...hash };
      return await client.ask<{ created: boolean }>({ method: "PUT", path: `/${key}`, headers, content, signal }, key);
    },
    async head(key) {
      const { found } = await client.post<{ found: MediaObject | null }>({ head: checkKey(key) }, key);
      return found ?? undefined;
    },
    pathOf: () => undefined,
    async get(key, { range, signal } = {}) {
      const part = range === undefined ? "" : `?start=${range.start}&end=${range.end}`;
      const found = await client.send({ method: "GET", path: `/${checkKey(key)}${part}`, signal }, key);
      const bytes = Number(found.headers["x-bytes"]);
      const version = decodeURIComponent(String(found.headers["x-version"]));
      return { bytes, version, body: client.readBody(found, key, signal) };
    },
    list: (list = {}) => client.post<MediaPage>({ list }).then(({ next, objects }) => ({ objects, next })),
    async delete(keys) {
      for (let at = 0; at < keys.length; at += DELETE_AT_ONCE) {
        await client.post({ delete: keys.slice(at, at + DELETE_AT_ONCE).map(checkKey) });
      }
    },
    signGet: async () => undefined,
    signPut: async () => undefined,
    async [Symbol.asyncDispose]() {
      client.close();
    },
  };
}

class StoreClient {
  readonly #place: MediaSocket;
  readonly #address: string;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: MAX_SOCKETS });

  constructor(place: MediaSocket, address: string) {
    this.#place = place;
    this.#address = address;
  }

  close(): void {
    this.#agent.destroy();
  }

  async ask<T>(sent: Sent, key?: string): Promise<T> {
    return (await readJson(await this.send(sent, key))) as T;
  }

  async post<T>(body: object, key?: string): Promise<T> {
    const bytes = Buffer.from(JSON.stringify(body));
    const content: Sent["content"] = { bytes: bytes.length, read: () => Readable.from([bytes]) };
    return await this.ask<T>({ method: "POST", path: "/", headers: { "content-length": bytes.length }, content }, key);
  }

  /** Sends a request, again after a lost connection: each can be repeated. */
  async send(sent: Sent, key?: string): Promise<IncomingMessage> {
    for (let attempt = 0; ; attempt += 1) {
      try {
        const found = await this.#sendOnce(sent);
        if (found.statusCode === 200) return found;
        throw this.#refusal((await readJson(found)) as { code?: string }, key);
      } catch (cause) {
        sent.signal?.throwIfAborted();
        const code = codeOf(cause);
        if (!LOST.includes(code)) throw cause;
        const ms = PAUSES_MS[attempt];
        if (ms === undefined) throw this.#failure("unavailable", code, key, cause);
        await pause(ms, undefined, sent.signal === undefined ? {} : { signal: sent.signal });
      }
    }
  }

  async *readBody(found: IncomingMessage, key: string, signal: AbortSignal | undefined): AsyncGenerator<Uint8Array> {
    try {
      yield* found;
    } catch (cause) {
      signal?.throwIfAborted();
      throw this.#failure("unavailable", "the connection was cut", key, cause);
    }
  }

  async #sendOnce({ content, headers, method, path, signal }: Sent): Promise<IncomingMessage> {
    const { socket, token } = this.#place;
    signal?.throwIfAborted();
    const req = request({
      socketPath: socket,
      agent: this.#agent,
      method,
      path,
      headers: { ...headers, authorization: `Bearer ${token}` },
      ...(signal === undefined ? {} : { signal }),
    });
    const answered = new Promise<IncomingMessage>((resolve, reject) => {
      req.on("response", resolve);
      req.on("error", reject);
    });
    // awaited below; a body that cannot be read fails first
    answered.catch(() => undefined);
    if (content === undefined) req.end();
    else await pipeline(Readable.from(content.read(0, content.bytes), { objectMode: false }), req);
    return await answered;
  }

  #failure(failure: StoreFailure, said: string, key?: string, cause?: unknown): Error {
    return storeError(failure, { address: this.#address, said, credentials: "", key, cause });
  }

  #refusal({ code = "" }: { readonly code?: string }, key: string | undefined): Error {
    const failure = FAILURES[code];
    if (failure !== undefined) return this.#failure(failure, "other content than was announced", key);
    const why = OPERATORS[code as keyof typeof OPERATORS];
    if (why === undefined) return this.#failure("unavailable", "the server's object store failed", key);
    return appError(code as keyof typeof OPERATORS, {
      detail: `The store ${this.#address} ${why}.`,
      hint:
        code === "overloaded"
          ? "Send the request again."
          : "Tell the operator of the server: its health check shows the reason. Nothing was stored.",
      meta: { store: this.#address },
    });
  }
}

/** What only the operator of the server can change. */
const OPERATORS = {
  media_denied: "cannot be used: the object store of the server refuses access",
  media_store_not_found: "cannot be used: the object store of the server does not exist",
  media_store_full: "has no room: the object store of the server is full",
  overloaded: "has too many requests that wait",
} as const;

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";
}
