import { appError } from "@appdb/contract/errors";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { type FastifyInstance, fastify } from "fastify";
import { afterEach, beforeEach, expect, test } from "vitest";
import { addDrain } from "../http/drain.ts";
import { LineStreams } from "./line-streams.ts";

const PULSE_MS = 25;
let mayRead: boolean;
let streams: LineStreams;
let log: ReturnType<typeof createSilentLog>;
let url: string;
let app: FastifyInstance;
/** The route's generator. */
let lines: (signal: AbortSignal) => AsyncGenerator<object>;
beforeEach(async () => {
  mayRead = true;
  log = createSilentLog();
  streams = new LineStreams({ log, mayStillRead: async () => mayRead }, PULSE_MS);
  app = fastify();
  addDrain(app);
  app.get("/", async (request, reply) => streams.serve(request, reply, lines));
  url = await app.listen({ port: 0, host: "127.0.0.1" });
});
afterEach(() => app.close());

async function* never(signal: AbortSignal) {
  yield { n: 1 };
  await new Promise((resolve) => signal.addEventListener("abort", resolve));
}

/** Reads until the stream ends or breaks off. */
async function read(onText: (text: string) => void = () => undefined): Promise<string> {
  const response = await fetch(url);
  let text = "";
  const decoder = new TextDecoder();
  try {
    for await (const piece of response.body ?? []) {
      text += decoder.decode(piece);
      onText(text);
    }
    return `${text}END`;
  } catch {
    return `${text}CUT`;
  }
}

test("sends its lines and ends", async () => {
  lines = async function* () {
    for (let n = 1; n <= 3; n++) yield { n };
  };
  expect(await read()).toBe('{"n":1}\n{"n":2}\n{"n":3}\nEND');
  lines = async function* () {
    yield* Array.from({ length: 2_000 }, () => ({ text: "x".repeat(1_000) }));
  };
  expect(await read()).toHaveLength(2_000 * 1_012 + 3);
});

test.each([
  ["info", "a pod that stops", appError("database_not_reached", { detail: "It does not answer." })],
  ["warn", "an unexpected error", new Error("broken")],
])("logs %s for %s", async (level, _what, error) => {
  lines = async function* () {
    yield { n: 1 };
    throw error;
  };
  expect(await read()).toContain("CUT");
  expect(log.lines).toMatchObject([{ level, message: "an answer of lines was interrupted" }]);
});

test("sends pulses while idle, and breaks off when the server stops", async () => {
  lines = never;
  const text = await read((seen) => {
    if (seen.endsWith("\n\n\n")) streams.end();
  });
  expect(text).toMatch(/^\{"n":1\}\n\n\n+CUT$/);
});

test("breaks off when its reader loses the permission", async () => {
  lines = never;
  const text = await read((seen) => {
    if (seen.includes('{"n":1}\n')) mayRead = false;
  });
  expect(text).toMatch(/CUT$/);
});

test("breaks off when its source fails, without a clean end", async () => {
  lines = async function* () {
    yield { n: 1 };
    throw new Error("lost");
  };
  expect(await read()).toMatch(/CUT$/);
});

test("stops reading when its reader leaves", async () => {
  const left = new Promise<void>((resolve) => {
    lines = async function* (signal) {
      yield* never(signal);
      resolve();
    };
  });
  const stop = new AbortController();
  const response = await fetch(url, { signal: stop.signal });
  await response.body?.getReader().read();
  stop.abort();
  await left;
});
