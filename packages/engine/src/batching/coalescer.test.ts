import { expect, test } from "vitest";
import { Coalescer, type CoalescerOptions, type Outcome } from "./coalescer.ts";

const LIMITS = {
  batches_in_flight: 2,
  batch_items: 10,
  batch_bytes: 1_000,
  waiting_items: 1_000,
  waiting_bytes: 100_000,
};

function create(options: Partial<CoalescerOptions<number, number>> = {}) {
  const batches: number[][] = [];
  const gates: (() => void)[] = [];
  const coalescer = new Coalescer<number, number>({
    ...LIMITS,
    weigh: () => 1,
    run: async (items) => {
      batches.push([...items]);
      await new Promise<void>((resolve) => gates.push(resolve));
      return items.map((item): Outcome<number> => ({ answer: item * 2 }));
    },
    ...options,
  });
  return { coalescer, batches, release: () => gates.splice(0).forEach((open) => void open()) };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

test("rows ready in the same turn form one batch and get their own answers", async () => {
  const { coalescer, batches, release } = create();
  const answers = Promise.all([1, 2, 3].map((item) => coalescer.submit(item)));
  await turn();
  release();
  expect(await answers).toEqual([2, 4, 6]);
  expect(batches).toEqual([[1, 2, 3]]);
});

test("at most two batches run at once; later items share the next batch", async () => {
  const { coalescer, batches, release } = create();
  const answers: Promise<number>[] = [];
  for (const item of [1, 2, 3, 4, 5]) {
    answers.push(coalescer.submit(item));
    await turn();
  }
  expect(batches).toEqual([[1], [2]]);
  release();
  await turn();
  expect(batches).toEqual([[1], [2], [3, 4, 5]]);
  release();
  expect(await Promise.all(answers)).toEqual([2, 4, 6, 8, 10]);
});

test("a batch stays within its item and byte limits", async () => {
  const { coalescer, batches, release } = create({ weigh: (item) => (item === 7 ? 999 : 10) });
  const answers = Promise.all(Array.from({ length: 15 }, (_, item) => coalescer.submit(item)));
  for (let round = 0; round < 5; round++) {
    await turn();
    release();
  }
  await answers;
  expect(batches.map((batch) => batch.length)).toEqual([7, 1, 7]);
});

test("a batch error reaches every item of the batch, and the next batch runs", async () => {
  let isBroken = true;
  const { coalescer } = create({
    run: async (items) => {
      if (isBroken) throw new Error("broken");
      return items.map((answer) => ({ answer }));
    },
  });
  const settled = await Promise.allSettled([coalescer.submit(1), coalescer.submit(2)]);
  expect(settled.map((result) => result.status)).toEqual(["rejected", "rejected"]);
  isBroken = false;
  expect(await coalescer.submit(3)).toBe(3);
});

test("an item that continues on its own does not hold its batch", async () => {
  let finish = (_value: number): void => undefined;
  const { coalescer } = create({
    run: async (items) =>
      items.map(
        (answer): Outcome<number> =>
          answer === 1 ? { later: () => new Promise((resolve) => (finish = resolve)) } : { answer },
      ),
  });
  const slow = coalescer.submit(1);
  expect(await coalescer.submit(2)).toBe(2);
  await coalescer.drain();
  finish(42);
  expect(await slow).toBe(42);
});

test("refuses items beyond the queue limit", async () => {
  const { coalescer, release } = create({ waiting_items: 3 });
  const waiting = [1, 2, 3].map((item) => coalescer.submit(item));
  await expect(coalescer.submit(4)).rejects.toMatchObject({ code: "overloaded" });
  await turn();
  release();
  expect(await Promise.all(waiting)).toEqual([2, 4, 6]);
});
