import { expect, test } from "vitest";
import type { QueryRunner } from "../queries/query-runner.ts";
import { LiveQuery } from "./live-query.ts";
import { LiveStream } from "./live-stream.ts";

const NO_RUNNER = {} as QueryRunner;
const answer = (...numbers: number[]) => ({
  count: numbers.length,
  text: numbers.map((n) => `{"n":${n}}`).join(","),
  rows: numbers.map((n) => ({ id: `i${n}`, text: `{"n":${n}}` })),
});

test("a quiet stream sends heartbeats and continues with events", async () => {
  const live = new LiveQuery("k", NO_RUNNER, new Map());
  live.update(answer(1));
  let ends = 0;
  const onEnd = () => {
    ends += 1;
  };
  const stream = new LiveStream(live, undefined, onEnd, 1);
  live.streams.add(stream);
  expect((await stream.next()).value).toMatch(/^retry: 1000\n\nevent: result\n/);
  expect((await stream.next()).value).toBe(": \n\n");
  expect((await stream.next()).value).toBe(": \n\n");
  live.update(answer(1, 2));
  expect((await stream.next()).value).toMatch(/^event: (change|result)\n.*"n":2/s);
  expect((await stream.next()).value).toBe(": \n\n");
  stream.end("event: problem\n\n");
  expect(await stream.next()).toEqual({ done: false, value: "event: problem\n\n" });
  expect(await stream.next()).toEqual({ done: true, value: undefined });
  expect(ends).toBe(1);
});

test("events on a quiet stream are sent at once", async () => {
  const live = new LiveQuery("k", NO_RUNNER, new Map());
  live.update(answer(1));
  const stream = new LiveStream(live, undefined, () => undefined);
  live.streams.add(stream);
  await stream.next();
  const next = stream.next();
  live.update(answer(2));
  stream.wake();
  expect((await next).value).toContain('"n":2');
});
