// What every group of measures gets: the product under test, a loader, and how often and how long to measure.
import { chooseLoader, type Load, type LoadResult } from "./load.ts";
import type { Measure } from "./report.ts";
import { type Stage, setStage } from "./stage.ts";

export interface Bench extends AsyncDisposable {
  readonly runs: number;
  /** Of load, for each measure of a run. */
  readonly seconds: number;
  /** The benchmark's application, served; set up when a group first asks. */
  stage(): Promise<Stage>;
  load(load: Load): Promise<LoadResult>;
  /** What all the load so far took and how much of it failed; `cpu` is the most of one core that the loader took itself. */
  loader(): { readonly name: string; readonly cpu: number; readonly failed: number };
  /** Tells the person how far it is. */
  say(line: string): void;
}

/** Measures one thing in `bench.runs` runs and answers its lines of the table. */
export type Group = (bench: Bench) => Promise<readonly Measure[]>;

/** Chooses the loader. Disposing of the bench stops and removes what its groups have set up. */
export async function openBench(plan: { readonly quick: boolean }): Promise<Bench> {
  const loader = await chooseLoader();
  let cpu = 0;
  let failed = 0;
  let stage: Promise<Stage> | undefined;
  return {
    ...(plan.quick ? { runs: 1, seconds: 2 } : { runs: 5, seconds: 3 }),
    stage() {
      stage ??= setStage();
      return stage;
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
      await (await stage)?.[Symbol.asyncDispose]();
    },
  };
}
