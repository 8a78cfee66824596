import { expect, test } from "vitest";
import { Admission, GIVES_WAY_S, type Slot } from "./admission.ts";

const OPEN = new AbortController().signal;

/** Work that runs until `end`. */
function work(admission: Admission, owner?: string) {
  let end = () => {};
  let slot: Slot | undefined;
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const done = admission.run(
    new AbortController().signal,
    async (taken) => {
      slot = taken;
      await ended;
    },
    owner,
  );
  const finish = async () => {
    end();
    await done;
  };
  return { done, end, finish, claim: (early?: boolean) => slot?.claim(early), hasBegun: () => slot !== undefined };
}

type Work = ReturnType<typeof work>;

const begun = (all: readonly Work[]) => all.filter((one) => one.hasBegun()).length;

test("a slot can be claimed only while work waits", async () => {
  const admission = new Admission({ running: 1, waiting: 5 }, "tests");
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
  const admission = new Admission({ running: 2, waiting: 5 }, "tests");
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
  const admission = new Admission({ running: 1, waiting: 10 }, "requests");
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

test("owners take turns, however much work one of them sends", async () => {
  const admission = new Admission({ running: 2, waiting: 100 }, "tests");
  const many = Array.from({ length: 20 }, () => work(admission, "a"));
  const few = [work(admission, "b"), work(admission, "b")];
  const other = work(admission, "c");
  expect(begun(many)).toBe(2);
  await many[0]?.finish();
  expect([begun(many), few[0]?.hasBegun()]).toEqual([2, true]);
  // now the first owner has none
  await many[1]?.finish();
  expect([begun(many), other.hasBegun(), few[1]?.hasBegun()]).toEqual([3, false, false]);
  await few[0]?.finish();
  expect([begun(many), other.hasBegun(), few[1]?.hasBegun()]).toEqual([3, true, false]);
  await other.finish();
  expect([begun(many), few[1]?.hasBegun()]).toEqual([3, true]);
  await few[1]?.finish();
  expect(begun(many)).toBe(4);
});

test("an owner alone has all slots, and its work keeps its order", async () => {
  const admission = new Admission({ running: 2, waiting: 100 }, "tests");
  const all = Array.from({ length: 4 }, () => work(admission, "a"));
  expect(all.map((one) => one.hasBegun())).toEqual([true, true, false, false]);
  expect([all[0]?.claim(true), all[1]?.claim(true)]).toEqual([false, false]);
  await all[1]?.finish();
  expect(all.map((one) => one.hasBegun())).toEqual([true, true, true, false]);
});

test("a slot of an owner that has all is claimed early for another owner", async () => {
  const admission = new Admission({ running: 2, waiting: 100 }, "tests");
  const all = Array.from({ length: 9 }, () => work(admission, "a"));
  const other = work(admission, "b");
  expect([all[0]?.claim(true), all[1]?.claim(true)]).toEqual([true, false]);
  await all[0]?.finish();
  expect(other.hasBegun()).toBe(true);
  // with one slot each, only the owner that was slow gives way
  work(admission, "b");
  expect([other.claim(true), all[1]?.claim(true)]).toEqual([false, true]);
});

test("an owner that was slow gives way for some time", async () => {
  const clock = { ms: 0 };
  const admission = new Admission({ running: 1, waiting: 100 }, "tests", () => clock.ms);
  const slow = [work(admission, "a"), work(admission, "a"), work(admission, "a")];
  const others = [work(admission, "b"), work(admission, "b")];
  expect(slow[0]?.claim()).toBe(true);
  for (const [at, one] of [slow[0], others[0], others[1]].entries()) {
    expect([at, begun(slow), begun(others)]).toEqual([at, 1, at]);
    await one?.finish();
  }
  expect(begun(slow)).toBe(2);
  clock.ms += GIVES_WAY_S * 1_000;
  const late = work(admission, "b");
  await slow[1]?.finish();
  expect([begun(slow), late.hasBegun()]).toEqual([3, false]);
});

test("an owner is not slow for work of its own", async () => {
  const admission = new Admission({ running: 1, waiting: 100 }, "tests");
  const [first, second, third] = [work(admission, "a"), work(admission, "a"), work(admission, "a")];
  expect(first.claim()).toBe(true);
  const other = work(admission, "b");
  await first.finish();
  expect([second.hasBegun(), other.hasBegun(), third.hasBegun()]).toEqual([true, false, false]);
});

test("a full queue keeps room for owners with little work", async () => {
  const admission = new Admission({ running: 1, waiting: 4 }, "tests");
  const many = Array.from({ length: 5 }, () => work(admission, "a"));
  const full = { code: "overloaded", meta: { waiting: 4 } };
  await expect(work(admission, "a").done).rejects.toMatchObject(full);
  const others = [work(admission, "b"), work(admission, "b")];
  await expect(many[4]?.done).rejects.toMatchObject(full);
  await expect(many[3]?.done).rejects.toMatchObject(full);
  await expect(work(admission, "b").done).rejects.toMatchObject(full);
  for (const one of [many[0], many[1], others[0], many[2], others[1]]) await one?.finish();
});

test("an owner leaves the spare slot to another", async () => {
  const admission = new Admission({ running: 2, spare: 1, waiting: 100 }, "tests");
  const many = Array.from({ length: 4 }, () => work(admission, "a"));
  const [other, second] = [work(admission, "b"), work(admission, "b")];
  const last = work(admission, "c");
  expect([begun(many), other.hasBegun(), second.hasBegun(), last.hasBegun()]).toEqual([2, true, false, false]);
  await many[0]?.finish();
  expect([begun(many), second.hasBegun(), last.hasBegun()]).toEqual([2, false, true]);
  await last.finish();
  expect([begun(many), second.hasBegun()]).toEqual([2, false]);
  await many[1]?.finish();
  expect([begun(many), second.hasBegun()]).toEqual([3, false]);
  await other.finish();
  expect([begun(many), second.hasBegun()]).toEqual([3, true]);
  for (const one of [many[2], many[3], second]) await one?.finish();
});
