import { AppError } from "@appdb/contract/errors";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { AwaitedBody, PATIENCE_S, STEADY_BYTES_PER_S } from "./awaited-body.ts";

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

/** A body that sends pieces of some bytes, each after some milliseconds, and how its reading ended. */
function reading(
  pieces: readonly (readonly [afterMs: number, bytes: number])[],
  isBlocking = false,
  packedBytes?: () => number,
) {
  const stream = async function* () {
    for (const [afterMs, bytes] of pieces) {
      await new Promise((resolve) => setTimeout(resolve, afterMs));
      yield Buffer.alloc(bytes);
    }
  };
  const sql = { query: vi.fn(async () => ({ rows: [[isBlocking ? "t" : "f"]], row_count: 1 })) };
  const body = new AwaitedBody({ clock: { now: () => Date.now() }, packedBytes, sql }, stream());
  const slot = { isWanted: false, isWantedEarly: false, claims: 0 };
  body.holdSlot({
    claim(early) {
      const isClaimed = early ? slot.isWantedEarly : slot.isWanted;
      if (isClaimed) slot.claims += 1;
      return isClaimed;
    },
  });
  const state: { taken: number; end: unknown } = { taken: 0, end: "open" };
  const run = async () => {
    for await (const _ of body.read()) state.taken += 1;
    state.end = "whole";
  };
  run().catch((error: unknown) => {
    state.end = error;
  });
  return { body, slot, sql, state };
}

const seconds = (count: number) => vi.advanceTimersByTimeAsync(count * 1_000);

test("a slow body that nothing waits for is read to its end", async () => {
  const { slot, state } = reading([
    [50_000, 10],
    [50_000, 10],
  ]);
  await seconds(101);
  expect([state.end, state.taken, slot.claims]).toEqual(["whole", 2, 0]);
});

test("a slow body ends when a request waits for its slot", async () => {
  const { slot, state } = reading([
    [1, 1_000],
    [50_000, 10],
  ]);
  slot.isWanted = true;
  await seconds(PATIENCE_S.slot - 1);
  expect(state.end).toBe("open");
  await seconds(2);
  expect(state.end).toBeInstanceOf(AppError);
  expect(state.end).toMatchObject({
    code: "request_timeout",
    message:
      "The client kept the database waiting for 10 seconds. Another request with many rows waits for its turn. Nothing was stored.",
    meta: { waited_s: 10, limit_s: 10 },
  });
  expect([slot.claims, state.taken]).toEqual([1, 1]);
});

test("a slow body ends earlier when another caller waits for its turn", async () => {
  const { slot, state } = reading([[50_000, 10]]);
  slot.isWantedEarly = true;
  await seconds(PATIENCE_S.turn - 1);
  expect(state.end).toBe("open");
  await seconds(2);
  expect(state.end).toMatchObject({
    code: "request_timeout",
    message: expect.stringContaining("Another caller's request with many rows waits for its turn."),
    meta: { waited_s: 3, limit_s: 3 },
  });
  expect(slot.claims).toBe(1);
});

test("many short pauses count as a long one", async () => {
  const { slot, state } = reading(Array.from({ length: 1_000 }, () => [20, 10] as const));
  slot.isWanted = true;
  await seconds(PATIENCE_S.slot + 2);
  expect(state.end).toMatchObject({ code: "request_timeout" });
});

test("a steady body continues, however long it is", async () => {
  const { slot, state } = reading(Array.from({ length: 600 }, () => [100, STEADY_BYTES_PER_S / 10] as const));
  slot.isWanted = true;
  await seconds(61);
  expect([state.end, slot.claims]).toEqual(["whole", 0]);
});

test("packed bytes count as they were sent", async () => {
  const steady = Array.from({ length: 600 }, () => [100, STEADY_BYTES_PER_S / 10] as const);
  const { slot, state } = reading(steady, false, () => Date.now() / 1_000);
  slot.isWanted = true;
  await seconds(PATIENCE_S.slot + 2);
  expect(state.end).toMatchObject({ code: "request_timeout" });
});

test("a fast start does not allow longer pauses later", async () => {
  const { slot, state } = reading([
    [1, STEADY_BYTES_PER_S * 100],
    [50_000, 10],
  ]);
  slot.isWanted = true;
  await seconds(PATIENCE_S.slot + 1);
  expect(state.end).toMatchObject({ code: "request_timeout" });
});

test("time of a process that was held up does not count", async () => {
  const { slot, state } = reading([[5_000, 10]]);
  slot.isWanted = true;
  vi.setSystemTime(Date.now() + 3_600_000);
  await seconds(6);
  expect(state.end).toBe("whole");
});

test("a slow body ends when a change waits for its transaction, and only then", async () => {
  const { body, sql, state } = reading([[50_000, 10]], true);
  await seconds(PATIENCE_S.change + 1);
  expect([state.end, sql.query.mock.calls.length]).toEqual(["open", 0]);
  body.holdTransaction("77");
  await seconds(1);
  expect(state.end).toMatchObject({
    code: "request_timeout",
    message: expect.stringContaining("A change of the table waits for the request."),
  });
  expect(sql.query).toHaveBeenCalledWith(expect.objectContaining({ values: ["77"] }));
});

test("an ended transaction is not watched", async () => {
  const { body, sql, state } = reading([[20_000, 10]], true);
  body.holdTransaction("77")[Symbol.dispose]();
  await seconds(21);
  expect([state.end, sql.query.mock.calls.length]).toEqual(["whole", 0]);
});

test("an error of the body is passed on", async () => {
  const failing = async function* (): AsyncGenerator<Uint8Array> {
    yield Buffer.alloc(1);
    throw new Error("cut");
  };
  const sql = { query: vi.fn() };
  const body = new AwaitedBody({ clock: { now: () => Date.now() }, sql }, failing());
  const pieces = body.read();
  expect((await pieces.next()).done).toBe(false);
  await expect(pieces.next()).rejects.toThrow("cut");
});
