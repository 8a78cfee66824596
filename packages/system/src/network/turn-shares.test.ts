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
