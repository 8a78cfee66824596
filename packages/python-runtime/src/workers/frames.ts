import type { TypeKind } from "@appdb/contract/types";
import type { FromWorker, ToWorker } from "@appdb/contract/worker-protocol";
import type { Kind } from "@appdb/engine/kinds/kind";
import { KINDS } from "@appdb/engine/kinds/kinds";
// The subpath is the build without the native addon.
import { Packr } from "msgpackr/pack";

/** Frames that contain columns of values. */
export type ColumnFrame = Extract<ToWorker, { t: "run" | "feed" }>;

/** A longer frame means a broken stream. */
const MAX_FRAME_BYTES = 1 << 30;
/** msgpackr writes numbers beyond 32 bits as floats, but an Int must be a msgpack integer. */
const INT32_MIN = -0x8000_0000;
const UINT32_MAX = 0xffff_ffff;

/** Writes and reads the frames of one worker: a length of 4 bytes, then one msgpack value. */
export interface FrameCodec {
  encode(frame: Exclude<ToWorker, ColumnFrame>): Buffer;
  /** Encodes a frame with columns of these kinds. Keeps the value of Ints beyond 32 bits and of negative zero. */
  encodeColumns(frame: ColumnFrame, kinds: readonly TypeKind[]): Buffer;
  /**
   * Parses bytes as they arrive and calls back for every complete frame.
   * @throws Error for invalid frames; the stream is unusable afterwards
   */
  push(bytes: Buffer, onFrame: (frame: FromWorker) => void): void;
}

/** Makes the codec of one worker, which buffers incomplete frames. */
export function createFrameCodec(): FrameCodec {
  // The library documents "auto" (a number where it is safe, otherwise a bigint) but its types lack it.
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
  // msgpackr writes -0 as the integer 0. Only such a frame is built by hand: a map of all other entries with its size
  // increased by one, then the key `columns` and its array.
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

/** msgpackr writes objects of unknown size with a 16-bit map header, small ones with a 4-bit header. */
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
