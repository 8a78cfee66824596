import type { Random } from "../../expressions/testing/random.ts";

/** A value of a JSON document, with its numbers as written. */
export type Plain =
  | null
  | boolean
  | string
  | { readonly int: bigint; readonly text: string }
  | { readonly float: number; readonly text: string }
  | readonly Plain[]
  | { readonly members: readonly (readonly [string, Plain])[] };

/** Writes a value as JSON text, with spaces where `blank` inserts them. */
export function plainJson(value: Plain, blank: () => string = () => ""): string {
  const pad = (text: string): string => blank() + text + blank();
  if (value === null || typeof value === "boolean") return String(value);
  if (typeof value === "string") return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map((item: Plain) => pad(plainJson(item, blank))).join(",")}]`;
  if ("members" in value) {
    return `{${value.members.map(([key, item]) => pad(`${JSON.stringify(key)}:${pad(plainJson(item, blank))}`)).join(",")}}`;
  }
  return (value as { text: string }).text;
}

/** The text that `show` in Python (hops-app.ts) returns for a value, with every bit of it. */
export function shown(value: Plain): string {
  if (value === null) return "n";
  if (typeof value === "boolean") return value ? "b1" : "b0";
  if (typeof value === "string") return `s${hex(value)}`;
  if (Array.isArray(value)) return `[${value.map(shown).join(",")}]`;
  if ("members" in value) return `{${value.members.map(([key, item]) => `${shown(key)}:${shown(item)}`).join(",")}}`;
  return "int" in value ? `i${value.int}` : `f${float64Hex((value as { float: number }).float)}`;
}

export function int(value: bigint | number, text = String(value)): Plain {
  return { int: BigInt(value), text };
}

export function float(value: number, text = Object.is(value, -0) ? "-0.0" : String(value)): Plain {
  return { float: value, text: /[.e]/.test(text) ? text : `${text}.0` };
}

export function hex(text: string): string {
  return Buffer.from(text).toString("hex");
}

export function float64Hex(value: number): string {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleBE(value);
  return bytes.toString("hex");
}

export function float32Hex(value: number): string {
  const bytes = Buffer.alloc(4);
  bytes.writeFloatBE(value);
  return bytes.toString("hex");
}

const TEXTS = [
  "",
  " ",
  "a",
  "e\u0301",
  "ß",
  "İ",
  "😀",
  "🇩🇪",
  "\n\t\u0001\u007f",
  "'\"\\",
  "{},[]",
  "NULL",
  "null",
  "\u2028",
];

export function randomText(random: Random): string {
  if (random.next() < 0.4) return random.pick(TEXTS);
  const codes = Array.from({ length: random.int(1, 8) }, () => random.int(1, 0x10ffff));
  return String.fromCodePoint(...codes.filter((code) => code < 0xd800 || code > 0xdfff));
}

export function randomInt(random: Random, bits: number): bigint {
  const max = 2n ** BigInt(bits - 1);
  const pick = random.next();
  if (pick < 0.2) return random.pick([0n, 1n, -1n, max - 1n, -max, max / 2n + 1n]);
  const wide = (BigInt(random.int(0, 2 ** 32 - 1)) << 32n) | BigInt(random.int(0, 2 ** 32 - 1));
  return BigInt.asIntN(bits, wide >> BigInt(random.int(0, 40)));
}

export function randomFloat(random: Random): number {
  const pick = random.next();
  if (pick < 0.2) return random.pick([0, -0, 1, -1, 0.1, 5e-324, -5e-324, 1.7976931348623157e308, 2 ** 53, 1e21, 1e-7]);
  if (pick < 0.4) return random.int(-(10 ** 6), 10 ** 6) / 8;
  for (;;) {
    const bytes = Buffer.alloc(8);
    bytes.writeUInt32BE(random.int(0, 2 ** 32 - 1));
    bytes.writeUInt32BE(random.int(0, 2 ** 32 - 1), 4);
    const value = bytes.readDoubleBE();
    if (Number.isFinite(value)) return value;
  }
}

export function randomPlain(random: Random, depth: number): Plain {
  const pick = random.int(0, depth > 0 ? 7 : 4);
  if (pick === 0) return random.pick([null, true, false]);
  if (pick === 1) return int(randomInt(random, 64) * random.pick([1n, 1n, 10n ** 20n]));
  if (pick === 2) return float(randomFloat(random));
  if (pick <= 4) return randomText(random);
  const length = random.int(0, 4);
  if (pick === 5) return Array.from({ length }, () => randomPlain(random, depth - 1));
  const keys = new Set(Array.from({ length }, () => randomText(random)));
  return { members: [...keys].map((key) => [key, randomPlain(random, depth - 1)] as const) };
}
