import { expect, test } from "vitest";
import { FREE_BYTES } from "./arriving-bodies.ts";
import { OPEN_REQUESTS, OpenComputes } from "./open-computes.ts";

/** Half of the largest body. */
const BODY = 1_000_000;
const OVERLOADED = expect.objectContaining({ code: "overloaded" });
const TOO_MANY_BYTES = expect.objectContaining({
  code: "overloaded",
  meta: { limit: "body_bytes", value: 2 * BODY },
  hint: expect.stringContaining("SERVICE_BODY_BYTES"),
});

function opened() {
  const clock = { ms: 0 };
  return { clock, computes: new OpenComputes({ body_bytes: 2 * BODY }, () => clock.ms) };
}

/** A body whose pieces arrive one by one; `undefined` never arrives. */
async function* piecesOf(...sizes: (number | undefined)[]): AsyncGenerator<Uint8Array> {
  for (const size of sizes) {
    if (size === undefined) await new Promise(() => undefined);
    else yield new Uint8Array(size);
  }
}

function reading(computes: OpenComputes, ...sizes: (number | undefined)[]) {
  const open = computes.open();
  const pieces = open.counted(piecesOf(...sizes))[Symbol.asyncIterator]();
  return { open, next: () => pieces.next() };
}

test("bytes that arrived count together until they are computed", async () => {
  const { computes } = opened();
  const first = reading(computes, BODY, BODY);
  await first.next();
  const second = reading(computes, BODY, 2 * FREE_BYTES, 1);
  await second.next();
  await second.next();
  await expect(second.next()).rejects.toThrow(TOO_MANY_BYTES);
  second.open[Symbol.dispose]();
  second.open[Symbol.dispose]();
  first.open.batchRead();
  first.open.batchComputed();
  // its rows stay in memory until more arrives
  expect(() => computes.hold(1.5 * BODY)).toThrow(TOO_MANY_BYTES);
  await first.next();
  first.open[Symbol.dispose]();
  computes.hold(2 * BODY);
});

test("after a computed batch, what arrives next replaces all but the last piece", async () => {
  const { computes } = opened();
  const { next, open } = reading(computes, BODY, BODY / 2, 0);
  await next();
  await next();
  open.batchRead();
  open.batchComputed();
  await next();
  computes.hold(1.5 * BODY + 2 * FREE_BYTES)[Symbol.dispose]();
  expect(() => computes.hold(1.5 * BODY + 2 * FREE_BYTES + 1)).toThrow(TOO_MANY_BYTES);
});

test("the error names what raises the limit", () => {
  const computes = new OpenComputes({ body_bytes: BODY, raise_bodies: "raise memory_mb of the database" });
  const hint = expect.stringMatching(/raise memory_mb of the database\.$/);
  expect(() => computes.hold(2 * BODY)).toThrow(expect.objectContaining({ code: "overloaded", hint }));
});

test("small bodies are computed when no bytes are left", async () => {
  const { computes } = opened();
  computes.hold(2 * BODY + FREE_BYTES);
  expect(() => computes.hold(FREE_BYTES + 1)).toThrow(TOO_MANY_BYTES);
  computes.hold(FREE_BYTES);
  const { next } = reading(computes, FREE_BYTES);
  expect((await next()).value).toHaveLength(FREE_BYTES);
});

test("a request beyond the open ones is refused until one ends", () => {
  const { computes } = opened();
  const [first] = Array.from({ length: OPEN_REQUESTS }, () => computes.open());
  expect(() => computes.open()).toThrow(OVERLOADED);
  first?.[Symbol.dispose]();
  computes.open();
});

test("the slowest sender loses its place to another request", async () => {
  const { clock, computes } = opened();
  // has a batch, and a request whose rows came with it waits for nothing
  const busy = reading(computes, 10, undefined);
  await busy.next();
  busy.open.batchRead();
  computes.open();
  const slow = reading(computes, undefined);
  const ended = expect(slow.next()).rejects.toMatchObject({
    code: "overloaded",
    meta: { waited_s: 12 },
  });
  clock.ms += 6_000;
  for (let at = 3; at < OPEN_REQUESTS; at++) void reading(computes, undefined).next();
  expect(() => computes.open()).toThrow(OVERLOADED);
  clock.ms += 6_000;
  computes.open();
  await ended;
  expect(() => computes.open()).toThrow(OVERLOADED);
  // its end frees no second place
  slow.open[Symbol.dispose]();
  expect(() => computes.open()).toThrow(OVERLOADED);
});

test("a slow sender loses its bytes to another request", async () => {
  const { clock, computes } = opened();
  const idle = reading(computes, 10, undefined);
  await idle.next();
  const slow = reading(computes, BODY, undefined);
  await slow.next();
  const ended = expect(slow.next()).rejects.toMatchObject({ code: "overloaded", meta: { waited_s: 12 } });
  clock.ms += 6_000;
  const other = reading(computes, BODY, 1.5 * BODY);
  await other.next();
  expect(() => computes.hold(BODY)).toThrow(TOO_MANY_BYTES);
  clock.ms += 6_000;
  computes.hold(BODY)[Symbol.dispose]();
  await ended;
  // the request that needs them does not end itself
  clock.ms += 60_000;
  await expect(other.next()).rejects.toThrow(TOO_MANY_BYTES);
});

test("a client that sends whole batches keeps its place", async () => {
  const { clock, computes } = opened();
  const steady = reading(computes, 10, 10);
  await steady.next();
  for (let at = 1; at < OPEN_REQUESTS; at++) computes.open();
  clock.ms += 60_000;
  steady.open.batchRead();
  steady.open.batchComputed();
  clock.ms += 9_000;
  expect(() => computes.open()).toThrow(OVERLOADED);
  expect((await steady.next()).value).toHaveLength(10);
});
