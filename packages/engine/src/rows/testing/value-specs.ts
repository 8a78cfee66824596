import type { ArrayDtype } from "@appdb/contract/types";
import { Random } from "../../expressions/testing/random.ts";
import {
  float,
  float32Hex,
  float64Hex,
  hex,
  int,
  type Plain,
  plainJson,
  randomFloat,
  randomInt,
  randomPlain,
  randomText,
  shown,
} from "./plain-values.ts";

/** A value to send, and the expected result at each hop. The engine computes none of it. */
export interface Sample {
  /** As in the request. */
  readonly json: string;
  /** The expected answer if only one text is possible; otherwise the expected result of `read`. */
  readonly answer: string;
  readonly sql: string;
  readonly python: string;
}

/** The type of a column as declared in a file, and how a test reads its values at each hop. */
export interface ValueSpec {
  readonly name: string;
  /** As in app.py. */
  readonly annotation: string;
  /** Python's own type for the parameter of the function, if one exists. */
  readonly hint?: string;
  /** SQL that shows every bit of the stored value. */
  sql(column: string): string;
  /** Normalises the text of an answer for the comparison with `answer`. */
  read?(text: string): string;
  /** Python serialises the value again: spacing and digits may differ from the input. */
  readonly is_rewritten?: true;
  readonly extremes: readonly Sample[];
  random(random: Random): Sample;
}

const int64 = (value: bigint, json = String(value)): Sample => {
  return { json, answer: String(value), sql: String(value), python: `i${value}` };
};
const float64 = (value: number, json = plainJson(float(value))): Sample => {
  return { json, answer: plainJson(float(value)), sql: float64Hex(value), python: `f${float64Hex(value)}` };
};
const text = (value: string): Sample => {
  return { json: JSON.stringify(value), answer: JSON.stringify(value), sql: hex(value), python: `s${hex(value)}` };
};
const bytes = (value: Buffer): Sample => {
  const json = JSON.stringify(value.toString("base64"));
  return { json, answer: json, sql: value.toString("hex"), python: `y${value.toString("hex")}` };
};
const document = (value: Plain, blank?: () => string): Sample => {
  const json = plainJson(value, blank);
  return { json, answer: json, sql: json, python: shown(value) };
};

const EPOCH_DAYS = 719_163n;
const DAY_MICROS = 86_400_000_000n;
const FIRST_MICROS = -62_135_596_800_000_000n;
const LAST_MICROS = 253_402_300_799_999_999n;

/** A timestamp with an offset of some minutes. Days are counted here and not by Date, which the engine uses. */
function moment(micros: bigint, offset = 0): Sample {
  const local = micros + BigInt(offset) * 60_000_000n;
  const zone =
    offset === 0 ? "Z" : `${offset < 0 ? "-" : "+"}${two(Math.abs(offset) / 60)}:${two(Math.abs(offset) % 60)}`;
  const utc = isoText(micros);
  return { json: `"${isoText(local)}${zone}"`, answer: `"${utc}Z"`, sql: String(micros), python: `t${micros}` };
}

function isoText(micros: bigint): string {
  const days = micros / DAY_MICROS - (micros % DAY_MICROS < 0n ? 1n : 0n);
  const rest = micros - days * DAY_MICROS;
  const fraction = rest % 1_000_000n === 0n ? "" : `.${String(rest % 1_000_000n).padStart(6, "0")}`;
  const seconds = Number(rest / 1_000_000n);
  return `${dateText(days + EPOCH_DAYS)}T${two(seconds / 3600)}:${two((seconds / 60) % 60)}:${two(seconds % 60)}${fraction}`;
}

/** `YYYY-MM-DD` of a day number; 0001-01-01 is 1. */
function dateText(ordinal: bigint): string {
  let rest = Number(ordinal) - 1;
  let year = 1;
  for (const years of [400, 100, 4, 1]) {
    const days = years * 365 + Math.floor(years / 4) - Math.floor(years / 100) + Math.floor(years / 400);
    // The last of four centuries and the last of four years have one more day.
    const count = Math.min(Math.floor(rest / days), years === 100 || years === 1 ? 3 : Number.MAX_SAFE_INTEGER);
    rest -= count * days;
    year += count * years;
  }
  const isLeap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  const lengths = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
  let month = 0;
  while (rest >= (lengths[month] ?? 0)) rest -= lengths[month++] ?? 0;
  return `${String(year).padStart(4, "0")}-${two(month + 1)}-${two(rest + 1)}`;
}

function two(value: number): string {
  return String(Math.floor(value)).padStart(2, "0");
}

const day = (ordinal: bigint): Sample => {
  const json = `"${dateText(ordinal)}"`;
  return { json, answer: json, sql: String(ordinal), python: `d${ordinal}` };
};
const uuid = (digits: string, json = digits): Sample => {
  const text = [digits.slice(0, 8), digits.slice(8, 12), digits.slice(12, 16), digits.slice(16, 20), digits.slice(20)];
  return { json: `"${json}"`, answer: `"${text.join("-")}"`, sql: digits, python: `u${digits}` };
};

