import { isUtf8 } from "node:buffer";
import { appError } from "@appdb/contract/errors";
import { type BodyLimit, howToRaiseBodies } from "@appdb/contract/service-limits";

const NEWLINE = 0x0a;

/**
 * Splits a stream of bytes into lines, several at a time. A line that is not UTF-8 stays bytes.
 * @throws payload_too_large for a line of more than `body_bytes`; any error of the stream
 */
export async function* splitLines(
  stream: AsyncIterable<Uint8Array>,
  limit: BodyLimit,
): AsyncGenerator<readonly (string | Uint8Array)[]> {
  const { body_bytes: lineBytes } = limit;
  let begun: Uint8Array[] = [];
  let begunBytes = 0;
  let lines = 0;
  for await (const piece of stream) {
    const end = piece.lastIndexOf(NEWLINE);
    if (end < 0) {
      begun.push(piece);
      begunBytes += piece.length;
      if (begunBytes > lineBytes) throw tooLong(lines + 1, limit);
      continue;
    }
    const texts = linesOf(joined(begun, piece.subarray(0, end)));
    const long = begunBytes + end <= lineBytes ? -1 : texts.findIndex((text) => byteLength(text) > lineBytes);
    if (long >= 0) throw tooLong(lines + long + 1, limit);
    lines += texts.length;
    // before the rows are taken, which may last: their bytes are not needed any more
    begun = [piece.subarray(end + 1)];
    begunBytes = piece.length - end - 1;
    yield texts;
  }
  if (begunBytes > 0) yield linesOf(Buffer.concat(begun));
}

function joined(begun: readonly Uint8Array[], end: Uint8Array): Uint8Array {
  return begun.length === 0 ? end : Buffer.concat([...begun, end]);
}

/** The lines of some bytes. One that is not UTF-8 stays bytes. */
export function linesOf(bytes: Uint8Array): readonly (string | Uint8Array)[] {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
  // Invalid UTF-8 always decodes to U+FFFD, so only a text with U+FFFD needs the second check.
  if (!text.includes("\uFFFD") || isUtf8(bytes)) return text.split("\n");
  const lines: (string | Uint8Array)[] = [];
  for (let start = 0; start <= bytes.length; ) {
    const next = bytes.indexOf(NEWLINE, start);
    const line = bytes.subarray(start, next < 0 ? bytes.length : next);
    lines.push(isUtf8(line) ? Buffer.from(line).toString("utf8") : line);
    start = next < 0 ? bytes.length + 1 : next + 1;
  }
  return lines;
}

function byteLength(text: string | Uint8Array): number {
  return typeof text === "string" ? Buffer.byteLength(text) : text.length;
}

function tooLong(line: number, limit: BodyLimit): Error {
  const { body_bytes: lineBytes } = limit;
  return appError("payload_too_large", {
    detail: `Line ${line} is longer than ${lineBytes} bytes. Nothing was stored.`,
    hint: `Send shorter lines, one row each, or ${howToRaiseBodies(limit)}.`,
    meta: { line, limit: "body_bytes", value: lineBytes },
  });
}
