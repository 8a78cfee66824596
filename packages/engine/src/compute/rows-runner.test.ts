import type { Expr } from "@appdb/contract/expressions";
import { createFakeUdfRunner, type FakeStep } from "@appdb/testkit/fake-udf-runner";
import { call, col, lit, udf } from "@appdb/testkit/manifest-builder";
import { expect, test } from "vitest";
import { asMade, madeRowsExpr } from "../expressions/made-rows.ts";
import { JSON_TYPE, STRING_TYPE } from "../kinds/kinds.ts";
import type { UdfGraph } from "../ports.ts";
import { withMadeRows } from "./rows-runner.ts";

const MADE = new Set(["pos", "word"]);
const made = (expr: Expr): Expr => asMade(expr, MADE);

/** The graph of `docs` with the column that makes the rows of `w`, each with the given columns. */
function graphOf(
  overBase: readonly { readonly name: string; readonly expr: Expr }[] = [],
  own: readonly { readonly name: string; readonly expr: Expr }[] = [],
): UdfGraph {
  const outputs = [{ name: "word", type: STRING_TYPE, nullable: true }];
  const call = udf("app:words", "json", col("word", "string"));
  return {
    key: "docs",
    inputs: [{ name: "word", type: STRING_TYPE, nullable: false }],
    steps: [
      { name: "title", type: STRING_TYPE, nullable: true, expr: col("word", "string") },
      { name: "w.(rows)", type: JSON_TYPE, nullable: true, expr: madeRowsExpr({ call, outputs, overBase, own }) },
    ],
    functions: [],
  } as unknown as UdfGraph;
}

async function run(graph: UdfGraph, steps: Record<string, FakeStep>) {
  const fake = createFakeUdfRunner({
    title: ({ word }) => `T${word}`,
    "w.(rows)": ({ word }) =>
      JSON.stringify(
        String(word)
          .split(" ")
          .map((one) => [one]),
      ),
    ...steps,
  });
  const { values, errors } = await withMadeRows(fake).run(graph, ["a b"]);
  return { rows: values[1] === null ? null : JSON.parse(String(values[1])), errors, calls: fake.calls };
}

test("outputs and numbers of rows travel as one array for each column", async () => {
  const { rows, errors, calls } = await run(graphOf(), {});
  expect(rows).toEqual({ pos: "{0,1}", word: '{"a","b"}', _errors: null });
  expect(errors).toBeNull();
  expect(calls).toEqual([["a b"]]);
});

test("columns read the number and outputs of their row, and columns of the row above", async () => {
  const graph = graphOf(
    [{ name: "of", expr: call("op.add", "string", made(col("word", "string")), col("title", "string")) }],
    [{ name: "n", expr: call("op.add", "int", made(col("pos", "int")), lit("1", "int")) }],
  );
  const { rows, errors } = await run(graph, {
    of: (row) => `${row.word}/${row["^title"]}`,
    n: ({ pos }) => Number(pos) + 1,
  });
  expect(errors).toBeNull();
  expect(rows.of).toBe('{"a/Ta b","b/Ta b"}');
  expect(rows.n).toBe("{1,2}");
});

test("a failed cell is an error of the column that makes the rows, and the value has it in its row", async () => {
  const graph = graphOf([], [{ name: "loud", expr: udf("app:loud", "string", made(col("word", "string"))) }]);
  const { rows, errors } = await run(graph, {
    loud: ({ word }) => {
      if (word === "b") throw new Error("not b");
      return String(word);
    },
  });
  expect(errors?.["w.(rows)"]?.message).toBe("not b (column loud at pos 1)");
  expect(rows.loud).toBe('{"a",NULL}');
  expect(rows._errors).toContain("not b");
});

test("an iterator that gives null or raises makes no rows, and no column runs", async () => {
  const graph = graphOf([], [{ name: "loud", expr: udf("app:loud", "string", made(col("word", "string"))) }]);
  const none = await run(graph, { "w.(rows)": () => null });
  expect([none.rows, none.errors]).toEqual([null, null]);
  const failed = await run(graph, {
    "w.(rows)": () => {
      throw new Error("boom");
    },
  });
  expect(failed.rows).toBeNull();
  expect(failed.errors?.["w.(rows)"]?.message).toBe("boom");
  const empty = await run(graph, { "w.(rows)": () => "[]" });
  expect([empty.rows, empty.errors]).toEqual([{ pos: "{}", word: "{}", loud: "{}", _errors: null }, null]);
});

test("a graph without such columns runs unchanged, in batches too", async () => {
  const fake = createFakeUdfRunner({ title: ({ word }) => `T${word}`, "w.(rows)": () => '[["x"]]' });
  const graph = graphOf();
  const plain = { ...graph, steps: graph.steps.slice(0, 1) };
  expect(await withMadeRows(fake).run(plain, ["a"])).toEqual({ values: ["Ta"], errors: null });
  const batch = withMadeRows(fake).runBatch(graph, [["a", "b"]], 2);
  while (batch.ready < 2) await batch.wait(100, new AbortController().signal);
  expect(batch.columns[0]).toEqual(["Ta", "Tb"]);
  expect(batch.columns[1]?.map((text) => JSON.parse(String(text)).word)).toEqual(['{"x"}', '{"x"}']);
});
