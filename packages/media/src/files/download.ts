import { createHash } from "node:crypto";
import { closeSync } from "node:fs";
import { get as getHttp, type IncomingMessage } from "node:http";
import { get as getHttps } from "node:https";
import { isIP } from "node:net";
import { appError } from "@appdb/contract/errors";
import { createFile, writeAll } from "@appdb/system/files/descriptors";
import type { FreePieces } from "@appdb/system/files/free-pieces";
import { isDiskFull } from "@appdb/system/files/is-disk-full";
import { isForeignAddress, publicLookup } from "@appdb/system/network/public-addresses";
import type { Validators } from "./file-cache.ts";
import { SNIFFED_BYTES } from "./sniff-type.ts";

const MAX_REDIRECTS = 5;
const CONNECT_MS = 10_000;
/** A server may be silent for so long, may need so long for its headers, and must send enough bytes in each such time. */
const PATIENCE_MS = 30_000;
const MIN_BYTES_PER_S = 1_000;
/** Longer tags and times are not sent back. */
const MAX_VALIDATOR = 1_000;
const LAST_RESERVED_PORT = 1_023;
const WEB_PORTS = ["", "80", "443"];

export interface DownloadOptions {
  /** Whether addresses of this machine and of private networks may be reached. */
  readonly allows_private: boolean;
  readonly max_bytes: number;
  /** The whole download, however steadily bytes come. */
  readonly total_ms: number;
  readonly signal?: AbortSignal | undefined;
  /** What the address said of content that the caller has. */
  readonly known?: Validators | undefined;
  /** Called before bytes are written. It may refuse them. */
  onBytes?(bytes: number): Promise<void> | undefined;
  /** Gets the first bytes, before most of the others are downloaded. It may refuse the content. */
  onHead?: ((head: Uint8Array) => void) | undefined;
  /** Frees pieces that were written. */
  readonly free?: FreePieces;
  /** For tests. */
  readonly patience_ms?: number;
}

export interface Downloaded extends Validators {
  readonly bytes: number;
  /** Hex. */
  readonly sha256: string;
  /** What the server says the content is; undefined when it does not. */
  readonly said_type: string | undefined;
}

/**
 * Downloads an http(s) address into a new file. Each redirect is checked like the first address, and a connection goes to
 * the very address that was checked. The file is left to the caller, whole or not. Undefined, and no file, if the known
 * content is still the current one.
 * @throws media_unreachable, media_too_large, disk_full; the abort's reason
 */
export async function download(
  address: string,
  path: string,
  options: DownloadOptions,
): Promise<Downloaded | undefined> {
  const signals = [AbortSignal.timeout(options.total_ms), ...(options.signal === undefined ? [] : [options.signal])];
  const signal = AbortSignal.any(signals);
  try {
    const answer = await follow(new URL(address), options, signal);
    return answer === undefined ? undefined : await save(answer, address, path, options, signal);
  } catch (error) {
    if (options.signal?.aborted === true) throw options.signal.reason;
    if (signal.aborted) throw unreachable(address, `it takes more than ${options.total_ms / 1_000} s`, error);
    throw isDiskFull(error) ? diskFull(error) : error;
  }
}

async function follow(url: URL, options: DownloadOptions, signal: AbortSignal): Promise<IncomingMessage | undefined> {
  const first = url.href;
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
    checkTarget(url, first, options.allows_private);
    const answer = await send(url, first, options, signal);
    const status = answer.statusCode ?? 0;
    if (status === 200) return checkEncoding(answer, first);
    answer.destroy();
    if (status === 304 && conditionsOf(options.known) !== NO_CONDITIONS) return undefined;
    const { location } = answer.headers;
    if (status < 300 || status >= 400 || location === undefined) throw unreachable(first, `it answers ${status}`);
    if (!URL.canParse(location, url.href)) throw unreachable(first, "it leads to an address that is not valid");
    url = new URL(location, url);
  }
  throw unreachable(first, `it leads through more than ${MAX_REDIRECTS} addresses`);
}

