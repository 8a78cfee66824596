import { expect, test } from "vitest";
import type { Spool } from "../ports.ts";
import { ComputeShare } from "./compute-share.ts";

function aSpool(): Spool & { readonly pieces: (string | Uint8Array)[] } {
  const pieces: (string | Uint8Array)[] = [];
  return {
    pieces,
    get bytes() {
      return pieces.reduce((sum, piece) => sum + Buffer.byteLength(piece), 0);
    },
    write: async (piece) => void pieces.push(piece),
    async *read() {
      for (const piece of pieces) yield Buffer.from(piece);
    },
    async [Symbol.asyncDispose]() {},
  };
}

const LIMITS = { body_bytes: 10, compute_bytes: 10, made_bytes: 10 };

test("a piece beyond the bytes of one response is not written", async () => {
  const spool = aSpool();
  const bounded = new ComputeShare(LIMITS).bounded(spool);
  await bounded.write("éé");
  await bounded.write("123456");
  expect(bounded.bytes).toBe(10);
  await expect(bounded.write("7")).rejects.toMatchObject({
    code: "result_too_large",
    meta: { limit: "compute_bytes" },
  });
  expect(spool.pieces).toEqual(["éé", "123456"]);
});

test("all responses together have four times as much until they are disposed", async () => {
  const share = new ComputeShare(LIMITS);
  const open = Array.from({ length: 4 }, () => share.bounded(aSpool()));
  for (const one of open) await one.write("0123456789");
  const last = share.bounded(aSpool());
  await expect(last.write("0")).rejects.toMatchObject({ code: "overloaded", meta: { value: 40 } });
  await open[0]?.[Symbol.asyncDispose]();
  await open[0]?.[Symbol.asyncDispose]();
  await last.write("0123456789");
  await expect(share.bounded(aSpool()).write("0")).rejects.toMatchObject({ code: "overloaded" });
});

test("made rows count until their response is made", () => {
  const share = new ComputeShare(LIMITS);
  const one = share.madeRows();
  one.add(["12345", "678"]);
  const other = share.madeRows();
  expect(() => other.add(["123"])).toThrowError(expect.objectContaining({ code: "overloaded" }));
  one[Symbol.dispose]();
  other.add(["1234567890"]);
});
