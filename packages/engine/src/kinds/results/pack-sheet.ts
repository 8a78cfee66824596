/** A growing buffer of msgpack bytes. */
export class PackSheet {
  bytes = Buffer.allocUnsafeSlow(FIRST_BYTES);
  at = 0;

  /** The bytes written so far, as a copy; the sheet is empty afterwards. */
  take(): Buffer {
    const taken = Buffer.from(this.bytes.subarray(0, this.at));
    this.at = 0;
    return taken;
  }

  reserve(more: number): void {
    if (this.at + more <= this.bytes.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.max(this.bytes.length * 2, this.at + more));
    grown.set(this.bytes.subarray(0, this.at));
    this.bytes = grown;
  }

  nil(): void {
    this.#byte(0xc0);
  }

  bool(value: boolean): void {
    this.#byte(value ? 0xc3 : 0xc2);
  }

  int(value: number | bigint): void {
    this.reserve(WIDEST);
    if (typeof value === "bigint" || value < -0x80000000 || value > 0xffffffff) {
      this.bytes[this.at] = 0xd3;
      this.bytes.writeBigInt64BE(BigInt(value), this.at + 1);
      this.at += 9;
    } else if (value >= -32 && value < 128) this.#byte(value & 0xff);
    else if (value < 0) {
      this.bytes[this.at] = 0xd2;
      this.at = this.bytes.writeInt32BE(value, this.at + 1);
    } else {
      this.bytes[this.at] = 0xce;
      this.at = this.bytes.writeUInt32BE(value, this.at + 1);
    }
  }

  double(value: number): void {
    this.reserve(WIDEST);
    this.bytes[this.at] = 0xcb;
    this.at = this.bytes.writeDoubleBE(value, this.at + 1);
  }

  text(text: string): void {
    const length = Buffer.byteLength(text);
    this.#head(length, { fixed: 0xa0, below: 32, long: 0xdb });
    this.reserve(length);
    this.at += this.bytes.write(text, this.at, length);
  }

  /** A text that is UTF-8 already. */
  textOf(source: Uint8Array, start: number, end: number): void {
    this.#head(end - start, { fixed: 0xa0, below: 32, long: 0xdb });
    this.#copy(source, start, end);
  }

  binary(source: Uint8Array): void {
    this.#head(source.length, { fixed: 0, below: 0, long: 0xc6 });
    this.#copy(source, 0, source.length);
  }

  array(length: number): void {
    this.#head(length, { fixed: 0x90, below: 16, long: 0xdd });
  }

  map(length: number): void {
    this.#head(length, { fixed: 0x80, below: 16, long: 0xdf });
  }

  /** Begins an array whose length `setLength` writes later. Returns its place. */
  openArray(): number {
    this.reserve(WIDEST);
    this.bytes[this.at] = 0xdd;
    const place = this.at + 1;
    this.at += 5;
    return place;
  }

  setLength(place: number, length: number): void {
    this.bytes.writeUInt32BE(length, place);
  }

  /** A value as in JSON. Numbers are doubles unless they are integers. */
  json(value: unknown): void {
    if (value === null || value === undefined) this.nil();
    else if (typeof value === "boolean") this.bool(value);
    else if (typeof value === "number") Number.isSafeInteger(value) ? this.int(value) : this.double(value);
    else if (typeof value === "bigint") this.int(value);
    else if (typeof value === "string") this.text(value);
    else if (value instanceof Uint8Array) this.binary(value);
    else if (Array.isArray(value)) {
      this.array(value.length);
      for (const item of value) this.json(item);
    } else {
      const entries = Object.entries(value).filter(([, item]) => item !== undefined);
      this.map(entries.length);
      for (const [name, item] of entries) {
        this.text(name);
        this.json(item);
      }
    }
  }

  #head(length: number, { fixed, below, long }: { fixed: number; below: number; long: number }): void {
    this.reserve(WIDEST);
    if (length < below) this.bytes[this.at++] = fixed | length;
    else {
      this.bytes[this.at] = long;
      this.at = this.bytes.writeUInt32BE(length, this.at + 1);
    }
  }

  #copy(source: Uint8Array, start: number, end: number): void {
    this.reserve(end - start);
    this.bytes.set(source.subarray(start, end), this.at);
    this.at += end - start;
  }

  #byte(value: number): void {
    this.reserve(1);
    this.bytes[this.at++] = value;
  }
}

const FIRST_BYTES = 64 * 1024;
/** Of a head, or of a number. */
const WIDEST = 9;
