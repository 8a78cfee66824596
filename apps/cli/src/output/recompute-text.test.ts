import type { PlanOp } from "@appdb/contract/plan";
import { schemaPlan } from "@appdb/testkit/schema-plan";
import { expect, test } from "vitest";
import { createOutput } from "./output.ts";
import { recomputeLines } from "./recompute-text.ts";
import { printSchemaPlan } from "./schema-plan-text.ts";

const SAMPLE = { key: { id: 1 }, old: 2, new: 1, error: null };

function opOn(target: PlanOp["target"], samples = [SAMPLE]): PlanOp {
  return {
    name: "words",
    op: "alter",
    severity: "additive",
    description: "",
    requires_restart: false,
    status: null,
    target,
    details: {
      recompute: { rows: 1, columns: ["words", "docs.words", "big"], estimate_s: 1, sampled: 1, samples, note: null },
    },
    destructive: false,
  };
}

test("the sample of an iterator view shows numbers of rows, and of a column its values", () => {
  expect(recomputeLines(opOn("table"))).toEqual(["1 row, about 1 s, together with big", "id = 1: 2 rows -> 1 row"]);
  expect(recomputeLines(opOn("column")).at(-1)).toBe("id = 1: 2 -> 1");
});

test("equal samples are one line with their number", () => {
  const samples = [SAMPLE, { ...SAMPLE, key: { id: 2 } }, { ...SAMPLE, key: { id: 3 }, new: 5 }];
  expect(recomputeLines(opOn("column", samples)).slice(1)).toEqual([
    "id = 1: 2 -> 1 (the same for 2 samples)",
    "id = 3: 2 -> 5",
  ]);
});

test("previous code of a view's rows names the view", () => {
  const lines: string[] = [];
  const stream = { write: (text: string) => lines.push(text) };
  const out = createOutput(stream, stream, true);
  const stale = { table: "main/words", column: null, functions: ["app:words"], command: "cli recompute main/words" };
  printSchemaPlan(schemaPlan({ stale: [stale] }), out);
  expect(lines.join("")).toContain(
    "* main/words: the view has rows from previous code of app:words; compute them again: cli recompute main/words\n",
  );
});