const HEADERS = { accept: "*/*", "accept-encoding": "identity", "user-agent": "appdb" };
const NO_CONDITIONS = {};

/** A tag is exact; the time of a change has whole seconds only and counts without one (RFC 9110, 13.1). */
function conditionsOf({ etag, last_modified: lastModified }: Validators = {}): Readonly<Record<string, string>> {
  if (etag !== undefined) return { "if-none-match": etag };
  return lastModified === undefined ? NO_CONDITIONS : { "if-modified-since": lastModified };
}

function checkTarget(url: URL, first: string, allowsPrivate: boolean): void {
  if (url.protocol !== "http:" && url.protocol !== "https:") throw unreachable(first, "it leads to another protocol");
  if (url.username !== "" || url.password !== "") throw unreachable(first, "it holds a user or a password");
  const host = url.hostname.replace(/^\[|\]$/g, "");
  if (!allowsPrivate && isIP(host) !== 0 && !isForeignAddress(host)) {
    throw unreachable(first, "it is an address of this machine or of a private network");
  }
  if (!allowsPrivate && !WEB_PORTS.includes(url.port) && Number(url.port) <= LAST_RESERVED_PORT) {
    throw unreachable(first, `it leads to port ${url.port}; 80, 443 and ports from 1024 on are allowed`);
  }
}

/** Bytes are stored as they come: a small body that unpacks to a large one stays small, and is not a file of its type. */
function checkEncoding(answer: IncomingMessage, first: string): IncomingMessage {
  const encoding = answer.headers["content-encoding"] ?? "identity";
  if (/^\s*(?:identity)?\s*$/i.test(encoding)) return answer;
  answer.destroy();
  throw unreachable(first, `its content is encoded (${encoding.slice(0, 40)}) although plain content was requested`);
}

function send(url: URL, first: string, options: DownloadOptions, signal: AbortSignal): Promise<IncomingMessage> {
  const { allows_private: allowsPrivate, patience_ms: patienceMs = PATIENCE_MS } = options;
  return new Promise((resolve, reject) => {
    const request = (url.protocol === "https:" ? getHttps : getHttp)(url, {
      signal,
      timeout: CONNECT_MS,
      headers: { ...HEADERS, ...conditionsOf(options.known) },
      ...(allowsPrivate ? {} : { lookup: publicLookup }),
    });
    const late = (ms: number) => () => request.destroy(unreachable(first, `it does not answer within ${ms / 1_000} s`));
    // Each byte of a header counts for the timeout of the socket.
    const timer = setTimeout(late(patienceMs), patienceMs);
    request.once("response", (answer) => {
      clearTimeout(timer);
      answer.setTimeout(patienceMs, () =>
        answer.destroy(unreachable(first, `it is silent for ${patienceMs / 1_000} s`)),
      );
      resolve(answer);
    });
    request.once("timeout", late(CONNECT_MS));
    request.once("error", (error: NodeJS.ErrnoException) => {
      clearTimeout(timer);
      reject(error.name === "AppError" || signal.aborted ? error : unreachable(first, reasonOf(error), error));
    });
  });
}

