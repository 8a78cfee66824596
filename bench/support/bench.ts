// Common input of all groups: the product under test, a loader, and the number and duration of runs.
import { chooseLoader, type Load, type LoadResult } from "./load.ts";
import type { Measure } from "./report.ts";
import { type ServedProject, serveBenchmark } from "./served-project.ts";

export interface Bench extends AsyncDisposable {
  readonly runs: number;
  /** Duration of load per measure of a run. */
  readonly seconds: number;
  /** The served benchmark application, set up on first use. */
  served(): Promise<ServedProject>;
  load(load: Load): Promise<LoadResult>;
  /** Totals of all load so far and of its failures; `cpu` is the highest processor share of the loader itself. */
  loader(): { readonly name: string; readonly cpu: number; readonly failed: number };
  /** Prints the progress. */
  say(line: string): void;
}

/** Measures one thing in `bench.runs` runs and returns its table lines. */
export type Group = (bench: Bench) => Promise<readonly Measure[]>;

/** Selects the loader. Disposing of the bench stops and removes everything that its groups set up. */
export async function openBench(plan: { readonly quick: boolean }): Promise<Bench> {
  const loader = await chooseLoader();
  let cpu = 0;
  let failed = 0;
  let served: Promise<ServedProject> | undefined;
  return {
    ...(plan.quick ? { runs: 1, seconds: 2 } : { runs: 5, seconds: 3 }),
    served() {
      served ??= serveBenchmark();
      return served;
    },
    async load(load) {
      const result = await loader.load(load);
      cpu = Math.max(cpu, result.loader_cpu);
      failed += result.failed;
      return result;
    },
    loader: () => ({ name: loader.name, cpu, failed }),
    say: (line) => void process.stderr.write(`${line}\n`),
    async [Symbol.asyncDispose]() {
      await (await served)?.[Symbol.asyncDispose]();
    },
  };
}
