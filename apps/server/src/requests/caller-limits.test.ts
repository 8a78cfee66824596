import { expect, test } from "vitest";
import { CallerLimits } from "./caller-limits.ts";

function limitsOf(bounds: { rate: number; max_open: number }) {
  const clock = { ms: 0 };
  return { clock, limits: new CallerLimits(bounds, () => clock.ms) };
}
const REFUSED = expect.objectContaining({ code: "rate_limited" });

test("allows a burst, then refuses until tokens return", () => {
  const { clock, limits } = limitsOf({ rate: 10, max_open: 1_000 });
  for (let at = 0; at < 40; at++) limits.enter("principal", "ann");
  expect(() => limits.enter("principal", "ann")).toThrow(REFUSED);
  limits.enter("principal", "ben");
  clock.ms += 100;
  limits.enter("principal", "ann");
  expect(() => limits.enter("principal", "ann")).toThrow(REFUSED);
});

test("limits a caller's open requests, and releases a slot once", () => {
  const { limits } = limitsOf({ rate: 0, max_open: 2 });
  const leave = limits.enter("principal", "ann");
  limits.enter("principal", "ann");
  expect(() => limits.enter("principal", "ann")).toThrow(/has 2 requests open, and the maximum is 2/);
  leave();
  leave();
  limits.enter("principal", "ann");
  expect(() => limits.enter("principal", "ann")).toThrow(REFUSED);
});

test("allows an organization as much as four callers", () => {
  const { limits } = limitsOf({ rate: 0, max_open: 2 });
  for (let at = 0; at < 8; at++) limits.enter("organization", "acme");
  expect(() => limits.enter("organization", "acme")).toThrow(REFUSED);
});
