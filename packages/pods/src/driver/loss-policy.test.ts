import { expect, test } from "vitest";
import { describeExit, judgeLoss, type LossHistory, NO_LOSSES, type PodLoss } from "./loss-policy.ts";
import type { PodExit } from "./pod-driver.ts";

const crash: PodExit = { code: 1, signal: null, is_out_of_memory: false, exceeded: null };
const kill: PodExit = { ...crash, code: null, signal: "SIGKILL" };
const outOfMemory: PodExit = { ...kill, is_out_of_memory: true };

/** The pauses after losses that come `every_ms`. */
function pauses(count: number, loss: Omit<PodLoss, "at">, everyMs: number): (number | undefined)[] {
  let history: LossHistory = NO_LOSSES;
  return Array.from({ length: count }, (_, place) => {
    const judged = judgeLoss(history, { ...loss, at: place * everyMs });
    history = judged.history;
    return judged.pause_ms;
  });
}

test("a pod that crashes soon after it was ready is waited for longer each time, and given up the sixth time", () => {
  expect(pauses(6, { ready_ms: 500, exit: crash }, 5_000)).toEqual([200, 400, 800, 1600, 3200, undefined]);
});

test("one that runs for a while before each crash is started again at once, and given up as well", () => {
  expect(pauses(6, { ready_ms: 60_000, exit: crash }, 60_000)).toEqual([100, 100, 100, 100, 100, undefined]);
});

test("crashes of long ago do not count", () => {
  expect(pauses(20, { ready_ms: 180_000, exit: crash }, 180_000)).toEqual(Array(20).fill(100));
});

test("one that is killed from outside is never given up; one that needs too much memory is", () => {
  expect(pauses(20, { ready_ms: 60_000, exit: kill }, 1_000)).toEqual(Array(20).fill(100));
  expect(pauses(12, { ready_ms: 500, exit: kill }, 1_000).slice(-3)).toEqual(Array(3).fill(10_000));
  expect(pauses(6, { ready_ms: 60_000, exit: outOfMemory }, 1_000).at(-1)).toBeUndefined();
});

test("how a pod ended is said in words", () => {
  expect([crash, kill, outOfMemory, { ...crash, code: null }, null].map(describeExit)).toEqual([
    "it ended with code 1",
    "it was ended by SIGKILL",
    "it needed more memory than its database has",
    "it ended, and the reason is unknown",
    "it ended, and the reason is unknown",
  ]);
});
