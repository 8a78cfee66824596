import { expect, test } from "vitest";
import { createRestartPolicy, type ProcessEnd } from "./restart-policy.ts";

const killed: ProcessEnd = { problem: undefined, listened_ms: 60_000, was_killed: true };
const crashed: ProcessEnd = { problem: undefined, listened_ms: undefined, was_killed: false };
const failed = (code: string): ProcessEnd => ({
  problem: { code, detail: "" },
  listened_ms: undefined,
  was_killed: false,
});

test("restarts a service that ran soon, however often it is killed", () => {
  const policy = createRestartPolicy();
  expect(Array.from({ length: 20 }, () => policy.next(killed))).toEqual(Array(20).fill(100));
});

test("backs off a service that ends at once and then gives up", () => {
  const policy = createRestartPolicy();
  expect(Array.from({ length: 6 }, () => policy.next(crashed))).toEqual([200, 400, 800, 1600, 3200, undefined]);
});

test("never gives up a service killed while working but increases pauses", () => {
  const policy = createRestartPolicy();
  const pauses = Array.from({ length: 20 }, () => policy.next({ ...killed, listened_ms: 300 }));
  expect(pauses.slice(0, 3)).toEqual([200, 400, 800]);
  expect(pauses.slice(10)).toEqual(Array(10).fill(10_000));
});

test("gives up a service killed before it ever listened", () => {
  const policy = createRestartPolicy();
  const pauses = Array.from({ length: 6 }, () => policy.next({ ...crashed, was_killed: true }));
  expect(pauses.at(-1)).toBeUndefined();
});

test("one good run resets earlier failures", () => {
  const policy = createRestartPolicy();
  for (let count = 0; count < 5; count++) policy.next(crashed);
  expect(policy.next(killed)).toBe(100);
  expect(policy.next(crashed)).toBe(200);
});

test("reports permanent problems at once and retries temporary ones", () => {
  expect(createRestartPolicy().next(failed("schema_mismatch"))).toBeUndefined();
  expect(createRestartPolicy().next(failed("worker_unavailable"))).toBeUndefined();
  expect(createRestartPolicy().next(failed("database_unavailable"))).toBe(200);
  const ranBefore = createRestartPolicy();
  ranBefore.next(killed);
  expect(ranBefore.next(failed("worker_unavailable"))).toBe(200);
  expect(ranBefore.next(failed("port_taken"))).toBeUndefined();
});

test("waits without limit for a full disk or a stopped PostgreSQL", () => {
  const policy = createRestartPolicy();
  policy.next(killed);
  const pauses = Array.from({ length: 20 }, () => policy.next(failed("disk_full")));
  expect(pauses.slice(0, 3)).toEqual([200, 400, 800]);
  expect(pauses.slice(10)).toEqual(Array(10).fill(10_000));
});
