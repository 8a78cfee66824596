import { readInt32 } from "../../sql/read-int32.ts";

/** Growing buffers of a record batch. Integers are little-endian, as in Arrow. */

/** Any bytes. */
export class Bytes {
  bytes = Buffer.allocUnsafeSlow(FIRST_BYTES);
  at = 0;

  reserve(more: number): void {
    if (this.at + more <= this.bytes.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.max(this.bytes.length * 2, this.at + more));
    grown.set(this.bytes.subarray(0, this.at));
    this.bytes = grown;
  }

  copy(source: Uint8Array, start: number, end: number): void {
    this.reserve(end - start);
    let { at } = this;
    const { bytes } = this;
    if (end - start > LONG) bytes.set(source.subarray(start, end), at);
    else for (let from = start; from < end; from++) bytes[at++] = source[from] as number;
    this.at += end - start;
  }

  /** Copies a big-endian number of `width` bytes. */
  reverse(source: Uint8Array, start: number, width: number): void {
    this.reserve(width);
    const { bytes } = this;
    let { at } = this;
    for (let from = start + width - 1; from >= start; from--) bytes[at++] = source[from] as number;
    this.at = at;
  }

  text(text: string): void {
    const length = Buffer.byteLength(text);
    this.reserve(length);
    this.at += this.bytes.write(text, this.at, length);
  }

  zeros(count: number): void {
    this.reserve(count);
    this.bytes.fill(0, this.at, this.at + count);
    this.at += count;
  }

  byte(value: number): void {
    this.reserve(1);
    this.bytes[this.at++] = value & 255;
  }

  int16(value: number): void {
    this.reserve(2);
    this.at = this.bytes.writeInt16LE(value, this.at);
  }

  int32(value: number): void {
    this.reserve(4);
    this.at = this.bytes.writeInt32LE(value, this.at);
  }

  bigint(value: bigint): void {
    this.reserve(8);
    this.at = this.bytes.writeBigInt64LE(value, this.at);
  }

  float(value: number): void {
    this.reserve(4);
    this.at = this.bytes.writeFloatLE(value, this.at);
  }

  double(value: number): void {
    this.reserve(8);
    this.at = this.bytes.writeDoubleLE(value, this.at);
  }

  /** What was written; the buffer is empty afterwards, and must not be written before the caller has copied that. */
  take(): Uint8Array {
    const taken = this.bytes.subarray(0, this.at);
    this.at = 0;
    return taken;
  }
}

/** Values of eight bytes, which PostgreSQL sends with the highest byte first. */
export class Words {
  #words = new Int32Array(FIRST_BYTES / 4);
  #at = 0;

  get bytes(): number {
    return this.#at * 4;
  }

  copy(source: Buffer, start: number): void {
    this.add(readInt32(source, start + 4), readInt32(source, start));
  }

  /** Adds a value by its lower and its upper half. */
  add(low: number, high: number): void {
    const at = this.#at;
    if (at === this.#words.length) {
      const grown = new Int32Array(at * 2);
      grown.set(this.#words);
      this.#words = grown;
    }
    this.#words[at] = low;
    this.#words[at + 1] = high;
    this.#at = at + 2;
  }

  take(): Uint8Array {
    const taken = new Uint8Array(this.#words.buffer, 0, this.#at * 4);
    this.#at = 0;
    return taken;
  }
}

/** Which values are not null, as bits. They are written from the first null on, because most batches have none. */
export class Validity {
  readonly #bits = new Bits();
  length = 0;

  get nulls(): number {
    return this.#bits.zeros;
  }

  add(isValid: boolean): void {
    if (!isValid && this.#bits.length === 0) for (let at = 0; at < this.length; at++) this.#bits.add(true);
    if (!isValid || this.#bits.length > 0) this.#bits.add(isValid);
    this.length += 1;
  }

  take(): Uint8Array {
    this.length = 0;
    return this.#bits.take();
  }
}

/** Bits, the lowest of a byte first. */
export class Bits {
  readonly #bytes = new Bytes();
  #count = 0;
  zeros = 0;

  get length(): number {
    return this.#count;
  }

  add(bit: boolean): void {
    const at = this.#count & 7;
    if (at === 0) this.#bytes.byte(0);
    if (bit) this.#bytes.bytes[this.#bytes.at - 1] = (this.#bytes.bytes[this.#bytes.at - 1] as number) | (1 << at);
    else this.zeros += 1;
    this.#count += 1;
  }

  take(): Uint8Array {
    this.#count = 0;
    this.zeros = 0;
    return this.#bytes.take();
  }
}

const FIRST_BYTES = 4096;
/** Below this length a loop is faster than the runtime's copy. */
const LONG = 48;
