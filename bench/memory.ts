import type { Bench } from "./support/bench.ts";
import type { Measure } from "./support/report.ts";

const ROWS = 100_000;

/** Memory of a young service after exactly 100,000 inserts. */
export async function measureMemory(bench: Bench): Promise<Measure[]> {
  const served = await bench.served();
  const body = JSON.stringify({ title: "Hello from the benchmark", body: "A short text of a few words" });
  const seconds = 3;
  let inserted = 0;
  while (inserted < ROWS) {
    const result = await bench.load({ url: `${served.service}/shortened`, body, connections: 64, seconds });
    if (result.per_second < 1) throw new Error("the service answers no insert");
    inserted += result.per_second * seconds;
  }
  const name = "service and one worker after 100,000 inserts, PSS";
  return [{ name, unit: "MB", ours: [await served.memory()], limit: undefined, reach: { at_most: 150 } }];
}
