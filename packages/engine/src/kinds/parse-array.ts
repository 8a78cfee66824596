import { type ArrayDtype, type ColumnType, displayArray } from "@appdb/contract/types";
import { describe, typeMismatch } from "../values/describe-value.ts";
import { float32Text, floatText } from "../values/float-text.ts";
import { parseInt64Text } from "../values/parse-numbers.ts";
import { parseText } from "../values/parse-text.ts";
import { ValueError } from "../values/value-error.ts";
import { dtypeOf } from "./dtypes.ts";

/** PostgreSQL's maximum number of array dimensions. */
const MAX_DIMENSIONS = 6;
const RANGES: Readonly<Partial<Record<ArrayDtype, readonly [number, number]>>> = {
  uint8: [0, 255],
  int8: [-128, 127],
  int16: [-32_768, 32_767],
  int32: [-(2 ** 31), 2 ** 31 - 1],
};
const NUMBER = /-?\d[\d.eE+-]*/g;

/**
 * Parses a nested list into the JSON text of an array. All lists of one level have equal lengths that match the type's
 * shape, and every element is in the dtype's range. Only the outermost list can be empty. Returns the first error.
 */
export function parseArray(type: ColumnType, value: unknown, raw: () => string): string | ValueError {
  if (!Array.isArray(value)) return typeMismatch(`a list for ${displayArray(type)}`, value);
  const reader = new ArrayReader(type, value, raw);
  return reader.read(value, "", 0);
}

class ArrayReader {
  readonly #type: ColumnType;
  readonly #dtype: ArrayDtype;
  /** Required length of the lists at each level. */
  readonly #lengths: readonly number[];
  readonly #raw: () => string;
  #numbers: readonly string[] | undefined;
  #elements = 0;

  constructor(type: ColumnType, value: unknown, raw: () => string) {
    this.#type = type;
    this.#dtype = dtypeOf(type);
    const found = measure(value);
    this.#lengths = type.shape == null ? found : type.shape.map((length, depth) => length ?? found[depth] ?? 0);
    this.#raw = raw;
  }

  /** Parses one list. Returns its text, or the error in it. */
  read(list: readonly unknown[], pointer: string, depth: number): string | ValueError {
    const misfit = this.#lengthMisfit(list, pointer, depth);
    if (misfit !== undefined) return misfit;
    const isInnermost = depth === this.#lengths.length - 1;
    let text = "[";
    for (let at = 0; at < list.length; at++) {
      const part = isInnermost ? this.#element(list[at]) : this.#inner(list[at], `${pointer}/${at}`, depth + 1);
      if (part instanceof ValueError) return isInnermost ? new ValueError(part.detail, `${pointer}/${at}`) : part;
      text += at === 0 ? part : `,${part}`;
    }
    return `${text}]`;
  }

  #lengthMisfit(list: readonly unknown[], pointer: string, depth: number): ValueError | undefined {
    if (this.#lengths.length > MAX_DIMENSIONS) {
      return new ValueError(`The lists nest deeper than ${MAX_DIMENSIONS} levels, the maximum of an array.`);
    }
    const length = this.#lengths[depth] ?? 0;
    if (list.length === length && (length > 0 || depth === 0)) return undefined;
    const declared = this.#type.shape?.[depth];
    if (declared == null && list.length === 0) {
      return new ValueError("Only the outermost list of an array may be empty.", pointer);
    }
    const reason = declared == null ? "the previous lists have" : `${displayArray(this.#type)} requires`;
    return new ValueError(`The list has ${count(list.length)}; ${reason} ${length}.`, pointer);
  }

  #inner(item: unknown, pointer: string, depth: number): string | ValueError {
    if (Array.isArray(item)) return this.read(item, pointer, depth);
    return typeMismatch(`a list (level ${depth + 1} of ${this.#lengths.length})`, item, pointer);
  }

  #element(item: unknown): string | ValueError {
    this.#elements += 1;
    const dtype = this.#dtype;
    if (dtype === "string") {
      const text = typeof item === "string" ? parseText(item) : typeMismatch("a string", item);
      return text instanceof ValueError ? text : JSON.stringify(text);
    }
    if (dtype === "bool")
      return typeof item === "boolean" ? String(item) : typeMismatch("a boolean (true or false)", item);
    if (typeof item !== "number") return typeMismatch(`a number (${dtype})`, item);
    if (dtype === "float64") return Number.isFinite(item) ? floatText(item) : outOfRangeValue(dtype);
    if (dtype === "float32") return Number.isFinite(Math.fround(item)) ? float32Text(item) : outOfRangeValue(dtype);
    return dtype === "int64" ? this.#int64(item) : integer(item, dtype);
  }

  /** Values beyond 2^53 come from the source text. All elements before it are numbers, so it is found by counting. */
  #int64(item: number): string | ValueError {
    if (Number.isSafeInteger(item)) return String(item + 0);
    this.#numbers ??= this.#raw().match(NUMBER) ?? [];
    const exact = parseInt64Text(this.#numbers[this.#elements - 1] ?? "", "int64");
    return exact instanceof ValueError ? exact : String(exact);
  }
}

function integer(item: number, dtype: ArrayDtype): string | ValueError {
  if (!Number.isInteger(item)) return typeMismatch("an integer", item);
  const [min, max] = RANGES[dtype] ?? [0, 0];
  // `+ 0` converts -0 to 0: an integer has no negative zero.
  if (item >= min && item <= max) return String(item + 0);
  return new ValueError(`${describe(item)} is beyond the range of ${dtype}, ${min} to ${max}.`);
}

function outOfRangeValue(dtype: ArrayDtype): ValueError {
  return new ValueError(`The number is beyond the range of ${dtype}.`);
}

/** The lengths of the first list of each level. */
function measure(value: unknown): number[] {
  const lengths: number[] = [];
  for (let level = value; Array.isArray(level); level = level[0]) lengths.push(level.length);
  return lengths;
}

function count(length: number): string {
  return length === 1 ? "1 element" : `${length} elements`;
}
