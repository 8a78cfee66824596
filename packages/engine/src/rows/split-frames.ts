import { appError } from "@appdb/contract/errors";
import { type BodyLimit, howToRaiseBodies } from "@appdb/contract/service-limits";
import { type ColumnBatch, notColumns, readColumnBatch } from "./column-batch.ts";
import { linesOf } from "./split-lines.ts";

const LENGTH_BYTES = 4;
/** Maximum of a frame, if a row may not be larger. */
const FRAME_BYTES = 4_000_000;

/**
 * Splits a stream of bytes into frames: a length, the length of a header, the header as JSON, and data. A frame has rows
 * by columns, or lines of JSON.
 * @throws payload_too_large for a frame or a row that is too large, invalid_request; any error of the stream
 */
export async function* splitFrames(
  stream: AsyncIterable<Uint8Array>,
  limit: BodyLimit,
): AsyncGenerator<ColumnBatch | readonly (string | Uint8Array)[]> {
  const most = Math.max(limit.body_bytes, FRAME_BYTES);
  let pieces: Uint8Array[] = [];
  let have = 0;
  let want = LENGTH_BYTES;
  let rows = 0;
  for await (const piece of stream) {
    pieces.push(piece);
    have += piece.length;
    if (have < want) continue;
    let rest = Buffer.concat(pieces, have);
    for (;;) {
      want = LENGTH_BYTES;
      if (rest.length < want) break;
      const length = rest.readUInt32LE(0);
      if (length > most) throw tooLarge(rows, length, { ...limit, body_bytes: most });
      want += length;
      if (rest.length < want) break;
      const frame = readFrame(rest.subarray(LENGTH_BYTES, want), rows, limit);
      rows += "columns" in frame ? frame.rows : frame.length;
      yield frame;
      rest = rest.subarray(want);
    }
    pieces = [rest];
    have = rest.length;
  }
  if (have > 0) throw notColumns("the body ends within a frame");
}

function readFrame(frame: Buffer, rows: number, limit: BodyLimit) {
  if (frame.length < LENGTH_BYTES) throw notColumns("it has no header");
  const end = LENGTH_BYTES + frame.readUInt32LE(0);
  if (end > frame.length) throw notColumns("it ends within its header");
  const header = frame.toString("utf8", LENGTH_BYTES, end);
  const data = frame.subarray(end);
  if (header === "") return checkedLines(linesOf(data), rows, limit);
  const batch = readColumnBatch(header, data);
  if (batch.bytes > limit.body_bytes) checkRows(batch, rows, limit);
  return batch;
}

function checkedLines(lines: readonly (string | Uint8Array)[], rows: number, limit: BodyLimit) {
  const { body_bytes: rowBytes } = limit;
  const long = lines.findIndex((line) => line.length > rowBytes || Buffer.byteLength(line) > rowBytes);
  if (long >= 0) throw tooLarge(rows + long, Buffer.byteLength(lines[long] ?? ""), limit);
  return lines;
}

function checkRows({ columns, rows: count }: ColumnBatch, rows: number, limit: BodyLimit): void {
  for (let at = 0; at < count; at++) {
    let size = 0;
    for (const { cells, form } of columns) {
      size += form.width ?? (cells.starts?.[at + 1] ?? 0) - (cells.starts?.[at] ?? 0);
    }
    if (size > limit.body_bytes) throw tooLarge(rows + at, size, limit);
  }
}

function tooLarge(row: number, bytes: number, limit: BodyLimit): Error {
  const { body_bytes: most } = limit;
  return appError("payload_too_large", {
    detail: `Line ${row + 1} is longer than ${most} bytes: it has ${bytes}. Nothing was stored.`,
    hint: `Send shorter rows, or ${howToRaiseBodies(limit)}.`,
    meta: { line: row + 1, limit: "body_bytes", value: most },
  });
}
