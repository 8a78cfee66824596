import { expect, test } from "vitest";
import { addLatencies, bucketOf, countLatencies, latencyQuantile } from "../../edge/latencies.ts";

function latenciesOf(durations: readonly number[]): number[] {
  const counts: number[] = [];
  for (const ms of durations)
    addLatencies(
      counts,
      Array.from({ length: bucketOf(ms) + 1 }, (_, at) => Number(at === bucketOf(ms))),
    );
  return counts;
}

test("percentiles are within a tenth, from 0.2 ms to minutes", () => {
  for (const scale of [0.2, 3, 70, 1_500, 200_000]) {
    const durations = Array.from({ length: 1_000 }, (_, at) => scale * (1 + at / 2_000));
    const counts = latenciesOf(durations);
    expect(countLatencies(counts)).toBe(1_000);
    for (const part of [0.5, 0.95, 0.99]) {
      const truly = durations[Math.ceil(part * 1_000) - 1] ?? 0;
      const told = latencyQuantile(counts, part) ?? 0;
      expect(Math.abs(told - truly) / truly, `${part} of ${scale} ms: ${told} for ${truly}`).toBeLessThan(0.1);
    }
  }
});

test("there is no percentile without requests; extremes count in the first or last bucket", () => {
  expect(latencyQuantile([], 0.5)).toBe(null);
  expect([bucketOf(0), bucketOf(Number.NaN), bucketOf(0.1)]).toEqual([0, 0, 0]);
  expect(bucketOf(1e12)).toBe(bucketOf(1e9));
});
