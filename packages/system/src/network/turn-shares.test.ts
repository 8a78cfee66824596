import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { createTurnShares } from "./turn-shares.ts";

test("each owner has a share of each turn", async () => {
  const shares = createTurnShares(100);
  expect([shares.count("a", 60), shares.count("a", 60), shares.count("b", 60)]).toEqual([true, false, true]);
  await nextTurn();
  expect(shares.count("a", 60)).toBe(true);
});

test("waiting streams continue in order, some in each turn", async () => {
  const shares = createTurnShares(131_072);
  const seen: string[] = [];
  for (const name of ["1", "2", "3"]) shares.onNextTurn("a", () => seen.push(name));
  shares.onNextTurn("b", () => seen.push("b"));
  await nextTurn();
  expect(seen).toEqual(["1", "2", "b"]);
  await nextTurn();
  expect(seen).toEqual(["1", "2", "b", "3"]);
});

test("streams that continue use the share of their turn", async () => {
  const shares = createTurnShares(131_072);
  const moved: boolean[] = [];
  for (const _ of ["1", "2"]) shares.onNextTurn("a", () => moved.push(shares.count("a", 65_536)));
  await nextTurn();
  // the first one must not take the place of the second
  expect(moved).toEqual([false, false]);
  shares.onNextTurn("a", () => moved.push(shares.count("a", 65_536)));
  await nextTurn();
  expect(moved).toEqual([false, false, true]);
});