const BITS: Readonly<Partial<Record<ArrayDtype, number>>> = { int8: 8, int16: 16, int32: 32, int64: 64 };

interface Element {
  readonly plain: Plain;
  readonly sql: string;
}

function element(dtype: ArrayDtype, random: Random): Element {
  if (dtype === "bool") {
    const value = random.next() < 0.5;
    return { plain: value, sql: String(value) };
  }
  if (dtype === "string") {
    const value = randomText(random);
    return { plain: value, sql: hex(value) };
  }
  if (dtype === "float64") {
    const value = randomFloat(random);
    return { plain: float(value), sql: float64Hex(value) };
  }
  if (dtype === "float32") {
    const value = Math.fround(random.next() < 0.5 ? random.int(-1000, 1000) / 7 : randomFloat(random));
    if (!Number.isFinite(value)) return element(dtype, random);
    return { plain: float(value), sql: float32Hex(value) };
  }
  const value = dtype === "uint8" ? BigInt(random.int(0, 255)) : randomInt(random, BITS[dtype] ?? 8);
  return { plain: int(value), sql: String(value) };
}

const SQL_ELEMENTS: Readonly<Partial<Record<ArrayDtype, string>>> = {
  float32: "encode(float4send(x), 'hex')",
  float64: "encode(float8send(x), 'hex')",
  string: "encode(convert_to(x, 'UTF8'), 'hex')",
};

/** An array type with the declared shape; null for any shape. */
function arraySpec(dtype: ArrayDtype, shape: readonly (number | null)[] | null): ValueSpec {
  const lengths = shape?.map((length) => length ?? "None").join(", ");
  const brackets = lengths === undefined ? `"${dtype}"` : `(${lengths},), "${dtype}"`;
  const sample = (random: Random, first?: 0): Sample => {
    const found =
      shape?.map((length) => length ?? random.int(1, 4)) ??
      Array.from({ length: random.int(1, 3) }, () => random.int(1, 3));
    // An array without elements has no other lengths than those of its type.
    if (first === 0) found.splice(0, shape === null ? found.length : 1, first);
    const count = found.reduce((product, length) => product * length, 1);
    const elements = Array.from({ length: count }, () => element(dtype, random));
    const nested = nest(
      elements.map((element) => element.plain),
      found,
    );
    const python = `a${dtype}(${found.join()})${shown(nested)}`;
    const dims = count === 0 ? "" : found.map((length) => `[1:${length}]`).join("");
    const sql = `${dims}:${elements.map((element) => element.sql).join()}`;
    return { json: plainJson(nested), answer: readNested(dtype, plainJson(nested)), sql, python };
  };
  return {
    name: `a_${dtype}${shape === null ? "" : shape.length}`,
    annotation: `db.Array[${brackets}]`,
    sql: (column) =>
      `coalesce(array_dims(${column}), '') || ':' || coalesce((select string_agg(${SQL_ELEMENTS[dtype] ?? "x::text"}, ',' order by o) from unnest(${column}) with ordinality as u(x, o)), '')`,
    read: (answer) => readNested(dtype, answer),
    extremes: shape !== null && shape[0] !== null ? [] : [sample(new Random(1), 0)],
    random: sample,
  };
}

function nest(flat: readonly Plain[], lengths: readonly number[]): Plain {
  const [, ...inner] = lengths;
  if (inner.length === 0 || flat.length === 0) return flat;
  const size = inner.reduce((product, length) => product * length, 1);
  return Array.from({ length: flat.length / size }, (_, at) => nest(flat.slice(at * size, (at + 1) * size), inner));
}

/** Writes the JSON text of an array with the bits of each number. Only values and nesting are compared. */
function readNested(dtype: ArrayDtype, answer: string): string {
  if (dtype === "string" || dtype === "bool") return JSON.stringify(JSON.parse(answer));
  return answer.replace(/-?\d[\d.eE+-]*/g, (number) => {
    if (dtype === "float64") return float64Hex(Number(number));
    return dtype === "float32" ? float32Hex(Number(number)) : number;
  });
}

const TYPED = (random: Random): Plain => ({
  members: [
    ["b", Array.from({ length: random.int(0, 3) }, () => random.pick([int(2), float(randomFloat(random))]))],
    ["a", int(randomInt(random, 64) * 10n)],
    ["c", random.next() < 0.5 ? null : randomText(random)],
  ],
});