async function save(
  answer: IncomingMessage,
  address: string,
  path: string,
  { free, max_bytes: maxBytes, onBytes, onHead, patience_ms: patienceMs = PATIENCE_MS }: DownloadOptions,
  signal: AbortSignal,
): Promise<Downloaded> {
  const length = Number(answer.headers["content-length"] ?? Number.NaN);
  if (length > maxBytes) {
    answer.destroy();
    throw tooLarge(address, maxBytes);
  }
  const hash = createHash("sha256");
  const file = await createFile(path, "wx", 0o600);
  let bytes = 0;
  const checkSpeed = watchSpeed(address, patienceMs);
  let head: Buffer[] | undefined = onHead === undefined ? undefined : [];
  try {
    for await (const piece of answer as AsyncIterable<Buffer>) {
      signal.throwIfAborted();
      bytes += piece.length;
      if (bytes > maxBytes) throw tooLarge(address, maxBytes);
      checkSpeed(bytes);
      await onBytes?.(piece.length);
      head?.push(piece);
      if (head !== undefined && bytes >= SNIFFED_BYTES) {
        onHead?.(Buffer.concat(head));
        head = undefined;
      }
      hash.update(piece);
      await writeAll(file, piece);
      if (head === undefined) free?.([piece]);
    }
  } catch (error) {
    const { name, code } = error as NodeJS.ErrnoException;
    if (name === "AppError" || isDiskFull(error) || signal.aborted) throw error;
    throw unreachable(address, `it breaks off after ${bytes} bytes${code === undefined ? "" : ` (${code})`}`, error);
  } finally {
    closeSync(file);
  }
  if (length >= 0 && bytes !== length) throw unreachable(address, `it breaks off after ${bytes} of ${length} bytes`);
  const { "content-type": type, "last-modified": lastModified, etag } = answer.headers;
  return {
    bytes,
    sha256: hash.digest("hex"),
    said_type: type?.split(";", 1)[0]?.trim(),
    etag: shortOrNone(etag),
    last_modified: shortOrNone(lastModified),
  };
}

function shortOrNone(header: string | undefined): string | undefined {
  return header !== undefined && header.length <= MAX_VALIDATOR ? header : undefined;
}

/** A server that sends a byte now and then would hold a place for all of the time. */
function watchSpeed(address: string, windowMs: number): (bytes: number) => void {
  let [since, before] = [performance.now(), 0];
  return (bytes) => {
    const ms = performance.now() - since;
    if (ms < windowMs) return;
    if (bytes - before < (MIN_BYTES_PER_S * ms) / 1_000) {
      throw unreachable(address, `it sends less than ${MIN_BYTES_PER_S} bytes in a second`);
    }
    [since, before] = [performance.now(), bytes];
  };
}

function reasonOf({ code, message }: NodeJS.ErrnoException): string {
  if (code === "EPRIVATE") return "its name is of this machine or of a private network";
  if (code === "ENOTFOUND") return "its host does not exist";
  if (code === "ECONNREFUSED") return "its host refuses the connection";
  if (code === "EPROTO") return "its host does not speak https on this port; try http";
  if (code === "HPE_HEADER_OVERFLOW") return "its headers are too large";
  if (code?.startsWith("HPE_") === true) return `its host does not speak HTTP (${code})`;
  if (/CERT|SIGNATURE|ALTNAME/.test(code ?? "")) return `its certificate is not valid (${code})`;
  return code ?? message;
}

function unreachable(address: string, why: string, cause?: unknown): Error {
  const shown = withoutSecrets(address);
  return appError("media_unreachable", {
    detail: `${shown} could not be downloaded: ${why}.`,
    hint: "Check the address, or upload the file.",
    meta: { address: shown },
    cause,
  });
}

/** The error for content with more bytes than are taken. */
export function tooLarge(address: string, maxBytes: number): Error {
  return appError("media_too_large", {
    detail: `${withoutSecrets(address)} has more than ${maxBytes} bytes.`,
    hint: "Use a smaller file.",
    meta: { max_bytes: maxBytes },
  });
}

function diskFull(cause: unknown): Error {
  return appError("disk_full", {
    detail: "The disk has no room for the media file; nothing was stored.",
    hint: "Free space on the disk, and send the request again.",
    cause,
  });
}

/** An address without its user and password, and without what a signature stands in. */
export function withoutSecrets(address: string): string {
  if (!URL.canParse(address)) return "The address";
  const url = new URL(address);
  return `${url.protocol}//${url.host}${url.pathname}`.slice(0, 200);
}
