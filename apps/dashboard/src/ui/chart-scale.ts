/** The next round number for the end of an axis: 1, 2 or 5 times a power of ten. */
export function roundUp(value: number): number {
  if (!(value > 0)) return 1;
  const unit = 10 ** Math.floor(Math.log10(value));
  const factor = [1, 2, 5, 10].find((one) => one * unit >= value * (1 - 1e-9)) ?? 10;
  return Number((factor * unit).toPrecision(1));
}

/** An SVG path through the points, with gaps for missing values. `width` and `height` are the drawing's. */
export function linePath(values: readonly (number | null)[], max: number, width: number, height: number): string {
  let path = "";
  let isDrawing = false;
  for (const [at, value] of values.entries()) {
    if (value !== null) {
      const x = round(((at + 0.5) / values.length) * width);
      const y = round(height - (Math.min(value, max) / max) * height);
      // a value between two gaps is a zero-length line, which round ends turn into a dot
      path += isDrawing ? `L${x} ${y}` : `M${x} ${y}h0`;
    }
    isDrawing = value !== null;
  }
  return path;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
