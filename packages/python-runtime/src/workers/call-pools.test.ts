import { beforeEach, expect, test } from "vitest";
import { CallPools } from "./call-pools.ts";

let now = 0;
let timers: { at: number; work: () => void }[] = [];
let granted: number[] = [];
let pools: CallPools;
const worker = {};

beforeEach(() => {
  now = 0;
  timers = [];
  granted = [];
  pools = new CallPools({
    now: () => now,
    random: () => 0,
    after(ms, work) {
      const timer = { at: now + ms, work };
      timers.push(timer);
      return () => {
        timers = timers.filter((one) => one !== timer);
      };
    },
  });
});

/** Advances time and runs due timers. */
function pass(ms: number): void {
  const until = now + ms;
  for (;;) {
    const next = timers.filter((timer) => timer.at <= until).sort((a, b) => a.at - b.at)[0];
    if (next === undefined) break;
    timers = timers.filter((timer) => timer !== next);
    now = next.at;
    next.work();
  }
  now = until;
}

function ask(number: number, attempt = 0, retryAfterS: number | null = null, owner: object = worker): void {
  pools.acquire(owner, number, "api", attempt, retryAfterS, () => granted.push(number));
}

function declare(limits: { max_concurrent?: number; per_minute?: number }): void {
  pools.declare([{ name: "api", max_concurrent: null, per_minute: null, retries: 3, ...limits }]);
}

test("limits concurrent calls across all workers", () => {
  declare({ max_concurrent: 2 });
  ask(1);
  ask(2, 0, null, {});
  ask(3);
  expect(granted).toEqual([1, 2]);
  expect(pools.stats()).toEqual({ api: { running: 2, waiting: 1 } });
  pools.release(worker, 1);
  expect(granted).toEqual([1, 2, 3]);
});

test("limits calls per minute", () => {
  declare({ per_minute: 3 });
  for (let call = 1; call <= 4; call++) {
    ask(call);
    if (call < 4) pools.release(worker, call);
    pass(10_000);
  }
  expect(granted).toEqual([1, 2, 3]);
  pass(19_999);
  expect(granted).toEqual([1, 2, 3]);
  pass(1);
  expect(granted).toEqual([1, 2, 3, 4]);
});

test("doubles the wait of a rejected call with at most half jitter", () => {
  declare({});
  ask(1, 1);
  pass(499);
  expect(granted).toEqual([]);
  pass(1);
  expect(granted).toEqual([1]);
  ask(2, 3);
  pass(1_999);
  expect(granted).toEqual([1]);
  pass(1);
  expect(granted).toEqual([1, 2]);
});

test("applies a pause that the provider requested to the whole pool", () => {
  declare({});
  ask(1, 1, 7);
  ask(2);
  pass(6_999);
  expect(granted).toEqual([]);
  pass(1);
  expect(granted).toEqual([1, 2]);
});

test("a call waiting for its retry does not block others", () => {
  declare({ max_concurrent: 1 });
  ask(1, 4);
  ask(2);
  expect(granted).toEqual([2]);
  pools.release(worker, 2);
  pass(4_000);
  expect(granted).toEqual([2, 1]);
});

test("calls of an ended worker release their slots", () => {
  declare({ max_concurrent: 1 });
  ask(1);
  ask(2);
  ask(3, 0, null, {});
  pools.drop(worker);
  expect(granted).toEqual([1, 3]);
});

test("grants nothing after the end", () => {
  declare({});
  ask(1, 1);
  pools.end();
  pass(100_000);
  expect(granted).toEqual([]);
});
