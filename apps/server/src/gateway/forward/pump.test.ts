import { once } from "node:events";
import { Readable, Writable } from "node:stream";
import { createTurnShares } from "@appdb/system/network/turn-shares";
import { expect, test } from "vitest";
import { pump } from "./pump.ts";

const holding = { take: () => true, give: () => undefined };
const PIECE = Buffer.alloc(65_536);

/** A body that has fully arrived. */
function bodyOf(pieces: number): Readable {
  const body = new Readable({ highWaterMark: 100 * PIECE.length, read: () => undefined });
  for (let left = pieces; left > 0; left--) body.push(PIECE);
  body.push(null);
  return body;
}

test("many bodies of one owner share its part of a turn, and all arrive", async () => {
  const shares = createTurnShares(4 * PIECE.length);
  let turn = 0;
  let isOver = false;
  const countTurns = () => {
    turn += 1;
    if (!isOver) setImmediate(countTurns);
  };
  setImmediate(countTurns);
  const moved = new Map<number, number>();
  let bytes = 0;
  const to = () =>
    new Writable({
      highWaterMark: 100 * PIECE.length,
      write(piece: Buffer, _encoding, done) {
        bytes += piece.length;
        moved.set(turn, (moved.get(turn) ?? 0) + 1);
        done();
      },
    });
  const turns = {
    count: (count: number) => shares.count("a", count),
    onNextTurn: (goOn: () => void) => shares.onNextTurn("a", goOn),
  };
  const ends = Array.from({ length: 20 }, async () => {
    const from = bodyOf(20);
    pump({ from, to: to(), holding, turns, refused: () => undefined });
    await once(from, "end");
  });
  await Promise.all(ends);
  isOver = true;
  expect(bytes).toBe(20 * 20 * PIECE.length);
  // a paused stream has read one more piece
  const [first = 0, ...later] = moved.values();
  expect(first).toBeLessThanOrEqual(4 + 20);
  expect(Math.max(...later)).toBeLessThanOrEqual(8);
});
