import { expect, test } from "vitest";
import { describeExit, judgeLoss, type LossHistory, NO_LOSSES, type PodLoss } from "./loss-policy.ts";
import type { PodExit } from "./pod-driver.ts";

const crash: PodExit = { code: 1, signal: null, is_out_of_memory: false, exceeded: null };
const kill: PodExit = { ...crash, code: null, signal: "SIGKILL" };
const outOfMemory: PodExit = { ...kill, is_out_of_memory: true };

/** Pauses after losses at intervals of `every_ms`. */
function pauses(count: number, loss: Omit<PodLoss, "at">, everyMs: number): (number | undefined)[] {
  let history: LossHistory = NO_LOSSES;
  return Array.from({ length: count }, (_, place) => {
    const judged = judgeLoss(history, { ...loss, at: place * everyMs });
    history = judged.history;
    return judged.pause_ms;
  });
}

test("backs off after quick crashes and gives up at the sixth", () => {
  expect(pauses(6, { ready_ms: 500, exit: crash }, 5_000)).toEqual([200, 400, 800, 1600, 3200, undefined]);
});

test("restarts at once after longer runs and gives up as well", () => {
  expect(pauses(6, { ready_ms: 60_000, exit: crash }, 60_000)).toEqual([100, 100, 100, 100, 100, undefined]);
});

test("ignores crashes of long ago", () => {
  expect(pauses(20, { ready_ms: 180_000, exit: crash }, 180_000)).toEqual(Array(20).fill(100));
});

test("gives up after out-of-memory ends but never after outside kills", () => {
  expect(pauses(20, { ready_ms: 60_000, exit: kill }, 1_000)).toEqual(Array(20).fill(100));
  expect(pauses(12, { ready_ms: 500, exit: kill }, 1_000).slice(-3)).toEqual(Array(3).fill(10_000));
  expect(pauses(6, { ready_ms: 60_000, exit: outOfMemory }, 1_000).at(-1)).toBeUndefined();
});

test("describes how a pod ended", () => {
  expect([crash, kill, outOfMemory, { ...crash, code: null }, null].map(describeExit)).toEqual([
    "it ended with code 1",
    "it was ended by SIGKILL",
    "it needed more memory than its database has",
    "it ended, and the reason is unknown",
    "it ended, and the reason is unknown",
  ]);
});
