import { isAscii } from "node:buffer";

const FIRST_BYTES = 4096;
/** Longer pieces are copied by the runtime; below that its call costs more than a loop. */
const LONG = 48;
export const QUOTE = 0x22;

/** Bytes of JSON that grow. */
export class JsonSheet {
  bytes = Buffer.allocUnsafeSlow(FIRST_BYTES);
  at = 0;
  #ofRow = 0;

  text(): string {
    const written = this.bytes.subarray(0, this.at);
    return written.toString(isAscii(written) ? "latin1" : "utf8");
  }

  /** Makes room for a row. */
  begin(most: number): void {
    this.#ofRow = most;
    this.room(most);
  }

  /** Makes room for so many more bytes. */
  room(more: number): void {
    if (this.at + more <= this.bytes.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.max(this.bytes.length * 2, this.at + more));
    grown.set(this.bytes.subarray(0, this.at));
    this.bytes = grown;
  }

  /** Adds a byte for which there is room. */
  add(byte: number): void {
    this.bytes[this.at++] = byte;
  }

  /** Adds any text in place of PostgreSQL's, next to the row's room. */
  addText(text: string): void {
    this.room(text.length * 3 + this.#ofRow);
    this.at += this.bytes.write(text, this.at);
  }

  /** Takes over bytes for which there is room. */
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
