import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { AbortWatch } from "./abort-watch.ts";

test("a thousand rows with one signal use one listener and release it", () => {
  const watch = new AbortWatch();
  const { signal } = new AbortController();
  const forget = Array.from({ length: 1_000 }, () => watch.add(signal, () => undefined));
  expect(getEventListeners(signal, "abort")).toHaveLength(1);
  for (const one of forget) one();
  expect(getEventListeners(signal, "abort")).toHaveLength(0);
});

test("an abort reaches each waiting row of its signal once", () => {
  const watch = new AbortWatch();
  const gone = new AbortController();
  const stays = new AbortController();
  const told: string[] = [];
  const forget = new Map<string, () => void>();
  for (const name of ["a", "b", "c"]) {
    const onAbort = () => {
      told.push(name);
      forget.get(name)?.();
    };
    forget.set(name, watch.add(gone.signal, onAbort));
  }
  watch.add(stays.signal, () => told.push("stays"));
  forget.get("b")?.();
  gone.abort();
  gone.abort();
  expect(told).toEqual(["a", "c"]);
  expect(getEventListeners(gone.signal, "abort")).toHaveLength(0);
  stays.abort();
  expect(told).toEqual(["a", "c", "stays"]);
});
