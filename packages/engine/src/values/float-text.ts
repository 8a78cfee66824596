/** Writes a Float as JSON: the shortest digits that parse to the same number, with a point or an exponent. */
export function floatText(value: number): string {
  return marked(value, String(value));
}

/** Writes a number as its nearest float32: the fewest digits that parse to the same float32. */
export function float32Text(value: number): string {
  const single = Math.fround(value);
  if (Number.isInteger(single) && Math.abs(single) < 2 ** 24) return marked(single, String(single));
  // Nine digits always suffice, and most values need eight or nine, so the search starts there.
  let shortest = rounded(single, 9);
  for (let digits = 8; digits > 0; digits--) {
    const candidate = rounded(single, digits);
    if (Math.fround(candidate) !== single) break;
    shortest = candidate;
  }
  return marked(single, String(shortest));
}

/** Powers of ten that a double represents exactly. */
const EXACT_POWERS = 22;

/** The double of a number's decimal digits. */
function rounded(value: number, digits: number): number {
  const size = Math.abs(value);
  const shift = digits - 1 - Math.floor(Math.log10(size));
  if (shift < 0 || shift > EXACT_POWERS) return Number(value.toPrecision(digits));
  // An integer below 2^53 times an exact power rounds once, like a parse of the decimal text.
  const power = 10 ** shift;
  return (Math.sign(value) * Math.round(size * power)) / power;
}

/** Floats keep a mark for readers that distinguish them from integers. */
function marked(value: number, text: string): string {
  if (Object.is(value, -0)) return "-0.0";
  return Number.isInteger(value) && !text.includes("e") ? `${text}.0` : text;
}
