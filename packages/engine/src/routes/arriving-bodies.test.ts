import { expect, test } from "vitest";
import { ArrivingBodies } from "./arriving-bodies.ts";

const MB = 1_000_000;
const TEXTS = {
  bodies: "Bodies",
  slow: (seconds: number) => `Nothing arrived for ${seconds} seconds.`,
  raise: "raise the limit",
};
const TOO_MANY = expect.objectContaining({ code: "overloaded", meta: { limit: "body_bytes", value: 2 * MB } });

function arriving() {
  const clock = { ms: 0 };
  const bodies = new ArrivingBodies(2 * MB, TEXTS, () => clock.ms);
  const ended: Error[] = [];
  const begin = () => bodies.begin((error) => ended.push(error));
  return { begin, bodies, clock, ended };
}

test("bodies that arrive have a limit together until they are read, and small ones have none", () => {
  const { begin } = arriving();
  const [first, second, third] = [begin(), begin(), begin()];
  first.add(MB);
  second.add(MB);
  third.add(MB / 10);
  expect(() => third.add(MB / 10)).toThrow(TOO_MANY);
  begin().add(65_536);
  first[Symbol.dispose]();
  first[Symbol.dispose]();
  first.add(MB);
  third.add(MB);
  expect(() => third.add(MB)).toThrow(TOO_MANY);
});

test("a slow body loses its bytes to another one", () => {
  const { begin, clock, ended } = arriving();
  const small = begin();
  small.add(10);
  const slow = begin();
  slow.add(1.5 * MB);
  clock.ms += 6_000;
  const other = begin();
  expect(() => other.add(MB)).toThrow(TOO_MANY);
  clock.ms += 6_000;
  other.add(MB);
  expect(ended).toEqual([
    expect.objectContaining({ message: "Nothing arrived for 12 seconds.", meta: { waited_s: 12 } }),
  ]);
  // the one that needs bytes does not end itself
  clock.ms += 60_000;
  expect(() => other.add(2 * MB)).toThrow(TOO_MANY);
  expect(ended).toHaveLength(1);
});

test("a body does not count bytes that were released", () => {
  const { begin, bodies } = arriving();
  const body = begin();
  body.add(MB);
  body.add(MB, MB);
  bodies.hold(MB)[Symbol.dispose]();
  body.add(MB);
  expect(() => bodies.hold(MB)).toThrow(TOO_MANY);
});

test("a request that does not wait for its client is not ended", () => {
  const { begin, bodies, clock, ended } = arriving();
  const body = begin();
  body.add(2 * MB);
  body.setWaiting(false);
  clock.ms += 60_000;
  expect(() => bodies.hold(MB)).toThrow(TOO_MANY);
  body.setWaiting(true);
  clock.ms += 9_000;
  expect(bodies.endSlowest()).toBe(false);
  clock.ms += 1_000;
  bodies.hold(MB);
  expect(ended).toHaveLength(1);
});

test("a body that has arrived is not slow, and still counts", () => {
  const { begin, clock, ended } = arriving();
  const whole = begin();
  whole.add(1.5 * MB);
  whole.setWaiting(false);
  const slow = begin();
  slow.add(MB / 2);
  clock.ms += 60_000;
  const other = begin();
  other.add(MB / 2);
  expect(ended).toHaveLength(1);
  expect(() => other.add(MB)).toThrow(TOO_MANY);
  whole[Symbol.dispose]();
  other.add(MB);
  expect(ended).toHaveLength(1);
});
