import type { ArrayDtype, ColumnType, EngineValue } from "@appdb/contract/types";
import {
  type ArrowColumn,
  type ArrowType,
  type BatchParts,
  BOOL,
  ELEMENTS,
  takeValidity,
  UTF8,
} from "./arrow-types.ts";
import { Bits, Bytes, Validity } from "./arrow-vectors.ts";

/** Size of the length before each element, and of the head of an array with its dimensions. */
const LENGTH_BYTES = 4;
const HEAD_BYTES = 12;
const DIMENSION_BYTES = 8;
/** Numbers of a JSON text: those beyond 2^53 have their digits only there. */
const NUMBER = /-?\d[\d.eE+-]*/g;

/** Arrays of a known number of dimensions: lists in lists, of a fixed size where the type fixes the length. */
export class ArrayColumn implements ArrowColumn {
  readonly type: ArrowType;
  readonly #levels: readonly ListLevel[];
  readonly #elements: Elements;
  readonly #dtype: ArrayDtype;

  constructor({ shape }: ColumnType, dtype: ArrayDtype) {
    this.#dtype = dtype;
    this.#elements = dtype === "string" ? new TextElements() : makeElements(dtype);
    this.#levels = (shape ?? []).map((size) => new ListLevel(size));
    this.type = this.#levels.reduceRight<ArrowType>((type, level) => level.typeOf(type), this.#elements.type);
  }

  get bytes(): number {
    return this.#elements.bytes;
  }

  addNull(): void {
    let count = 1;
    for (const [at, level] of this.#levels.entries()) {
      // only the outermost list itself is null; the others fill its fixed size
      for (let list = 0; list < count; list++) level.add(at > 0, level.size ?? 0);
      count *= level.size ?? 0;
    }
    for (let element = 0; element < count; element++) this.#elements.addNull();
  }

  addField(row: Buffer, start: number): void {
    const dimensions = row.readInt32BE(start);
    const lengths = Array.from({ length: dimensions }, (_, at) =>
      row.readInt32BE(start + HEAD_BYTES + at * DIMENSION_BYTES),
    );
    let at = start + HEAD_BYTES + dimensions * DIMENSION_BYTES;
    for (let left = this.#addLists(lengths); left > 0; left--) {
      const length = row.readInt32BE(at);
      at += LENGTH_BYTES;
      if (length < 0) this.#elements.addNull();
      else {
        this.#elements.addField(row, at, at + length);
        at += length;
      }
    }
  }

  addValue(value: Exclude<EngineValue, null>): void {
    const text = String(value);
    const nested: unknown = JSON.parse(text);
    const lengths: number[] = [];
    for (let level = nested; Array.isArray(level); level = level[0]) lengths.push(level.length);
    const flat = (nested as unknown[]).flat(lengths.length - 1);
    this.#addLists(lengths);
    for (const element of this.#dtype === "int64" ? (text.match(NUMBER) ?? []) : flat) {
      this.#elements.addValue(element);
    }
  }

  take(parts: BatchParts): void {
    for (const level of this.#levels) level.take(parts);
    this.#elements.take(parts);
  }

  /** Adds the lists of an array. An empty array has no dimensions. Returns the number of its elements. */
  #addLists(lengths: readonly number[]): number {
    let count = 1;
    for (const [at, level] of this.#levels.entries()) {
      const length = lengths[at] ?? 0;
      for (let list = 0; list < count; list++) level.add(true, length);
      count *= length;
    }
    return count;
  }
}

/** The lists of one dimension. */
class ListLevel {
  readonly size: number | null;
  readonly #valid = new Validity();
  readonly #ends = new Bytes();
  #end = 0;

  constructor(size: number | null) {
    this.size = size;
  }

  typeOf(item: ArrowType): ArrowType {
    const children = [{ name: "item", nullable: true, type: item }];
    const { size } = this;
    if (size === null) return { id: 12, members: () => [], children };
    return { id: 16, members: () => [{ bytes: 4, value: size }], children };
  }

  add(isValid: boolean, length: number): void {
    if (this.size !== null && length !== this.size) {
      throw new TypeError(`An array has the length ${length} where its type says ${this.size}.`);
    }
    if (this.#ends.at === 0) this.#ends.int32(0);
    this.#valid.add(isValid);
    this.#end += length;
    this.#ends.int32(this.#end);
  }

  take(parts: BatchParts): void {
    takeValidity(this.#valid, parts);
    if (this.#ends.at === 0) this.#ends.int32(0);
    const ends = this.#ends.take();
    if (this.size === null) parts.buffers.push(ends);
    this.#end = 0;
  }
}

interface Elements {
  readonly type: ArrowType;
  readonly bytes: number;
  addNull(): void;
  addField(row: Buffer, start: number, end: number): void;
  addValue(value: unknown): void;
  take(parts: BatchParts): void;
}

function makeElements(dtype: Exclude<ArrayDtype, "string">): Elements {
  const valid = new Validity();
  if (dtype === "bool") {
    const bits = new Bits();
    const add = (bit: boolean) => {
      valid.add(true);
      bits.add(bit);
    };
    return {
      type: BOOL,
      get bytes() {
        return bits.length >> 3;
      },
      addNull() {
        valid.add(false);
        bits.add(false);
      },
      addField: (row, start) => add(row[start] === 1),
      addValue: (value) => add(value === true),
      take(parts) {
        takeValidity(valid, parts);
        parts.buffers.push(bits.take());
      },
    };
  }
  const { copy, type, width, write } = ELEMENTS[dtype];
  const values = new Bytes();
  return {
    type,
    get bytes() {
      return values.at;
    },
    addNull() {
      valid.add(false);
      values.zeros(width);
    },
    addField(row, start) {
      valid.add(true);
      copy(values, row, start);
    },
    addValue(value) {
      valid.add(true);
      write(values, value);
    },
    take(parts) {
      takeValidity(valid, parts);
      parts.buffers.push(values.take());
    },
  };
}

class TextElements implements Elements {
  readonly type = UTF8;
  readonly #valid = new Validity();
  readonly #ends = new Bytes();
  readonly #values = new Bytes();

  get bytes(): number {
    return this.#values.at + this.#ends.at;
  }

  addNull(): void {
    this.#add(false);
  }

  addField(row: Buffer, start: number, end: number): void {
    this.#values.copy(row, start, end);
    this.#add(true);
  }

  addValue(value: unknown): void {
    this.#values.text(String(value));
    this.#add(true);
  }

  take(parts: BatchParts): void {
    takeValidity(this.#valid, parts);
    if (this.#ends.at === 0) this.#ends.int32(0);
    parts.buffers.push(this.#ends.take(), this.#values.take());
  }

  #add(isValid: boolean): void {
    if (this.#ends.at === 0) this.#ends.int32(0);
    this.#valid.add(isValid);
    this.#ends.int32(this.#values.at);
  }
}
