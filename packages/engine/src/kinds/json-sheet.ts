import { isAscii } from "node:buffer";

const FIRST_BYTES = 4096;
const LARGEST_KEPT = 2 * 1024 * 1024;
/** Below this length a loop is faster than the runtime's copy. */
const LONG = 48;
/** Below this length, room for the longest characters is faster than counting. */
const LONG_TEXT = 4096;
const MOST_BYTES = 3;
export const QUOTE = 0x22;

/** A growing buffer of JSON bytes. */
export class JsonSheet {
  bytes = Buffer.allocUnsafeSlow(FIRST_BYTES);
  at = 0;
  #ofRow = 0;

  text(): string {
    const written = this.bytes.subarray(0, this.at);
    return written.toString(isAscii(written) ? "latin1" : "utf8");
  }

  /** Returns the written bytes and starts again. Large ones are handed over without a copy. */
  take(): Buffer {
    const written = this.bytes.subarray(0, this.at);
    const isLarge = this.bytes.length > LARGEST_KEPT;
    if (isLarge) this.bytes = Buffer.allocUnsafeSlow(FIRST_BYTES);
    this.at = 0;
    return isLarge ? written : Buffer.from(written);
  }

  /** Reserves room for a row. */
  begin(max: number): void {
    this.#ofRow = max;
    this.reserve(max);
  }

  /** Reserves more room, in bytes. */
  reserve(more: number): void {
    if (this.at + more <= this.bytes.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.max(this.bytes.length * 2, this.at + more));
    grown.set(this.bytes.subarray(0, this.at));
    this.bytes = grown;
  }

  /** Adds a byte within the reserved room. */
  add(byte: number): void {
    this.bytes[this.at++] = byte;
  }

  /** Adds a text that differs from PostgreSQL's, in addition to the row's reserved room. */
  addText(text: string): void {
    const most = text.length < LONG_TEXT ? text.length * MOST_BYTES : Buffer.byteLength(text);
    this.reserve(most + this.#ofRow);
    this.at += this.bytes.write(text, this.at);
  }

  /** Copies bytes within the reserved room. */
  copy(source: Buffer, start: number, end: number): void {
    if (end - start > LONG) {
      this.at += source.copy(this.bytes, this.at, start, end);
      return;
    }
    const { bytes } = this;
    let { at } = this;
    for (let from = start; from < end; from++) bytes[at++] = source[from] as number;
    this.at = at;
  }

  quoted(source: Buffer, start: number, end: number): void {
    this.bytes[this.at++] = QUOTE;
    this.copy(source, start, end);
    this.bytes[this.at++] = QUOTE;
  }
}
