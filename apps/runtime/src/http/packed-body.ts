import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { appError } from "@appdb/contract/errors";

const GZIP = /^(x-)?gzip$/i;
const UTF8 = /^"?(utf-?8|us-ascii)"?$/i;

/**
 * Refuses a body with an encoding other than gzip, or a charset other than UTF-8. Undefined when the headers are
 * acceptable.
 */
export function refuseEncoding(headers: IncomingMessage["headers"]): Error | undefined {
  const type = headers["content-type"];
  if (headers["content-encoding"] === undefined && type?.includes(";") !== true) return undefined;
  const encoding = headers["content-encoding"]?.trim();
  if (encoding !== undefined && !GZIP.test(encoding) && !/^(identity)?$/i.test(encoding)) {
    return appError("unsupported_media_type", {
      detail: `The body has the content encoding ${JSON.stringify(encoding.slice(0, 100))}; services accept uncompressed bodies and gzip.`,
      hint: "Send the body uncompressed, or with the header: content-encoding: gzip",
    });
  }
  const charset = /;\s*charset\s*=\s*([^;]*)/i.exec(type ?? "")?.[1]?.trim();
  if (charset === undefined || UTF8.test(charset)) return undefined;
  return appError("unsupported_media_type", {
    detail: `The body's charset is ${JSON.stringify(charset.slice(0, 100))}; JSON must be UTF-8.`,
    hint: "Send the body in UTF-8.",
  });
}

/** A request's unpacked body. Invalid gzip fails with invalid_encoding. */
export function decompressedBody(request: IncomingMessage): Readable {
  const encoding = request.headers["content-encoding"];
  if (encoding === undefined || !GZIP.test(encoding.trim())) return request;
  const gunzip = createGunzip();
  request.on("error", (error) => gunzip.destroy(error));
  return request.pipe(gunzip);
}

/** Stops unpacking. The caller reads the rest of the request. */
export function stopUnpacking(request: IncomingMessage, unpacked: Readable): void {
  if (unpacked === request) return;
  request.unpipe();
  unpacked.destroy();
}

/** Describes an error of zlib. */
export function explainUnpacking(error: unknown): unknown {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (!code.startsWith("Z_")) return error;
  return appError("invalid_encoding", {
    detail:
      code === "Z_BUF_ERROR"
        ? "The body ends before its gzip data is complete."
        : "The body is not gzip although its content-encoding says so.",
    hint: "Compress the body with gzip, or omit the header content-encoding.",
    cause: error,
  });
}
