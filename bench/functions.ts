import type { Bench } from "./support/bench.ts";
import { loadWithProcess } from "./support/load.ts";
import type { Measure } from "./support/report.ts";

const CONNECTIONS = 64;
const BODY = JSON.stringify({ title: "Hello", body: "A short text of a few words" });
/** The function waits 5 s for this row and 50 ms for any other, like a provider. */
const SLOW = JSON.stringify({ title: "slow", body: "A short text of a few words" });
/** Slow rows take 5 s, so a shorter run would end before the first of them. */
const LEAST_SECONDS = 12;

/**
 * Cost of functions: a chain of five compared with one, and slow async rows among fast ones compared with fast ones
 * alone.
 */
export async function measureFunctions(bench: Bench): Promise<Measure[]> {
  const served = await bench.served();
  const seconds = Math.max(bench.seconds, LEAST_SECONDS);
  const one: number[] = [];
  const five: number[] = [];
  const alone: number[] = [];
  const beside: number[] = [];
  for (let run = 1; run <= bench.runs; run += 1) {
    bench.say(`run ${run} of ${bench.runs}, chained and slow functions`);
    for (const [table, rates] of [
      ["shortened", one],
      ["chained", five],
    ] as const) {
      const load = { url: `${served.service}/${table}`, body: BODY, connections: CONNECTIONS, seconds: bench.seconds };
      rates.push((await bench.load(load)).per_second);
    }
    const load = { url: `${served.service}/asked`, body: BODY, connections: CONNECTIONS, seconds };
    alone.push(counted(await loadWithProcess(load)));
    beside.push(counted(await loadWithProcess({ ...load, beside: { body: SLOW, one_in: 100 } })));
  }
  return [
    {
      name: "insert, five chained UDFs, 64 conn., against one UDF",
      unit: "/s",
      ours: five,
      limit: one,
      reach: { at_least: 0.6 },
    },
    {
      name: "insert, async UDF of 50 ms, 64 conn., 5 s on one more row in a hundred, against no such rows",
      unit: "/s",
      ours: beside,
      limit: alone,
      reach: { at_least: 0.8 },
    },
  ];
}

function counted(result: { per_second: number; failed: number }): number {
  if (result.failed > 0) throw new Error(`${result.failed} inserts failed`);
  return result.per_second;
}
