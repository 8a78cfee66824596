import type { Expr } from "@appdb/contract/expressions";
import { createFakeUdfRunner, type FakeStep } from "@appdb/testkit/fake-udf-runner";
import { call, col, lit, udf } from "@appdb/testkit/manifest-builder";
import { expect, test } from "vitest";
import { asMade, madeRowsExpr } from "../expressions/made-rows.ts";
import { JSON_TYPE, STRING_TYPE } from "../kinds/kinds.ts";
import type { UdfGraph, UdfRunner } from "../ports.ts";
import { withMadeRows } from "./rows-runner.ts";

const MADE = new Set(["pos", "word"]);
const ownOf = (name: string): Expr => asMade(col(name, "string"), new Set([name]));
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

/** The rows as a worker writes them. */
function rowsText(words: readonly string[]): string {
  return JSON.stringify({ rows: words.length, given: { word: words } });
}

async function run(graph: UdfGraph, steps: Record<string, FakeStep>) {
  const fake = createFakeUdfRunner({
    title: ({ word }) => `T${word}`,
    "w.(rows)": ({ word }) => rowsText(String(word).split(" ")),
    ...steps,
  });
  const { values, errors } = await withMadeRows(fake).run(graph, ["a b"]);
  return { rows: values[1] === null ? null : JSON.parse(String(values[1])), errors, calls: fake.calls };
}

test("leaves the text of rows without computed columns as the worker wrote it", async () => {
  const { rows, errors, calls } = await run(graphOf(), {});
  expect(rows).toEqual({ rows: 2, given: { word: ["a", "b"] } });
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
  expect(rows.computed).toEqual({ of: ["a/Ta b", "b/Ta b"], n: ["1", "2"] });
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
  expect(rows.computed.loud).toEqual(["a", null]);
  expect(rows.errors).toEqual({ 1: { loud: expect.objectContaining({ message: "not b" }) } });
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
  const empty = await run(graph, { "w.(rows)": () => rowsText([]) });
  expect([empty.rows, empty.errors]).toEqual([
    { rows: 0, given: { word: [] }, computed: { loud: [] }, errors: {} },
    null,
  ]);
});

test("leaves columns to SQL that it computes without an error, unless Python reads them", async () => {
  const loud = { name: "loud", expr: call("string.upper", "string", made(col("word", "string"))) };
  const twice = { name: "twice", expr: call("op.add", "string", ownOf("loud"), ownOf("loud")) };
  const { rows, calls } = await run(graphOf([], [loud, twice]), {});
  expect(rows).toEqual({ rows: 2, given: { word: ["a", "b"] } });
  expect(calls).toEqual([["a b"]]);
  const read = { name: "read", expr: udf("app:read", "string", ownOf("loud")) };
  const python = await run(graphOf([], [loud, twice, read]), {
    loud: ({ word }) => String(word).toUpperCase(),
    read: (row) => `${row.loud}!`,
  });
  expect(python.rows.computed).toEqual({ loud: ["A", "B"], read: ["A!", "B!"] });
});

test("a graph without such columns runs unchanged, in batches too", async () => {
  const fake = createFakeUdfRunner({ title: ({ word }) => `T${word}`, "w.(rows)": () => rowsText(["x"]) });
  const graph = graphOf();
  const plain = { ...graph, steps: graph.steps.slice(0, 1) };
  expect(await withMadeRows(fake).run(plain, ["a"])).toEqual({ values: ["Ta"], errors: null });
  const batch = withMadeRows(fake).runBatch(graph, [["a", "b"]], 2);
  while (batch.ready < 2) await batch.wait(100, new AbortController().signal);
  expect(batch.columns[0]).toEqual(["Ta", "Tb"]);
  expect(batch.columns[1]?.map((text) => JSON.parse(String(text)).given.word)).toEqual([["x"], ["x"]]);
});

test("many made rows are computed in parts, of which few run at once", async () => {
  const words = Array.from({ length: 1_001 }, (_none, at) => `w${at}`);
  const sizes: number[] = [];
  let [running, most] = [0, 0];
  const fake = createFakeUdfRunner({
    title: () => "T",
    "w.(rows)": () => rowsText(words),
    async loud({ word }) {
      running += 1;
      most = Math.max(most, running);
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
      return `${word}!`;
    },
  });
  const counted: UdfRunner = {
    ...fake,
    runBatch(graph, columns, rows) {
      sizes.push(rows);
      return fake.runBatch(graph, columns, rows);
    },
  };
  const graph = graphOf([], [{ name: "loud", expr: udf("app:loud", "string", made(col("word", "string"))) }]);
  const runner = withMadeRows(counted);
  const results = await Promise.all(Array.from({ length: 20 }, () => runner.run(graph, ["a"])));
  expect(Math.max(...sizes)).toBe(250);
  expect(most).toBeLessThanOrEqual(8 * 250);
  for (const { values } of results) {
    expect(JSON.parse(String(values[1])).computed.loud).toEqual(words.map((word) => `${word}!`));
  }
});

test("rows whose values have too many bytes are not made, and long values of the row above are sent in small parts", async () => {
  const words = Array.from({ length: 300 }, (_none, at) => `w${at}`);
  const sizes: number[] = [];
  const graph = graphOf([
    { name: "of", expr: call("op.add", "string", made(col("word", "string")), col("title", "string")) },
  ]);
  const runWith = async (title: string, of: FakeStep) => {
    const fake = createFakeUdfRunner({ title: () => title, "w.(rows)": () => rowsText(words), of });
    const counted: UdfRunner = {
      ...fake,
      runBatch(inner, columns, rows) {
        sizes.push(rows);
        return fake.runBatch(inner, columns, rows);
      },
    };
    return await withMadeRows(counted).run(graph, ["a"]);
  };
  const title = "t".repeat(400_000);
  const { errors, values } = await runWith(title, (row) => `${row.word}${row["^title"]}`);
  expect(values).toEqual([title, null]);
  expect(errors?.["w.(rows)"]?.message).toBe(
    "the rows that one row makes have more than 16 MB, the maximum; each counts 32 bytes more than its values",
  );
  expect(Math.max(...sizes)).toBe(19);
  expect(sizes.length * 19).toBeLessThan(200);
  expect((await runWith(title, ({ word }) => String(word))).errors).toBeNull();
  // Short rows are few bytes, but PostgreSQL needs several hundred for each.
  const many = createFakeUdfRunner({
    title: () => "",
    "w.(rows)": () => rowsText(new Array(500_000).fill("")),
    of: () => "",
  });
  const { errors: ofMany } = await withMadeRows(many).run(graph, ["a"]);
  expect(ofMany?.["w.(rows)"]?.message).toContain("each counts 32 bytes more");
});
