import { Unpackr } from "msgpackr/pack";
import { expect, test } from "vitest";
import { createFrameCodec } from "./frames.ts";
import { spellNegativeZero } from "./wire-values.ts";

const run = { t: "run", call: 1, graph: 1 } as const;

function decoded(frame: Buffer): Record<string, unknown> {
  expect(frame.readUInt32BE(0)).toBe(frame.length - 4);
  return new Unpackr({ useRecords: false }).unpack(frame.subarray(4));
}

test("a run frame keeps 64-bit Ints and the sign of a Float zero", () => {
  const columns = [
    [2 ** 40, -(2 ** 40), 2n ** 63n - 1n, -(2n ** 63n), 5, null],
    [-0, 1.5, null, 0, 2 ** 60, -1],
    ["a", "é", "", null, "\u{1f600}", "b"],
  ];
  const frame = createFrameCodec().encodeColumns({ ...run, n: 6, columns }, ["int", "float", "string"]);
  const { columns: got, ...head } = decoded(frame) as { columns: unknown[][] };
  expect(head).toEqual({ ...run, n: 6 });
  expect(got[0]).toEqual([2n ** 40n, -(2n ** 40n), 2n ** 63n - 1n, -(2n ** 63n), 5, null]);
  expect(Object.is(got[1]?.[0], -0)).toBe(true);
  expect(got[1]?.slice(1)).toEqual([1.5, null, 0, 2 ** 60, -1]);
  expect(got[2]).toEqual(columns[2]);
});

test("reads whole frames from arbitrarily split bytes", () => {
  const sent = [{ t: "done", call: 1 } as const, { t: "at", call: 2, row: 70_000 } as const];
  const bytes = Buffer.concat(sent.map((frame) => createFrameCodec().encode(frame as never)));
  for (const size of [1, 2, 3, 5, 7, bytes.length]) {
    const codec = createFrameCodec();
    const got: unknown[] = [];
    for (let start = 0; start < bytes.length; start += size) {
      codec.push(bytes.subarray(start, start + size), (frame) => got.push(frame));
    }
    expect(got).toEqual(sent);
  }
});

test("returns an Int beyond 53 bits as a bigint and a smaller one as a number", () => {
  const codec = createFrameCodec();
  const frame = { ...run, n: 3, columns: [[2n ** 63n - 1n, 2 ** 40, 7]] };
  codec.push(codec.encodeColumns(frame, ["int"]), (got) => {
    expect((got as unknown as typeof frame).columns).toEqual([[2n ** 63n - 1n, 2 ** 40, 7]]);
  });
  expect.assertions(1);
});

test("refuses bytes that are not frames", () => {
  expect(() => createFrameCodec().push(Buffer.from("Traceback (most recent"), () => {})).toThrow(/bytes was announced/);
});

test("sends a constant -0.0 to Python as the negation of 0.0", () => {
  const type = { kind: "float" } as const;
  const zero = { node: "literal", value: -0, type, nullable: false } as const;
  const one = { node: "literal", value: 1, type, nullable: false } as const;
  const sum = { node: "call", fn: "op.add", args: [zero, one], kwargs: {}, type, nullable: false } as const;
  expect(spellNegativeZero({ ...sum, args: [...sum.args] })).toEqual({
    ...sum,
    args: [{ node: "call", fn: "op.neg", args: [{ ...zero, value: 0 }], kwargs: {}, type, nullable: false }, one],
  });
});
