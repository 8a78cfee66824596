import { expect, test } from "vitest";
import { pieceFreer } from "./free-pieces.ts";

test("frees pieces that have their memory for themselves", () => {
  const pieces = [Buffer.alloc(65_536), new Uint8Array(16_384)];
  pieceFreer()(pieces);
  expect(pieces.map(({ byteLength, buffer }) => [byteLength, buffer.byteLength])).toEqual([
    [0, 0],
    [0, 0],
  ]);
});

test("leaves memory that other pieces share, and small pieces", () => {
  const whole = Buffer.alloc(65_536, 7);
  const [start, end, small] = [whole.subarray(0, 32_768), whole.subarray(32_768), Buffer.alloc(16_383)];
  const shared = Buffer.from(new SharedArrayBuffer(65_536));
  pieceFreer()([start, end, small, shared]);
  expect([start, end, small, shared].map((piece) => piece.length)).toEqual([32_768, 32_768, 16_383, 65_536]);
});
