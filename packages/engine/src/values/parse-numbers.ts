import { shorten } from "./describe-value.ts";
import { ValueError } from "./value-error.ts";

const INT64_MIN = -(2n ** 63n);
const INT64_MAX = 2n ** 63n - 1n;
const NUMBER = /^(-?\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;
/** No Int needs more characters. Exact arithmetic on longer texts would be too expensive. */
const LONGEST_NUMBER = 100;
const LARGEST_EXPONENT = 30;

/** Parses the source text of a JSON number as an int64: a number while exact, a bigint beyond. `name` is the type's,
 *  for messages. */
export function parseInt64Text(text: string, name: string): number | bigint | ValueError {
  if (!Number.isFinite(Number(text))) return outOfRange(text, name);
  const exact = wholeNumber(text);
  if (exact === undefined) return new ValueError(`Expected an integer, got ${shorten(text)}.`);
  if (exact < INT64_MIN || exact > INT64_MAX) return outOfRange(text, name);
  return Number.isSafeInteger(Number(exact)) ? Number(exact) : exact;
}

function outOfRange(text: string, name: string): ValueError {
  return new ValueError(`${shorten(text)} is beyond the range of ${name}, ${INT64_MIN} to ${INT64_MAX}.`);
}

/** All digits of an integral JSON number in any form: `7`, `7.0`, `1e18`; undefined for others. */
function wholeNumber(text: string): bigint | undefined {
  if (text.length > LONGEST_NUMBER) return undefined;
  const [, digits = "", fraction = "", exponent = "0"] = NUMBER.exec(text) ?? [];
  const shift = Number(exponent) - fraction.length;
  if (Math.abs(shift) > LARGEST_EXPONENT + LONGEST_NUMBER) return undefined;
  const scaled = BigInt(digits + fraction);
  if (shift >= 0) return scaled * 10n ** BigInt(shift);
  const unit = 10n ** BigInt(-shift);
  return scaled % unit === 0n ? scaled / unit : undefined;
}

/** A number while exact, a bigint beyond. */
export function parseInt64(text: string): number | bigint {
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : BigInt(text);
}
