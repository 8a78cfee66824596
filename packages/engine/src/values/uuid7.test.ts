import { expect, test } from "vitest";
import { createUuid7 } from "./uuid7.ts";

test("ids are version 7, unique, and sorted by creation", () => {
  let now = 1_763_000_000_000;
  const make = createUuid7(() => now);
  const ids = Array.from({ length: 20_000 }, (_, index) => {
    if (index % 700 === 0) now += 1;
    return make();
  });
  expect(new Set(ids).size).toBe(ids.length);
  expect([...ids].sort()).toEqual(ids);
  for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
});

test("ids of a clock with fractions are sorted by creation", () => {
  let now = 1_763_000_000_000;
  const make = createUuid7(() => {
    now += 0.01;
    return now;
  });
  const ids = Array.from({ length: 1_000 }, make);
  expect([...ids].sort()).toEqual(ids);
});

test("ids do not decrease when the clock goes back", () => {
  let now = 1_763_000_000_000;
  const make = createUuid7(() => now);
  const before = make();
  now -= 60_000;
  const after = make();
  expect(after > before).toBe(true);
});

test("an id contains the millisecond of its creation", () => {
  const now = 1_763_000_000_123;
  const id = createUuid7(() => now)();
  expect(Number.parseInt(id.replaceAll("-", "").slice(0, 12), 16)).toBe(now);
});
