import type { MediaFile } from "../ports.ts";
import type { RouteAnswer } from "./answers.ts";

/** Types that a browser may show in place. All others, HTML and SVG among them, are downloaded: they can run scripts. */
const SHOWN =
  /^(?:image\/(?!svg)[a-z0-9.+-]+|video\/[a-z0-9.+-]+|audio\/[a-z0-9.+-]+|application\/pdf|text\/plain|text\/csv|text\/markdown)$/;
/** A page that is only the file. */
const SANDBOX = "sandbox; default-src 'none'; img-src 'self'; media-src 'self'; style-src 'unsafe-inline'";
const TEXT = /^text\//;

export interface FileRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly signal?: AbortSignal | undefined;
}

/**
 * The answer with the content of a file: whole, the requested range, or 304 for a client that has it (RFC 9110).
 * `cacheControl`: the header's value.
 */
export async function fileAnswer(file: MediaFile, request: FileRequest, cacheControl: string): Promise<RouteAnswer> {
  const shared = {
    etag: file.etag,
    "accept-ranges": "bytes",
    "cache-control": cacheControl,
    "x-content-type-options": "nosniff",
    // A browser's own viewer of PDF does not run in a sandbox.
    ...(file.type === "application/pdf" ? {} : { "content-security-policy": SANDBOX }),
  };
  if (isKnown(request.headers["if-none-match"], file.etag)) return { status: 304, headers: shared, body: "" };
  const range = rangeOf(request, file);
  if (range === "unsatisfiable") {
    return { status: 416, headers: { ...shared, "content-range": `bytes */${file.bytes}` }, body: "" };
  }
  const { start, end } = range ?? { start: 0, end: file.bytes };
  return {
    status: range === undefined ? 200 : 206,
    headers: {
      ...shared,
      "content-type": TEXT.test(file.type) ? `${file.type}; charset=utf-8` : file.type,
      "content-disposition": `${SHOWN.test(file.type) ? "inline" : "attachment"}; ${fileName(file.name)}`,
      "content-length": String(end - start),
      ...(range === undefined ? {} : { "content-range": `bytes ${start}-${end - 1}/${file.bytes}` }),
    },
    body: request.method === "HEAD" ? NOTHING : await file.read(start, end, request.signal),
  };
}

const NOTHING: AsyncIterable<Uint8Array> = { async *[Symbol.asyncIterator]() {} };

interface Range {
  readonly start: number;
  readonly end: number;
}

/** The only range of a request. Several ranges, other units and malformed ones are ignored, as servers may. */
function rangeOf({ headers }: FileRequest, { bytes, etag }: MediaFile): Range | "unsatisfiable" | undefined {
  const { range, "if-range": ifRange } = headers;
  if (typeof range !== "string" || (ifRange !== undefined && ifRange !== etag)) return undefined;
  const [, first = "", last = ""] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(range.trim()) ?? [];
  if (first === "" && last === "") return undefined;
  if (first === "") {
    const length = Math.min(Number(last), bytes);
    return length === 0 ? "unsatisfiable" : { start: bytes - length, end: bytes };
  }
  const start = Number(first);
  if (last !== "" && Number(last) < start) return undefined;
  if (start >= bytes) return "unsatisfiable";
  return { start, end: last === "" ? bytes : Math.min(Number(last) + 1, bytes) };
}

function isKnown(header: string | string[] | undefined, etag: string): boolean {
  if (typeof header !== "string") return false;
  return header.trim() === "*" || header.split(",").some((tag) => tag.trim().replace(/^W\//, "") === etag);
}

/** The name in plain ASCII for old clients, and in full (RFC 6266). */
function fileName(name: string): string {
  const plain = name.replace(/[^ -~]|["\\%]/g, "_");
  const encoded = encodeURIComponent(name.toWellFormed()).replace(
    /['()*]/g,
    (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return plain === name ? `filename="${plain}"` : `filename="${plain}"; filename*=UTF-8''${encoded}`;
}
