import { expect, test } from "vitest";
import { Admission, type Slot } from "./admission.ts";

const OPEN = new AbortController().signal;

/** Work that runs until `end`. */
function work(admission: Admission) {
  let end = () => {};
  let slot: Slot | undefined;
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const done = admission.run(OPEN, async (taken) => {
    slot = taken;
    await ended;
  });
  return { done, end, claim: () => slot?.claim(), hasBegun: () => slot !== undefined };
}

test("a slot can be claimed only while work waits", async () => {
  const admission = new Admission(1, 5, "tests");
  const first = work(admission);
  expect(first.claim()).toBe(false);
  const second = work(admission);
  expect([first.claim(), first.claim()]).toEqual([true, true]);
  first.end();
  await first.done;
  expect([second.hasBegun(), second.claim()]).toEqual([true, false]);
  second.end();
  await second.done;
});

test("one slot is claimed for each waiting work", async () => {
  const admission = new Admission(2, 5, "tests");
  const [first, second] = [work(admission), work(admission)];
  const third = work(admission);
  expect([first.claim(), second.claim()]).toEqual([true, false]);
  const fourth = work(admission);
  expect([first.claim(), second.claim()]).toEqual([true, true]);
  for (const one of [first, second]) one.end();
  await Promise.all([first.done, second.done]);
  expect([third.claim(), fourth.claim()]).toEqual([false, false]);
  for (const one of [third, fourth]) one.end();
  await Promise.all([third.done, fourth.done]);
});

test("a request that was cancelled takes no slot", async () => {
  const admission = new Admission(1, 10, "requests");
  const gone = AbortSignal.abort(new Error("gone"));
  const work = async () => "done";
  await expect(admission.run(gone, work)).rejects.toThrow("gone");
  let end = () => {};
  const running = admission.run(
    OPEN,
    () =>
      new Promise<void>((resolve) => {
        end = resolve;
      }),
  );
  await expect(admission.run(gone, work)).rejects.toThrow("gone");
  const leaving = new AbortController();
  const waiting = admission.run(leaving.signal, work);
  const next = admission.run(OPEN, work);
  leaving.abort(new Error("left"));
  await expect(waiting).rejects.toThrow("left");
  end();
  await running;
  expect(await next).toBe("done");
});
