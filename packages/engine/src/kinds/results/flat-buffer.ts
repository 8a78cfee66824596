/** A member of a table: a scalar of so many bytes, or the place of an object. */
export type FlatMember =
  | { readonly bytes: 1 | 2 | 4 | 8; readonly value: number }
  | { readonly place: number }
  | undefined;

/**
 * Writes one FlatBuffer (the format of Arrow's metadata) from its end to its start, so that an object follows those that
 * refer to it. Places are counted from the end.
 */
export class FlatBuffer {
  #bytes = Buffer.alloc(FIRST_BYTES);
  #start = FIRST_BYTES;
  #widest = 1;

  text(text: string): number {
    const utf8 = Buffer.from(text);
    this.#align(4, utf8.length + 1);
    this.#start -= utf8.length + 1;
    this.#bytes.set(utf8, this.#start);
    return this.#length(utf8.length);
  }

  /** A vector of objects. */
  objects(places: readonly number[]): number {
    this.#align(4, 4 * places.length);
    for (const place of places.toReversed()) this.#refer(place);
    return this.#length(places.length);
  }

  /** A vector of structs of two 64-bit integers. */
  pairs(pairs: readonly (readonly [number, number])[]): number {
    this.#align(4, 16 * pairs.length);
    this.#align(8, 16 * pairs.length);
    for (const [first, second] of pairs.toReversed()) {
      this.#scalar(8, second);
      this.#scalar(8, first);
    }
    return this.#length(pairs.length);
  }

  /** A table with its members by their numbers; an undefined one is absent. */
  table(members: readonly FlatMember[]): number {
    const end = this.#place;
    const places = new Array<number>(members.length).fill(0);
    for (const [at, member] of [...members.entries()].reverse()) {
      if (member === undefined) continue;
      if ("place" in member) this.#refer(member.place);
      else this.#scalar(member.bytes, member.value);
      places[at] = this.#place;
    }
    this.#scalar(4, 0);
    const table = this.#place;
    for (const place of places.toReversed()) this.#scalar(2, place === 0 ? 0 : table - place);
    this.#scalar(2, table - end);
    this.#scalar(2, (members.length + 2) * 2);
    this.#bytes.writeInt32LE(this.#place - table, this.#bytes.length - table);
    return table;
  }

  /** The bytes, whose root is the table at `place`. */
  finish(place: number): Buffer {
    this.#align(this.#widest, 4);
    this.#refer(place);
    return this.#bytes.subarray(this.#start);
  }

  get #place(): number {
    return this.#bytes.length - this.#start;
  }

  #length(count: number): number {
    this.#start -= 4;
    this.#bytes.writeUInt32LE(count, this.#start);
    return this.#place;
  }

  #refer(place: number): void {
    this.#align(4, 0);
    this.#start -= 4;
    this.#bytes.writeUInt32LE(this.#place - place, this.#start);
  }

  #scalar(bytes: 1 | 2 | 4 | 8, value: number): void {
    this.#align(bytes, 0);
    this.#start -= bytes;
    if (bytes === 8) this.#bytes.writeBigInt64LE(BigInt(value), this.#start);
    else this.#bytes.writeIntLE(value > 0x7fff && bytes === 2 ? value - 0x10000 : value, this.#start, bytes);
  }

  /** Pads so that a value of `size` bytes is aligned once `more` bytes follow it; makes room for both. */
  #align(size: number, more: number): void {
    this.#widest = Math.max(this.#widest, size);
    const padding = (size - ((this.#place + more) % size)) % size;
    const needed = padding + size + more + 4;
    while (this.#start < needed) {
      const grown = Buffer.alloc(this.#bytes.length * 2);
      grown.set(this.#bytes, this.#bytes.length);
      this.#start += this.#bytes.length;
      this.#bytes = grown;
    }
    this.#bytes.fill(0, this.#start - padding, this.#start);
    this.#start -= padding;
  }
}

const FIRST_BYTES = 1024;
