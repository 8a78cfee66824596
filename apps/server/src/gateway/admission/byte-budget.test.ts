import { expect, test } from "vitest";
import { createByteBudget, STRANGERS } from "./byte-budget.ts";

test("refuses bytes above one owner's share and accepts another owner's", () => {
  const budget = createByteBudget(400);
  expect(budget.tryReserve("a", 100)).toBe(true);
  expect(budget.tryReserve("a", 1)).toBe(false);
  expect(budget.tryReserve("b", 100)).toBe(true);
  expect(budget.usedBytes).toBe(200);
});

test("refuses bytes above the whole budget", () => {
  const budget = createByteBudget(400);
  for (const owner of ["a", "b", "c", STRANGERS]) expect(budget.tryReserve(owner, 100)).toBe(true);
  expect(budget.tryReserve("d", 1)).toBe(false);
});

test("does not count refused bytes and has room after release", () => {
  const budget = createByteBudget(400);
  budget.add("a", 300);
  expect(budget.tryReserve("a", 1)).toBe(false);
  expect(budget.usedBytes).toBe(300);
  budget.give("a", 300);
  expect(budget.usedBytes).toBe(0);
  expect(budget.tryReserve("a", 100)).toBe(true);
});
