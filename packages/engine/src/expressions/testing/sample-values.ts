import type { ColumnType, EngineValue, TypeKind } from "@appdb/contract/types";
import type { Random } from "./random.ts";

/** Values at which forms are most likely to part: limits, signs, blanks, letters whose case has a length or a place. */
const EXTREMES: Readonly<Record<TypeKind, readonly EngineValue[]>> = {
  string: [
    ...[
      "",
      " ",
      "  a  ",
      "\t\n\v\f\r",
      "\u001c\u001f\u0085\u00a0\u1680\u2000\u200a\u2028\u202f\u205f\u3000x\u3000",
      "\u200bx",
    ],
    ...["a", "A", "abc", "ABC", "aXbXc", "%_\\", "'", '"', "\\", "$1", "a'b\"c\\d", "{}", "{{0}}", "None", "True"],
    ...["ß", "ẞ", "İ", "ı", "iİ", "Σ", "ΑΣ", "ΑΣ ", "σς", "ΑΣΑ", "Σ.", "a\u0345Σ", "ǆ", "ǅa", "ﬁn", "ŉ", "ͅ", "ᾳ", "ΐ"],
    ...[
      "e\u0301",
      "\u0301e",
      "👩‍👩‍👧‍👦x",
      "🇩🇪",
      "\ud83d\ude00".repeat(3),
      "𐐀𐐨",
      "ᏸ",
      "Ა",
      "ა",
      "ー",
      "١٢",
      "\u007f\u0001",
    ],
    ...[
      "0",
      "-0",
      "+7",
      "007",
      "12",
      "-12",
      " 12",
      "12 ",
      "1_000",
      "0x10",
      "1e5",
      "1.5",
      "-1.5e-3",
      ".5",
      "5.",
      "nan",
      "inf",
    ],
    ...[
      "9223372036854775807",
      "9223372036854775808",
      "1e400",
      "1e-400",
      "१२",
      "2024-02-29",
      "2023-02-29",
      "0000-01-01",
    ],
    ...["9999-12-31", "20240229", "2024-02-29T12:30:59.123456Z", "2024-02-29T24:00:00Z", "2024-02-29T12:30:60Z"],
    ...["2024-02-29T12:30:59.123Z", "2024-02-29T12:30:59+02:00", "2024-02-29 12:30", "true", "null", "[1]"],
    ...[
      "0189dcf9-7e8b-7000-8000-000000000000",
      "0189DCF9-7E8B-7000-8000-00000000000F",
      "{0189dcf97e8b70008000000000000000}",
    ],
  ],
  int: [
    ...[0, 1, -1, 2, -2, 3, -3, 7, -7, 10, 63, 64, 100, 1000, -1000, 2 ** 31 - 1, 2 ** 31, -(2 ** 31), -(2 ** 31) - 1],
    ...[2 ** 32, 2 ** 53 - 1, -(2 ** 53) + 1, 2n ** 53n, 2n ** 53n + 1n, -(2n ** 53n) - 1n],
    ...[2n ** 62n, 2n ** 63n - 1n, 2n ** 63n - 2n, -(2n ** 63n), -(2n ** 63n) + 1n],
  ],
  float: [
    ...[0, -0, 1, -1, 0.5, -0.5, 1.5, 2.5, 0.1, 0.2, 0.3, 1 / 3, 1e15, 1e16, 123456789.125, 4.35, 1e-5, 1e22, -1e22],
    ...[
      2 ** 53,
      2 ** 53 + 2,
      -(2 ** 53),
      2 ** 63,
      -(2 ** 63),
      9.223372036854775e18,
      1e308,
      -1e308,
      1.7976931348623157e308,
    ],
    ...[5e-324, -5e-324, 2.2250738585072014e-308, 1e-200],
  ],
  bool: [true, false],
  timestamp: [
    ...["1970-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z", "2024-02-29T23:59:59.5Z"],
    ...["2024-03-31T01:00:00.000001Z", "1969-12-31T23:59:59.999999Z", "2024-12-31T00:00:00.1Z"],
  ],
  date: ["1970-01-01", "0001-01-01", "0099-12-31", "9999-12-31", "2024-02-29", "2023-12-31"],
  uuid: [
    ...["00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"],
    ...["0189dcf9-7e8b-7000-8000-000000000000", "80000000-0000-4000-8000-000000000001"],
  ],
  json: [
    ...[
      "1",
      "-1",
      "0",
      "-0",
      "-0.0",
      "1.0",
      "1e3",
      "1.50",
      "12345678901234567890",
      "1e400",
      "1e-400",
      "0.1",
      "9007199254740993",
    ],
    ...['"a"', '""', '"12"', '"\\u00e9\\n"', '"\\ud83d\\ude00"', '"\\u0000"', '"\\ud800"', "true", "false", "[]", "{}"],
    ...[
      '{"a": 1, "b": [1, "x", null, true], "c": {"a": "deep", "b": null}}',
      '{"a":null}',
      '{"a":1,"a":2}',
      '{"":"e","a.b":3}',
    ],
    ...[
      '{"a":[{"b":1},{"b":"two"}], "n":-0, "f":-0.0}',
      "[1,2,3]",
      '[[1],["a",{"a":[5]}]]',
      "[null]",
      '{"a":"ΑΣ","b":true,"c":1.5}',
    ],
    ...[
      '{"a" : "\\u0061\\"\\\\", "b":12345678901234567890123}',
      '"a\\u0000b"',
      '{"b":{"c":[0,false,"x"]}}',
      ' [ 1 , "a" ] ',
    ],
  ],
  array: ["[]", "[0.0]", "[-0.0,5e-324,1.7976931348623157e+308]", "[0.1,2.0]", "[[1.5,2.5],[-1.0,1e-7]]"],
  binary: [new Uint8Array(), Uint8Array.of(0), Uint8Array.of(0, 255, 92, 34, 39), Buffer.from("a'b\\\"c")],
};

/** The type that stands for a kind in random trees. */
export function sampleType(kind: TypeKind): ColumnType {
  return kind === "array" ? { kind, dtype: "float64", shape: null } : { kind };
}

/** A value of a kind; `codePoint` gives characters that both sides know. */
export function sampleValue(kind: TypeKind, random: Random, codePoint: (random: Random) => number): EngineValue {
  if (random.next() < 0.6) return random.pick(EXTREMES[kind]);
  switch (kind) {
    case "string":
      if (random.next() < 0.3) return String(random.int(-(10 ** 6), 10 ** 6) / random.pick([1, 1, 8]));
      return String.fromCodePoint(...Array.from({ length: random.int(1, 6) }, () => codePoint(random)));
    case "int":
      return random.next() < 0.5 ? random.int(-20, 20) : random.int(-(2 ** 40), 2 ** 40);
    case "float":
      return random.next() < 0.5 ? random.int(-2000, 2000) / 8 : (random.next() - 0.5) * 10 ** random.int(-20, 20);
    case "timestamp":
      return new Date(random.int(-60_000_000, 250_000_000) * 1000).toISOString();
    case "date":
      return new Date(random.int(-60_000_000, 250_000_000) * 1000).toISOString().slice(0, 10);
    default:
      return random.pick(EXTREMES[kind]);
  }
}
