import type { TypeKind } from "@appdb/contract/types";
import type { FromWorker, ToWorker } from "@appdb/contract/worker-protocol";
import type { Kind } from "@appdb/engine/kinds/kind";
import { KINDS } from "@appdb/engine/kinds/kinds";
// The subpath is the build without the native addon.
import { Packr } from "msgpackr/pack";

/** Frames that carry columns of values. */
export type ColumnFrame = Extract<ToWorker, { t: "run" | "feed" }>;

/** A frame longer than this is a broken stream, not a frame. */
const MAX_FRAME_BYTES = 1 << 30;
/** msgpackr writes numbers beyond 32 bits as floats; an Int crosses as a msgpack integer. */
const INT32_MIN = -0x8000_0000;
const UINT32_MAX = 0xffff_ffff;

/** Writes and reads the frames of one worker: 4 bytes of length, then one msgpack value. */
export interface FrameCodec {
  encode(frame: Exclude<ToWorker, ColumnFrame>): Buffer;
  /** Encodes a frame whose columns have these kinds. Ints beyond 32 bits and a negative zero keep their value. */
  encodeColumns(frame: ColumnFrame, kinds: readonly TypeKind[]): Buffer;
  /** Takes bytes as they come and calls back for every frame that they complete.
   *  @throws Error when the bytes are no frames; the stream is of no use afterwards */
  push(bytes: Buffer, onFrame: (frame: FromWorker) => void): void;
}

/** Makes the codec of one worker; it keeps what has come of an unfinished frame. */
export function createFrameCodec(): FrameCodec {
  // "auto" (a number where it is safe, else a bigint) is documented but missing in the library's types.
  const options: object = { useRecords: false, int64AsType: "auto" };
  const packr = new Packr(options);
  let pending: Buffer[] = [];
  let pendingBytes = 0;

  function push(bytes: Buffer, onFrame: (frame: FromWorker) => void): void {
    pending.push(bytes);
    pendingBytes += bytes.length;
    if (pendingBytes < 4) return;
    if (pending.length > 1 && pendingBytes < 4 + frameLength(pending)) return;
    const buffer = pending.length === 1 ? bytes : Buffer.concat(pending, pendingBytes);
    let offset = 0;
    while (buffer.length - offset >= 4) {
      const length = buffer.readUInt32BE(offset);
      checkLength(length);
      if (buffer.length - offset - 4 < length) break;
      const frame = packr.unpack(buffer.subarray(offset + 4, offset + 4 + length)) as FromWorker;
      offset += 4 + length;
      onFrame(frame);
    }
    pending = offset === buffer.length ? [] : [buffer.subarray(offset)];
    pendingBytes = buffer.length - offset;
  }

  return {
    encode: (frame) => withLength([packr.pack(frame)]),
    encodeColumns: (frame, kinds) => withLength(packColumns(packr, frame, kinds)),
    push,
  };
}

function packColumns(packr: Packr, frame: ColumnFrame, kinds: readonly TypeKind[]): Buffer[] {
  let hasNegativeZero = false;
  const columns = frame.columns.map((column, index) => {
    const packed = packedOf(kinds[index]);
    if (packed === "integer") return column.map(wideInt);
    if (packed === "double" && column.some((value) => Object.is(value, -0))) hasNegativeZero = true;
    return column;
  });
  if (!hasNegativeZero) return [packr.pack({ ...frame, columns })];
  // msgpackr writes -0 as the integer 0. Only such a frame is put together by hand: a map of all the other entries
  // whose size is raised by one, then the key `columns` and its array.
  const { columns: _, ...head } = frame;
  const parts = [Buffer.from(packr.pack(head)), Buffer.from(packr.pack("columns")), arrayHeader(columns.length)];
  raiseMapSize(parts[0] as Buffer);
  for (const [index, column] of columns.entries()) {
    if (packedOf(kinds[index]) !== "double") parts.push(Buffer.from(packr.pack(column)));
    else parts.push(arrayHeader(column.length), ...column.map((value) => packFloat(packr, value)));
  }
  return parts;
}

function packedOf(kind: TypeKind | undefined): Kind["packed"] {
  return kind === undefined ? null : KINDS[kind].packed;
}

function wideInt<T>(value: T): T | bigint {
  return typeof value === "number" && (value < INT32_MIN || value > UINT32_MAX) ? BigInt(value) : value;
}

function packFloat(packr: Packr, value: unknown): Buffer {
  if (!Object.is(value, -0)) return Buffer.from(packr.pack(value));
  const buffer = Buffer.alloc(9);
  buffer[0] = 0xcb;
  buffer.writeDoubleBE(-0, 1);
  return buffer;
}

function arrayHeader(length: number): Buffer {
  const buffer = Buffer.alloc(5);
  buffer[0] = 0xdd;
  buffer.writeUInt32BE(length, 1);
  return buffer;
}

/** msgpackr writes objects of unknown size with a 16-bit map header, small ones with a 4-bit one. */
function raiseMapSize(map: Buffer): void {
  if (map[0] === 0xde) map.writeUInt16BE(map.readUInt16BE(1) + 1, 1);
  else map[0] = (map[0] as number) + 1;
}

function withLength(parts: Buffer[]): Buffer {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  const buffer = Buffer.allocUnsafe(4 + length);
  buffer.writeUInt32BE(length, 0);
  let offset = 4;
  for (const part of parts) offset += part.copy(buffer, offset);
  return buffer;
}

function frameLength(parts: readonly Buffer[]): number {
  const first = parts[0] as Buffer;
  const head = first.length >= 4 ? first : Buffer.concat(parts as Buffer[]);
  const length = head.readUInt32BE(0);
  checkLength(length);
  return length;
}

function checkLength(length: number): void {
  if (length > MAX_FRAME_BYTES) throw new Error(`a frame of ${length} bytes was announced`);
}
