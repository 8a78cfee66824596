import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { appError } from "@appdb/contract/errors";

const GZIP = /^(x-)?gzip$/i;
const UTF8 = /^"?(utf-?8|us-ascii)"?$/i;

/**
 * What of a request's headers keeps its body from being read: a packing other than gzip, a charset other than UTF-8.
 * Undefined when nothing does.
 */
export function refuseEncoding(headers: IncomingMessage["headers"]): Error | undefined {
  const type = headers["content-type"];
  if (headers["content-encoding"] === undefined && type?.includes(";") !== true) return undefined;
  const encoding = headers["content-encoding"]?.trim();
  if (encoding !== undefined && !GZIP.test(encoding) && !/^(identity)?$/i.test(encoding)) {
    return appError("unsupported_media_type", {
      detail: `The body is packed as ${JSON.stringify(encoding.slice(0, 100))}; bodies are taken plain, or packed by gzip.`,
      hint: "Send the body as it is, or with the header: content-encoding: gzip",
    });
  }
  const charset = /;\s*charset\s*=\s*([^;]*)/i.exec(type ?? "")?.[1]?.trim();
  if (charset === undefined || UTF8.test(charset)) return undefined;
  return appError("unsupported_media_type", {
    detail: `The body's charset is ${JSON.stringify(charset.slice(0, 100))}; JSON is taken in UTF-8.`,
    hint: "Send the body in UTF-8.",
  });
}

/** A request's body as it was before it was packed. What is no gzip fails with invalid_encoding. */
export function unpackedBody(request: IncomingMessage): Readable {
  const encoding = request.headers["content-encoding"];
  if (encoding === undefined || !GZIP.test(encoding.trim())) return request;
  const gunzip = createGunzip();
  request.on("error", (error) => gunzip.destroy(error));
  return request.pipe(gunzip);
}

/** Ends the unpacking; the rest of the request is for whoever calls to take. */
export function stopUnpacking(request: IncomingMessage, unpacked: Readable): void {
  if (unpacked === request) return;
  request.unpipe();
  unpacked.destroy();
}

/** The words for what zlib found. */
export function explainUnpacking(error: unknown): unknown {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (!code.startsWith("Z_")) return error;
  return appError("invalid_encoding", {
    detail:
      code === "Z_BUF_ERROR"
        ? "The body ends before its gzip data does."
        : "The body is not gzip, as its content-encoding says.",
    hint: "Pack the body by gzip, or leave the header content-encoding out.",
    cause: error,
  });
}
