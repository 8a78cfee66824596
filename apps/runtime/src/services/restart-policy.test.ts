import { expect, test } from "vitest";
import { createRestartPolicy, type ProcessEnd } from "./restart-policy.ts";

const killed: ProcessEnd = { problem: undefined, listened_ms: 60_000, was_killed: true };
const crashed: ProcessEnd = { problem: undefined, listened_ms: undefined, was_killed: false };
const failed = (code: string): ProcessEnd => ({
  problem: { code, detail: "" },
  listened_ms: undefined,
  was_killed: false,
});

test("a service that ran is started again soon, however often it is killed", () => {
  const policy = createRestartPolicy();
  expect(Array.from({ length: 20 }, () => policy.next(killed))).toEqual(Array(20).fill(100));
});

test("one that ends at once each time waits longer and longer, then is given up", () => {
  const policy = createRestartPolicy();
  expect(Array.from({ length: 6 }, () => policy.next(crashed))).toEqual([200, 400, 800, 1600, 3200, undefined]);
});

test("one that is killed again and again while it works is never given up, though the pauses grow", () => {
  const policy = createRestartPolicy();
  const pauses = Array.from({ length: 20 }, () => policy.next({ ...killed, listened_ms: 300 }));
  expect(pauses.slice(0, 3)).toEqual([200, 400, 800]);
  expect(pauses.slice(10)).toEqual(Array(10).fill(10_000));
});

test("one that is killed before it ever listens is given up", () => {
  const policy = createRestartPolicy();
  const pauses = Array.from({ length: 6 }, () => policy.next({ ...crashed, was_killed: true }));
  expect(pauses.at(-1)).toBeUndefined();
});

test("one good run makes up for the bad ones before", () => {
  const policy = createRestartPolicy();
  for (let count = 0; count < 5; count++) policy.next(crashed);
  expect(policy.next(killed)).toBe(100);
  expect(policy.next(crashed)).toBe(200);
});

test("what the person must mend is told at once, what heals by itself is waited for", () => {
  expect(createRestartPolicy().next(failed("schema_mismatch"))).toBeUndefined();
  expect(createRestartPolicy().next(failed("worker_unavailable"))).toBeUndefined();
  expect(createRestartPolicy().next(failed("database_unavailable"))).toBe(200);
  const ranBefore = createRestartPolicy();
  ranBefore.next(killed);
  expect(ranBefore.next(failed("worker_unavailable"))).toBe(200);
  expect(ranBefore.next(failed("port_taken"))).toBeUndefined();
});

test("a full disk or a PostgreSQL that is down is waited for as long as it takes by a service that ran", () => {
  const policy = createRestartPolicy();
  policy.next(killed);
  const pauses = Array.from({ length: 20 }, () => policy.next(failed("disk_full")));
  expect(pauses.slice(0, 3)).toEqual([200, 400, 800]);
  expect(pauses.slice(10)).toEqual(Array(10).fill(10_000));
});
