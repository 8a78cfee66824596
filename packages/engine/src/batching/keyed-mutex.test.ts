import { expect, test } from "vitest";
import { KeyedMutex } from "./keyed-mutex.ts";

test("work of one key runs in order, also after a failure", async () => {
  const mutex = new KeyedMutex();
  const seen: string[] = [];
  const work =
    (name: string, fails = false) =>
    async () => {
      seen.push(`${name} begins`);
      await new Promise((resolve) => setImmediate(resolve));
      seen.push(`${name} ends`);
      if (fails) throw new Error(name);
      return name;
    };
  const done = await Promise.allSettled([
    mutex.run("k", work("a")),
    mutex.run("k", work("b", true)),
    mutex.run("k", work("c")),
  ]);
  expect(done.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  expect(seen).toEqual(["a begins", "a ends", "b begins", "b ends", "c begins", "c ends"]);
});

test("work of different keys runs concurrently, and drain waits for all", async () => {
  const mutex = new KeyedMutex();
  const seen: string[] = [];
  const work = (name: string) => async () => {
    seen.push(`${name} begins`);
    await new Promise((resolve) => setImmediate(resolve));
    seen.push(`${name} ends`);
  };
  void mutex.run("a", work("a"));
  void mutex.run("b", work("b"));
  await mutex.drain();
  expect(seen).toEqual(["a begins", "b begins", "a ends", "b ends"]);
});
