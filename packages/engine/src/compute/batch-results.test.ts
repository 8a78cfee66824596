import { expect, test } from "vitest";
import type { UdfGraph, UdfResult, UdfRunner } from "../ports.ts";
import { runRowWise, runWhole } from "./batch-results.ts";
import { limited } from "./limited.ts";

const GRAPH: UdfGraph = { key: "g", inputs: [], steps: [], functions: [] };

test("a batch whose caller leaves runs only the rows that have begun", async () => {
  const begun: unknown[] = [];
  const ends: ((result: UdfResult) => void)[] = [];
  const run: UdfRunner["run"] = async (_graph, [value], signal) => {
    signal?.throwIfAborted();
    begun.push(value);
    return new Promise((resolve) => ends.push(resolve));
  };
  const some = limited(run, 2);
  const runner: Pick<UdfRunner, "runBatch"> = { runBatch: (...batch) => runRowWise(some, ...batch) };
  const caller = new AbortController();
  const left = runWhole(runner, GRAPH, [["a", "b", "c", "d"]], 4, caller.signal);
  expect(begun).toEqual(["a", "b"]);
  caller.abort(new Error("gone"));
  await expect(left).rejects.toThrow("gone");
  const other = runWhole(runner, GRAPH, [["e"]], 1);
  for (const end of ends.splice(0)) end({ values: [], errors: null });
  await expect.poll(() => begun).toEqual(["a", "b", "e"]);
  ends[0]?.({ values: [], errors: null });
  expect((await other).ready).toBe(1);
});
