/** Writes a Float as JSON: the shortest digits that read back as the same number, with a point or an exponent. */
export function floatText(value: number): string {
  return marked(value, String(value));
}

/** Writes a number as the float32 nearest to it: the shortest digits that read back as the same float32. */
export function float32Text(value: number): string {
  const single = Math.fround(value);
  if (Number.isInteger(single) && Math.abs(single) < 2 ** 24) return marked(single, String(single));
  // Nine digits always suffice; most values need eight or nine, so the search begins there.
  let digits = 9;
  while (digits > 1 && Math.fround(Number(single.toPrecision(digits - 1))) === single) digits -= 1;
  return marked(single, String(Number(single.toPrecision(digits))));
}

/** Floats stay floats for readers that tell them from integers. */
function marked(value: number, text: string): string {
  if (Object.is(value, -0)) return "-0.0";
  return Number.isInteger(value) && !text.includes("e") ? `${text}.0` : text;
}
