import { setImmediate } from "node:timers/promises";
import type { FormReader } from "@appdb/engine/ports";
import { ArrivingBodies, FREE_BYTES } from "@appdb/engine/routes/arriving-bodies";
import type { CompiledRoute } from "@appdb/engine/routes/route";
import { eventually } from "@appdb/testkit/eventually";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type ServedEndpoints, serveEndpoints } from "./serve-endpoints.ts";
import { countForms, maxWholeBytes } from "./whole-bodies.ts";

const BODY_BYTES = 200_000;

test.each([
  [16_000_000, 256, 16_000_000],
  [16_000_000, 1_024, 64_000_000],
  [16_000_000, 4_096, 256_000_000],
  [16_000_000, 64_000, 256_000_000],
  [100_000_000, 1_024, 100_000_000],
])("with bodies of %s bytes and %s MB of memory, all bodies have %s bytes", (bodyBytes, memoryMb, bytes) => {
  expect(maxWholeBytes(bodyBytes, memoryMb)).toBe(bytes);
});

const TEXTS = { bodies: "Bodies", slow: () => "Nothing arrived.", raise: "raise memory_mb of the database" };

let served: ServedEndpoints;
/** Ends the requests that are handled. */
let finish: () => void;
let handled: number;

beforeEach(async () => {
  let end = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  finish = end;
  handled = 0;
  const route: CompiledRoute = {
    service: "s",
    method: "POST",
    path: "/rows",
    uses_python: false,
    takes_signal: false,
    handle: async ({ body }) => {
      handled += 1;
      if (body.length > FREE_BYTES) await ended;
      return { status: 200, headers: {}, body: `${body.length}` };
    },
  };
  served = await serveEndpoints({ services: ["s"], routes: [route], openapi: () => "{}" } as never, {
    host: "127.0.0.1",
    port: 0,
    log: createSilentLog(),
    body_bytes: BODY_BYTES,
    bodies: twoBodies(),
  });
});

afterEach(async () => {
  finish();
  await served[Symbol.asyncDispose]();
});

function twoBodies(now?: () => number) {
  return new ArrivingBodies(2 * BODY_BYTES, TEXTS, now);
}

async function post(bytes: number, path = "/rows") {
  const response = await fetch(`http://127.0.0.1:${served.port}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: " ".repeat(bytes),
  });
  return { status: response.status, again: response.headers.get("retry-after"), text: await response.text() };
}

test("large bodies count until their requests are answered, and small ones do not", async () => {
  const first = [post(BODY_BYTES), post(BODY_BYTES)];
  await eventually(() => expect(handled).toBe(2));
  const refused = await post(BODY_BYTES);
  expect([refused.status, refused.again, JSON.parse(refused.text)]).toMatchObject([
    503,
    "1",
    { code: "overloaded", meta: { limit: "body_bytes", value: 2 * BODY_BYTES } },
  ]);
  expect(refused.text).toContain("or raise memory_mb of the database.");
  expect(await post(FREE_BYTES)).toMatchObject({ status: 200, text: `${FREE_BYTES}` });
  finish();
  for (const one of first) expect(await one).toMatchObject({ status: 200, text: `${BODY_BYTES}` });
  expect((await post(BODY_BYTES)).status).toBe(200);
});

test("bodies of unknown paths and refused bodies do not stay counted", async () => {
  finish();
  for (let n = 0; n < 4; n++) {
    expect((await post(BODY_BYTES, "/unknown")).status).toBe(404);
    expect((await post(BODY_BYTES + 1)).status).toBe(413);
  }
  expect((await post(BODY_BYTES)).status).toBe(200);
});

/** Reads a form whose whole body is a field. */
const FIELDS: FormReader = {
  async read(body, _type, { countFields }) {
    for await (const { length } of body) countFields?.(length);
    return { fields: [], files: [], async [Symbol.asyncDispose]() {} };
  },
};

/** Arrives at once, except of its end. */
async function* pieces(bytes: number, end?: Promise<void>) {
  yield Buffer.alloc(bytes);
  await end;
}

const LIMITS = { field_bytes: BODY_BYTES, file_bytes: 0, files: [] };

test("the fields of forms count until the forms are disposed", async () => {
  const forms = countForms(FIELDS, twoBodies());
  const read = () => forms.read(pieces(BODY_BYTES), "", LIMITS);
  const all = [await read(), await read()];
  await expect(read()).rejects.toMatchObject({ code: "overloaded" });
  await all[0]?.[Symbol.asyncDispose]();
  await read();
  await expect(read()).rejects.toMatchObject({ code: "overloaded" });
});

test("a slow form loses its bytes to another body", async () => {
  let now = 0;
  const bodies = twoBodies(() => now);
  const forms = countForms(FIELDS, bodies);
  const never = new Promise<void>(() => undefined);
  const slow = forms.read(pieces(2 * BODY_BYTES, never), "", LIMITS);
  slow.catch(() => undefined);
  await setImmediate();
  const other = bodies.begin(() => undefined);
  expect(() => other.add(BODY_BYTES)).toThrow("more than");
  now += 12_000;
  other.add(BODY_BYTES);
  await expect(slow).rejects.toMatchObject({ code: "overloaded", meta: { waited_s: 12 } });
});