/** All types that a file can declare. */
export const VALUE_SPECS: readonly ValueSpec[] = [
  {
    name: "string",
    annotation: "db.String",
    hint: "str",
    sql: (column) => `encode(convert_to(${column}, 'UTF8'), 'hex')`,
    extremes: ["", " ", "NULL", "\u0001", "\u{10ffff}", "e\u0301", "\uffff", "a".repeat(70_000)].map(text),
    random: (random) => text(randomText(random)),
  },
  {
    name: "int",
    annotation: "db.Int",
    hint: "int",
    sql: (column) => `${column}::text`,
    extremes: [
      ...[2n ** 63n - 1n, -(2n ** 63n), 2n ** 53n, 2n ** 53n + 1n, -(2n ** 53n) - 1n, 2n ** 31n, 2n ** 32n, 0n].map(
        (value) => int64(value),
      ),
      int64(0n, "-0"),
      int64(7n, "7.0"),
      int64(10n ** 18n, "1e18"),
      int64(9_007_199_254_740_993n, "9007199254740993.0"),
    ],
    random: (random) => int64(randomInt(random, 64)),
  },
  {
    name: "float",
    annotation: "db.Float",
    hint: "float",
    sql: (column) => `encode(float8send(${column}), 'hex')`,
    extremes: [
      ...[0, -0, 5e-324, -5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 0.1, 1e21, 1e-7, 2 ** 53, 1e16].map(
        (value) => float64(value),
      ),
      float64(0.1, "0.1000000000000000055511151231257827"),
      float64(2, "2"),
      float64(1e23, "99999999999999991611392"),
    ],
    random: (random) => float64(randomFloat(random)),
  },
  {
    name: "bool",
    annotation: "db.Bool",
    hint: "bool",
    sql: (column) => `${column}::text`,
    extremes: [],
    random: (random) => {
      const value = random.next() < 0.5;
      return { json: String(value), answer: String(value), sql: String(value), python: value ? "b1" : "b0" };
    },
  },
  {
    name: "timestamp",
    annotation: "db.Timestamp",
    hint: "datetime",
    sql: (column) => `(extract(epoch from ${column}) * 1000000)::numeric(30, 0)::text`,
    extremes: [
      ...[FIRST_MICROS, LAST_MICROS, 0n, -1n, 1n, 1_709_164_799_999_999n].map((micros) => moment(micros)),
      moment(FIRST_MICROS, 14 * 60),
      moment(LAST_MICROS, -12 * 60),
      { ...moment(0n), json: '"1969-12-31T24:00"' },
    ],
    random: (random) => {
      const seconds = BigInt(random.int(-62_135_500_000, 253_402_200_000));
      const micros = seconds * 1_000_000n + BigInt(random.pick([0, 1, 999_999, 500_000, random.int(0, 999_999)]));
      return moment(micros, random.pick([0, 60, -330, 345, 14 * 60, -12 * 60]));
    },
  },
  {
    name: "date",
    annotation: "db.Date",
    hint: "date",
    sql: (column) => `(${column} - date '0001-01-01' + 1)::text`,
    extremes: [1n, 3_652_059n, EPOCH_DAYS, 738_945n, 730_179n].map(day),
    random: (random) => day(BigInt(random.int(1, 3_652_059))),
  },
  {
    name: "uuid",
    annotation: "db.UUID",
    hint: "UUID",
    sql: (column) => `replace(${column}::text, '-', '')`,
    extremes: [
      uuid("0".repeat(32)),
      uuid("f".repeat(32), "F".repeat(32)),
      uuid("0189dcf97e8b70008000000000000001", "0189DCF9-7e8b-7000-8000-000000000001"),
    ],
    random: (random) => uuid(Array.from({ length: 32 }, () => random.int(0, 15).toString(16)).join("")),
  },
  {
    name: "json",
    annotation: "db.Json",
    hint: "dict",
    is_rewritten: true,
    sql: (column) => `${column}::text`,
    extremes: [
      document({
        members: [
          ["b", int(10n ** 30n)],
          ["a", [float(-0), int(0, "-0")]],
        ],
      }),
      document("text"),
      document(int(1)),
      document([[[]], { members: [] }, null]),
    ],
    random: (random) => {
      const value = randomPlain(random, 4);
      return document(value === null ? [null] : value, () => random.pick(["", "", " ", "\n\t"]).slice(0, 1));
    },
  },
  {
    name: "typed",
    annotation: "db.Json[{'a': db.Int, 'b': list[db.Float], 'c': db.String | None}]",
    is_rewritten: true,
    sql: (column) => `${column}::text`,
    extremes: [],
    random: (random) => document(TYPED(random)),
  },
  {
    name: "binary",
    annotation: "db.Binary",
    hint: "bytes",
    sql: (column) => `encode(${column}, 'hex')`,
    extremes: [Buffer.alloc(0), Buffer.from([0]), Buffer.from(Array.from({ length: 256 }, (_, at) => at))].map(bytes),
    random: (random) => bytes(Buffer.from(Array.from({ length: random.int(0, 40) }, () => random.int(0, 255)))),
  },
  arraySpec("bool", null),
  arraySpec("uint8", null),
  arraySpec("int8", [2, 2]),
  arraySpec("int16", [null]),
  arraySpec("int32", [null, 2]),
  arraySpec("int64", null),
  arraySpec("float32", [4]),
  arraySpec("float32", null),
  arraySpec("float64", [null, 3]),
  arraySpec("string", null),
];
