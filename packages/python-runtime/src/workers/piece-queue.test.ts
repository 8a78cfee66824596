import { expect, test } from "vitest";
import { PieceQueue } from "./piece-queue.ts";

function open(queue: PieceQueue) {
  const told: (number | string)[] = [];
  const pieces = queue.iterate({ onTaken: (bytes) => told.push(bytes), onLeft: () => told.push("left") });
  return { told, pieces };
}

test("delivers a body piece by piece without reporting a left reader", async () => {
  const queue = new PieceQueue();
  const { told, pieces } = open(queue);
  queue.push(Buffer.from("one"));
  queue.push(Buffer.from("three"));
  queue.end();
  const read: string[] = [];
  for await (const piece of pieces) read.push(Buffer.from(piece).toString());
  expect([read, told]).toEqual([
    ["one", "three"],
    [3, 5],
  ]);
});

test("reports once when the reader leaves early", async () => {
  const queue = new PieceQueue();
  queue.push(Buffer.from("one"));
  const middle = open(queue);
  for await (const _ of middle.pieces) break;
  const before = open(new PieceQueue());
  await before.pieces.return?.();
  await before.pieces.return?.();
  expect([middle.told, before.told]).toEqual([["left"], ["left"]]);
  expect((await before.pieces.next()).done).toBe(true);
});

test("delivers existing pieces before an error", async () => {
  const queue = new PieceQueue();
  queue.push(Buffer.from("one"));
  queue.fail(new Error("broken"));
  const { pieces } = open(queue);
  expect((await pieces.next()).done).toBe(false);
  await expect(pieces.next()).rejects.toThrow("broken");
});
