const FIRST_BYTES = 1 << 16;

/** A growing buffer in PostgreSQL's binary format, whose numbers have the highest byte first. */
export class CopySheet {
  bytes = Buffer.allocUnsafeSlow(FIRST_BYTES);
  at = 0;

  reserve(more: number): void {
    if (this.at + more <= this.bytes.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.max(this.bytes.length * 2, this.at + more));
    grown.set(this.bytes.subarray(0, this.at));
    this.bytes = grown;
  }

  int16(value: number): void {
    this.reserve(2);
    this.bytes[this.at++] = (value >>> 8) & 255;
    this.bytes[this.at++] = value & 255;
  }

  int32(value: number): void {
    this.reserve(4);
    const { bytes } = this;
    let { at } = this;
    bytes[at++] = value >>> 24;
    bytes[at++] = (value >>> 16) & 255;
    bytes[at++] = (value >>> 8) & 255;
    bytes[at++] = value & 255;
    this.at = at;
  }

  /** A field of eight bytes by its halves. */
  word(high: number, low: number): void {
    this.int32(8);
    this.int32(high);
    this.int32(low);
  }

  null(): void {
    this.int32(-1);
  }

  /** A field that is a part of `source`. */
  part(source: Uint8Array, start: number, end: number): void {
    const length = end - start;
    this.int32(length);
    this.reserve(length);
    const { bytes } = this;
    let { at } = this;
    if (length > LONG) bytes.set(source.subarray(start, end), at);
    else for (let from = start; from < end; from++) bytes[at++] = source[from] as number;
    this.at += length;
  }

  /** Bytes without a length. */
  raw(source: Uint8Array): void {
    this.reserve(source.length);
    this.bytes.set(source, this.at);
    this.at += source.length;
  }

  text(text: string): void {
    const length = Buffer.byteLength(text);
    this.int32(length);
    this.reserve(length);
    this.at += this.bytes.write(text, this.at, length);
  }

  /** What was written, in memory of its own. The sheet is empty afterwards. */
  take(): Buffer {
    const taken = this.bytes.subarray(0, this.at);
    this.bytes = Buffer.allocUnsafeSlow(Math.max(FIRST_BYTES, this.at));
    this.at = 0;
    return taken;
  }
}

/** From this length on the runtime copies faster than a loop. */
const LONG = 64;
