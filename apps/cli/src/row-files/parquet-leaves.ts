/** Why no column can store a value of a file. */
export class Unfit extends Error {}

const DAY_MS = 86_400_000;
const MICROS = 1_000_000n;
/** Of the years 1 to 9999. */
const FIRST_DAY = -719_162;
const LAST_DAY = 2_932_896;
/** Python writes larger and smaller numbers with an exponent. */
const FIXED_EXPONENTS = { least: -4, most: 15 };

/** @throws Unfit for a day that no column can store */
export function dateText(days: number): string {
  if (days < FIRST_DAY || days > LAST_DAY) throw new Unfit("a date or timestamp is beyond the years 1 to 9999");
  return new Date(days * DAY_MS).toISOString().slice(0, 10);
}

/** The text of the library: a fraction only if there is one. @throws Unfit */
export function timestampText(micros: bigint): string {
  let seconds = micros / MICROS;
  if (seconds * MICROS > micros) seconds -= 1n;
  const days = Math.floor(Number(seconds) / (DAY_MS / 1_000));
  if (days < FIRST_DAY || days > LAST_DAY) throw new Unfit("a date or timestamp is beyond the years 1 to 9999");
  const rest = micros - seconds * MICROS;
  const fraction = rest === 0n ? "" : `.${rest.toString().padStart(6, "0")}`;
  return `${new Date(Number(seconds) * 1_000).toISOString().slice(0, -5)}${fraction}Z`;
}

/** A Float in the text that Python gives it, which Json columns keep. @throws Unfit for one that JSON lacks */
export function numberText(value: number): string {
  if (!Number.isFinite(value)) throw new Unfit(`${value} is a number that JSON lacks. Write null`);
  if (value === 0) return Object.is(value, -0) ? "-0.0" : "0.0";
  const [digits = "", power = ""] = value.toExponential().split("e");
  const exponent = Number(power);
  if (exponent >= FIXED_EXPONENTS.least && exponent <= FIXED_EXPONENTS.most) {
    const text = String(value);
    return text.includes(".") ? text : `${text}.0`;
  }
  return `${digits}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
}

/** The text of a decimal with all its digits: whole, as the same Float, or written out. `isExact`: it is the last. */
export function decimalText(unscaled: bigint, scale: number): { readonly text: string; readonly isExact: boolean } {
  const power = 10n ** BigInt(scale);
  const digits = (unscaled < 0n ? -unscaled : unscaled).toString().padStart(scale + 1, "0");
  const at = digits.length - scale;
  const fraction = digits.slice(at).replace(/0+$/, "");
  const text = `${unscaled < 0n ? "-" : ""}${digits.slice(0, at)}${fraction === "" ? "" : `.${fraction}`}`;
  const near = numberText(Number(text));
  if (!isSame(near, unscaled, scale)) return { text, isExact: true };
  return { text: unscaled % power === 0n ? text : near, isExact: false };
}

/** Whether the text of a Float is the number of a decimal. */
function isSame(near: string, unscaled: bigint, scale: number): boolean {
  const [digits = "", exponent = "0"] = near.split("e");
  const [whole = "", fraction = ""] = digits.split(".");
  const places = fraction.length - Number(exponent);
  const one = BigInt(whole + fraction) * 10n ** BigInt(Math.max(0, scale - places));
  return one === unscaled * 10n ** BigInt(Math.max(0, places - scale));
}

/** The integer of big-endian bytes. */
export function signed(bytes: Uint8Array): bigint {
  const hex = Buffer.from(bytes).toString("hex");
  return BigInt.asIntN(bytes.length * 8, BigInt(`0x${hex === "" ? "0" : hex}`));
}

export function uuidText(bytes: Uint8Array): string {
  const hex = Buffer.from(bytes).toString("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}

/** IEEE 754 binary16, little-endian. */
export function float16Of(bytes: Uint8Array): number {
  const bits = ((bytes[1] ?? 0) << 8) | (bytes[0] ?? 0);
  const sign = bits >> 15 === 1 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = (bits & 0x3ff) / 1_024;
  if (exponent === 0) return sign * 2 ** -14 * fraction;
  if (exponent === 0x1f) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return sign * 2 ** (exponent - 15) * (1 + fraction);
}
