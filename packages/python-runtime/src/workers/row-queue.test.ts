import type { UdfGraph } from "@appdb/engine/ports";
import { expect, test } from "vitest";
import { type GraphRows, type QueuedRow, RowQueue } from "./row-queue.ts";
import { WorkerBatch } from "./worker-batch.ts";

function graph(key: string): UdfGraph {
  return { key, inputs: [{ name: "x", type: { kind: "string" }, nullable: false }], steps: [], functions: [] };
}

function add(queue: RowQueue, key: string, text: string): QueuedRow {
  const row: QueuedRow = {
    graph: queue.graphRows(graph(key)),
    values: [text],
    resolve: () => {},
    reject: () => {},
    forget: undefined,
    strikes: 0,
    state: "waiting",
  };
  queue.add(row);
  return row;
}

const NONE: ReadonlySet<GraphRows> = new Set();

function take(queue: RowQueue, count: number): QueuedRow[] {
  const next = queue.next(NONE);
  return next === undefined ? [] : queue.take(next, count);
}

const texts = (rows: readonly QueuedRow[]) => rows.map((row) => row.values[0]);

test("graphs take turns and keep the order of their rows", () => {
  const queue = new RowQueue();
  for (const text of ["a1", "a2", "a3"]) add(queue, "a", text);
  for (const text of ["b1", "b2"]) add(queue, "b", text);
  expect([2, 2, 2, 2].map((count) => texts(take(queue, count)))).toEqual([["a1", "a2"], ["b1", "b2"], ["a3"], []]);
  expect(queue.waiting).toBe(0);
});

test("skips a row whose caller left and stops counting it", () => {
  const queue = new RowQueue();
  const [first] = [add(queue, "a", "gone"), add(queue, "a", "here")];
  (first as QueuedRow).state = "answered";
  queue.drop();
  expect(queue.waiting).toBe(1);
  expect(texts(take(queue, 5))).toEqual(["here"]);
});

test("unstarted rows return to the front in their order", () => {
  const queue = new RowQueue();
  for (const text of ["1", "2", "3", "4"]) add(queue, "a", text);
  const sent = take(queue, 3);
  queue.addFirst((sent[0] as QueuedRow).graph, sent.slice(1));
  expect(queue.waiting).toBe(3);
  expect(texts(take(queue, 9))).toEqual(["2", "3", "4"]);
});

test("suspects wait separately and count their strikes", () => {
  const queue = new RowQueue();
  for (const text of ["1", "2"]) add(queue, "a", text);
  queue.addSuspects(take(queue, 2));
  expect(queue.next(NONE)).toBeUndefined();
  expect([queue.takeSuspect(), queue.takeSuspect(), queue.takeSuspect()].map((row) => row?.strikes)).toEqual([
    1,
    1,
    undefined,
  ]);
  expect(queue.waiting).toBe(0);
});

test("does not combine long rows in one chunk", () => {
  const queue = new RowQueue();
  for (let i = 0; i < 5; i++) add(queue, "a", "x".repeat(600_000));
  expect([9, 9, 9].map((count) => take(queue, count).length)).toEqual([2, 2, 1]);
});

test("a dropped batch leaves only rows that a worker has", () => {
  const queue = new RowQueue();
  const rows = queue.graphRows(graph("a"));
  const batchOf = (texts: readonly string[]) => new WorkerBatch(rows, [texts], texts.length);
  const [gone, stays] = [batchOf(["1", "2", "3", "4", "5"]), batchOf(["6"])];
  queue.addBatch(gone);
  queue.addBatch(stays);
  const sent = take(queue, 4);
  // rows of a worker that ended return
  queue.addFirst(rows, sent.slice(1, 2));
  queue.addSuspects(sent.slice(2, 3));
  expect(queue.waiting).toBe(4);
  gone.results.drop();
  gone.results.drop();
  expect([queue.waiting, queue.takeSuspect()]).toEqual([1, undefined]);
  expect(texts(take(queue, 9))).toEqual(["6"]);
  // a worker's answer to a dropped row, and the end of that worker, change nothing
  queue.addFirst(rows, sent.slice(3));
  expect(queue.waiting).toBe(0);
});

test("an emptied queue has no rows and accepts new ones", () => {
  const queue = new RowQueue();
  add(queue, "a", "1");
  expect(texts(queue.takeAll())).toEqual(["1"]);
  expect(queue.waiting).toBe(0);
  add(queue, "a", "2");
  expect(texts(take(queue, 1))).toEqual(["2"]);
});

test("a graph without a worker lets the next one pass", () => {
  const queue = new RowQueue();
  const [a, b] = [add(queue, "a", "a1"), add(queue, "b", "b1")];
  expect(queue.next(new Set([(a as QueuedRow).graph]))).toBe((b as QueuedRow).graph);
  expect(queue.next(new Set([(a as QueuedRow).graph, (b as QueuedRow).graph]))).toBeUndefined();
});
