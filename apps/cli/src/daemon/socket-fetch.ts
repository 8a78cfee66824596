import { connect } from "node:net";
import type { Fetched, FetchLike } from "@appdb/contract/clients/client";

const MAX_LINE_BYTES = 65_536;
/** Characters that would end a header. */
const NOT_IN_HEADERS = /[^\t\x20-\x7e\x80-\xff]/;

/**
 * `fetch` over a plain connection, for requests to the daemon whose body is complete. Node compiles node:http again in each
 * process, which costs a command 7 ms. There are only a few calls, so each has its own connection.
 */
export const socketFetch: FetchLike<Fetched, string | Uint8Array<ArrayBuffer>> = async (url, init) => {
  const { body, headers, method, signal } = init;
  const { host, hostname, pathname, port, search } = new URL(url);
  const head = [
    `${method} ${pathname}${search} HTTP/1.1`,
    ...Object.entries({ ...headers, host, connection: "close" }).map(headerLine),
    ...(body === undefined && method === "GET" ? [] : [`content-length: ${Buffer.byteLength(body ?? "")}`]),
  ];
  signal?.throwIfAborted();
  const socket = connect(Number(port), hostname);
  const abort = () => socket.destroy(signal?.reason as Error);
  signal?.addEventListener("abort", abort);
  const end = () => {
    signal?.removeEventListener("abort", abort);
    socket.destroy();
  };
  try {
    socket.cork();
    socket.write(`${head.join("\r\n")}\r\n\r\n`, "latin1");
    if (body !== undefined) socket.write(body);
    socket.uncork();
    const bytes = new Received(socket[Symbol.asyncIterator]());
    let answer = await readHead(bytes);
    while (answer.status < 200) answer = await readHead(bytes);
    const content = readBody(answer, bytes, end);
    return {
      status: answer.status,
      headers: { get: (name) => answer.headers.get(name) ?? null },
      body: content,
      text: async () => await readText(content),
    };
  } catch (error) {
    end();
    throw error;
  }
};

function headerLine([name, value]: readonly [name: string, value: string]): string {
  if (NOT_IN_HEADERS.test(value)) throw new TypeError(`The header ${name} has a character that headers cannot have.`);
  return `${name}: ${value}`;
}

/** The bytes of a connection, in lines and in pieces as they arrive. */
class Received {
  #rest: Buffer = Buffer.alloc(0);
  readonly #pieces: AsyncIterator<Buffer>;

  constructor(pieces: AsyncIterator<Buffer>) {
    this.#pieces = pieces;
  }

  /** The next bytes, at most `max`; undefined when the connection has ended. */
  async piece(max = Number.POSITIVE_INFINITY): Promise<Buffer | undefined> {
    const piece = this.#rest.length > 0 ? this.#rest : await this.#next();
    if (piece === undefined) return undefined;
    this.#rest = piece.subarray(max);
    return piece.subarray(0, max);
  }

  /** The next line. @throws when the connection ends before */
  async line(): Promise<string> {
    let end = this.#rest.indexOf("\r\n");
    while (end < 0) {
      if (this.#rest.length > MAX_LINE_BYTES) throw new Error("A line of the response is too long.");
      const piece = await this.#next();
      if (piece === undefined) throw brokenOff();
      this.#rest = Buffer.concat([this.#rest, piece]);
      end = this.#rest.indexOf("\r\n");
    }
    const line = this.#rest.toString("latin1", 0, end);
    this.#rest = this.#rest.subarray(end + 2);
    return line;
  }

  async #next(): Promise<Buffer | undefined> {
    const { done, value } = await this.#pieces.next();
    return done === true ? undefined : value;
  }
}

interface Head {
  readonly status: number;
  /** By lower-case name; of several, the first. */
  readonly headers: ReadonlyMap<string, string>;
}

async function readHead(bytes: Received): Promise<Head> {
  const [, status] = /^HTTP\/1\.1 ([1-9]\d\d)( |$)/.exec(await bytes.line()) ?? [];
  if (status === undefined) throw new Error("The response is not HTTP/1.1.");
  const headers = new Map<string, string>();
  for (let line = await bytes.line(); line !== ""; line = await bytes.line()) {
    const colon = line.indexOf(":");
    const name = line.slice(0, colon).toLowerCase();
    if (colon > 0 && !headers.has(name)) headers.set(name, line.slice(colon + 1).trim());
  }
  return { status: Number(status), headers };
}

/** Yields the content of a response, and ends its connection. */
async function* readBody({ headers, status }: Head, bytes: Received, end: () => void): AsyncGenerator<Buffer> {
  const length = headers.get("content-length");
  try {
    if (status === 204 || status === 304) return;
    if (/\bchunked$/i.test(headers.get("transfer-encoding") ?? "")) yield* readChunks(bytes);
    else if (length !== undefined) yield* readExactly(bytes, numberOf(length));
    else for (let piece = await bytes.piece(); piece !== undefined; piece = await bytes.piece()) yield piece;
  } finally {
    end();
  }
}

async function* readChunks(bytes: Received): AsyncGenerator<Buffer> {
  for (;;) {
    const [size] = /^[\da-f]{1,8}/i.exec(await bytes.line()) ?? [];
    if (size === undefined) throw new Error("A chunk of the response has no size.");
    const length = Number.parseInt(size, 16);
    if (length === 0) break;
    yield* readExactly(bytes, length);
    if ((await bytes.line()) !== "") throw new Error("A chunk of the response is longer than its size.");
  }
  // trailers
  while ((await bytes.line()) !== "");
}

async function* readExactly(bytes: Received, length: number): AsyncGenerator<Buffer> {
  for (let rest = length; rest > 0; ) {
    const piece = await bytes.piece(rest);
    if (piece === undefined) throw brokenOff();
    rest -= piece.length;
    yield piece;
  }
}

function numberOf(length: string): number {
  if (/^\d{1,15}$/.test(length)) return Number(length);
  throw new Error(`The length of the response is ${JSON.stringify(length)}.`);
}

async function readText(content: AsyncIterable<Buffer>): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of content) pieces.push(piece);
  return Buffer.concat(pieces).toString("utf8");
}

/** The error of node:http for the same. */
function brokenOff(): Error {
  return Object.assign(new Error("socket hang up"), { code: "ECONNRESET" });
}
