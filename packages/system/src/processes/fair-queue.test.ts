import { expect, test } from "vitest";
import { createFairQueue } from "./fair-queue.ts";

/** Jobs that end on request, in the order in which they began. */
function makeWorks() {
  const began: string[] = [];
  const ends = new Map<string, () => void>();
  const work = (name: string) => () =>
    new Promise<void>((end) => {
      began.push(name);
      ends.set(name, end);
    });
  const end = async (name: string) => {
    ends.get(name)?.();
    await new Promise(setImmediate);
  };
  return { began, end, work };
}

test("an owner with many jobs does not delay another", async () => {
  const queue = createFairQueue({ at_once: 2, of_one: 1 });
  const { began, end, work } = makeWorks();
  const done = ["a1", "a2", "a3"].map((name) => queue.run("a", work(name)));
  expect(began).toEqual(["a1"]);
  expect(queue.waiting("a")).toBe(2);
  done.push(queue.run("b", work("b1")));
  expect(began).toEqual(["a1", "b1"]);
  done.push(queue.run("c", work("c1")));
  await end("a1");
  await end("b1");
  expect(began).toEqual(["a1", "b1", "a2", "c1"]);
  for (const name of ["a2", "c1", "a3"]) await end(name);
  await Promise.all(done);
  expect(began.at(-1)).toBe("a3");
  expect(queue.waiting("a")).toBe(0);
});

test("serves waiting owners in turns", async () => {
  const queue = createFairQueue({ at_once: 1, of_one: 1 });
  const { began, end, work } = makeWorks();
  const done = ["a1", "a2", "a3"].map((name) => queue.run("a", work(name)));
  done.push(...["b1", "b2"].map((name) => queue.run("b", work(name))));
  for (const name of ["a1", "a2", "b1", "a3", "b2"]) await end(name);
  await Promise.all(done);
  expect(began).toEqual(["a1", "a2", "b1", "a3", "b2"]);
});

test("a failed job frees its place and fails only its caller", async () => {
  const queue = createFairQueue({ at_once: 1, of_one: 1 });
  await expect(queue.run("a", () => Promise.reject(new Error("no")))).rejects.toThrow("no");
  await expect(queue.run("a", async () => "yes")).resolves.toBe("yes");
});
