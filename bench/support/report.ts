import { formatSpread, type Spread, spread } from "./statistics.ts";

/** One table line: a figure, its comparison from the same run, and its target. */
export interface Measure {
  readonly name: string;
  readonly unit: string;
  readonly ours: readonly number[];
  readonly limit: readonly number[] | undefined;
  /** `at_least` for rates, `at_most` for times; applies to the ratio when there is a limit, otherwise to the figure. */
  readonly reach?: { readonly at_least?: number; readonly at_most?: number };
  readonly digits?: number;
}

/**
 * Prints the measures as a Markdown table with ratios of medians. Returns the names of those that miss their target.
 */
export function report(measures: readonly Measure[], write: (line: string) => void): string[] {
  const missed: string[] = [];
  write("| measure | ours: median (min-max) | limit: median (min-max) | ratio | reach | |");
  write("|---|---|---|---|---|---|");
  for (const measure of measures) {
    const ours = spread(measure.ours);
    const limit = measure.limit === undefined ? undefined : spread(measure.limit);
    const figure = limit === undefined ? ours.median : ours.median / limit.median;
    const verdict = judge(figure, measure.reach);
    if (verdict === "missed") missed.push(measure.name);
    const show = (of: Spread) => `${formatSpread(of, measure.digits ?? 0)} ${measure.unit}`;
    const ratio = limit === undefined ? "" : figure.toFixed(2);
    write(
      `| ${measure.name} | ${show(ours)} | ${limit === undefined ? "" : show(limit)} | ${ratio} | ${say(measure.reach)} | ${verdict} |`,
    );
  }
  return missed;
}

function judge(figure: number, reach: Measure["reach"]): string {
  if (reach === undefined) return "";
  const low = reach.at_least !== undefined && figure < reach.at_least;
  const high = reach.at_most !== undefined && figure > reach.at_most;
  return low || high ? "missed" : "reached";
}

function say(reach: Measure["reach"]): string {
  if (reach?.at_least !== undefined) return `at least ${reach.at_least}`;
  if (reach?.at_most !== undefined) return `at most ${reach.at_most}`;
  return "";
}
