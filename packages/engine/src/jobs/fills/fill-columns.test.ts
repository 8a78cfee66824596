import { expect, test } from "vitest";
import { createBatchPace } from "./fill-columns.ts";

test.each([
  ["80 ms", 80, 4],
  ["2 s", 2_000, 1],
  ["0.1 ms", 0.1, 3_000],
  ["1 us", 0.001, 5_000],
])("batches of a function with %s per row settle at 300 ms", (_text, ms, rows) => {
  let now = 0;
  const pace = createBatchPace({ now: () => now });
  for (let batch = 0; batch < 20; batch += 1) {
    now += pace.rows * ms;
    pace.batchDone();
  }
  expect(pace.rows).toBe(rows);
});
