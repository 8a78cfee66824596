import type { RouteRequest } from "@appdb/engine/routes/route";
import { aColumn, aTable } from "@appdb/testkit/manifest-builder";
import { linesOf, MANY_ROWS_MANIFEST, numbers } from "@appdb/testkit/many-rows";
import { openTestCatalog, type ServedRoutes, type TestCatalog } from "@appdb/testkit/test-catalog";
import { afterEach, beforeEach, expect, test } from "vitest";

let catalog: TestCatalog;
let served: ServedRoutes;
/** Each look at the clock takes `step`: with it, a client that sends nothing is slow. */
const clock = {
  step: 0,
  time: Date.now(),
  now: () => {
    clock.time += clock.step;
    return clock.time;
  },
};

beforeEach(async () => {
  clock.step = 0;
  catalog = await openTestCatalog();
  await catalog.apply(MANY_ROWS_MANIFEST);
  served = await catalog.serve(MANY_ROWS_MANIFEST, { deps: { clock } });
});

afterEach(async () => {
  await catalog[Symbol.asyncDispose]();
});

const ROWS = {
  "/plain": (id: string) => ({ sku: id, n: 1 }),
  "/docs": (id: string) => ({ title: id }),
} as const;

/** A request that sends 4,500 rows and then nothing, until `finish`. `waits`: its rows were taken. */
function slowInsert(path: keyof typeof ROWS, name: string, request: Partial<RouteRequest> = {}) {
  const waits = signal();
  const end = signal();
  const stream = (async function* () {
    yield Buffer.from(linesOf(numbers(4_500).map((n) => ROWS[path](`${name}${n}`))));
    waits.happen();
    await end.happened;
    yield Buffer.from(linesOf([ROWS[path](`${name} last`)]));
  })();
  const answer = served.send(path, { stream, id: name, ...request });
  return { answer, finish: end.happen, waits: waits.happened };
}

function insertOne(path: keyof typeof ROWS, request: Partial<RouteRequest> = {}, name = "fast") {
  const stream = (async function* () {
    yield Buffer.from(linesOf([ROWS[path](name)]));
  })();
  return served.send(path, { stream, ...request });
}

test.each(["/plain", "/docs"] as const)(
  "one slow client of %s leaves its slot to a request that waits",
  async (path) => {
    const slow = [slowInsert(path, "a"), slowInsert(path, "b")];
    await Promise.all(slow.map(({ waits }) => waits));
    clock.step = 1_000;
    expect((await insertOne(path)).status).toBe(200);
    clock.step = 0;
    for (const { finish } of slow) finish();
    const answers = await Promise.all(slow.map(({ answer }) => answer));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 408]);
    const ended = answers.find(({ status }) => status === 408)?.text ?? "";
    expect(JSON.parse(ended)).toMatchObject({
      code: "request_timeout",
      detail: expect.stringMatching(/^The client kept the database waiting for \d+ seconds\. .* Nothing was stored\.$/),
      hint: expect.any(String),
      meta: { limit_s: 10 },
    });
    expect(await catalog.count(path.slice(1))).toBe(4_502);
  },
);

test.each(["/plain", "/docs"] as const)("a slow client of %s ends when a change of its table waits", async (path) => {
  const slow = slowInsert(path, "a");
  await slow.waits;
  clock.step = 1_000;
  const note = aColumn("note", "string", { nullable: true });
  const tables = MANY_ROWS_MANIFEST.tables.map((table) =>
    `/${table.name}` === path ? aTable(table.name, [...table.columns, note]) : table,
  );
  await catalog.apply({ ...MANY_ROWS_MANIFEST, tables });
  const { status, text } = await slow.answer;
  expect([status, JSON.parse(text)]).toMatchObject([408, { code: "request_timeout", meta: { limit_s: 3 } }]);
  expect(await catalog.count(path.slice(1))).toBe(0);
  slow.finish();
});

test("a client that sends nothing at all leaves its slot too", async () => {
  const end = signal();
  const silent = [signal(), signal()].map((asked) => {
    const stream = (async function* (): AsyncGenerator<Uint8Array> {
      asked.happen();
      await end.happened;
      yield Buffer.from("\n");
    })();
    return { asked: asked.happened, answer: served.send("/plain", { stream }) };
  });
  await Promise.all(silent.map(({ asked }) => asked));
  clock.step = 1_000;
  expect((await insertOne("/plain")).status).toBe(200);
  clock.step = 0;
  end.happen();
  const statuses = await Promise.all(silent.map(async ({ answer }) => (await answer).status));
  expect(statuses.sort()).toEqual([200, 408]);
});

const caller = (id: string) => ({ caller: { id, reads_media: true } });
const sender = (address: string) => ({ sender: address });

test.each([
  ["key", caller("many"), caller("other"), caller("third")],
  ["address", sender("192.0.2.1"), sender("192.0.2.2"), sender("192.0.2.3")],
])("requests of one %s hold no other back; those of two hold a third back once", async (_what, mine, other, third) => {
  const all = Array.from({ length: 20 }, (_, at) => slowInsert("/plain", `${at} `, mine));
  await Promise.all(all.slice(0, 2).map(({ waits }) => waits));
  expect((await insertOne("/plain", other)).status).toBe(200);
  const second = slowInsert("/plain", "second ", other);
  await second.waits;
  clock.step = 1_000;
  expect((await insertOne("/plain", third, "third")).status).toBe(200);
  clock.step = 0;
  for (const { finish } of [...all, second]) finish();
  expect((await second.answer).status).toBe(200);
  const ended = await Promise.all(all.map(({ answer }) => answer));
  const [first, ...more] = ended.filter(({ status }) => status === 408).map(({ text }) => JSON.parse(text));
  expect([first, more]).toMatchObject([{ code: "request_timeout", meta: { limit_s: 3 } }, []]);
});

test("a slow body with an idempotency key has no slot until it has arrived", async () => {
  const slow = ["a", "b"].map((name) => slowInsert("/plain", name, { headers: { "idempotency-key": `key-${name}` } }));
  await Promise.all(slow.map(({ waits }) => waits));
  expect((await insertOne("/plain")).status).toBe(200);
  for (const { finish } of slow) finish();
  const statuses = await Promise.all(slow.map(async ({ answer }) => (await answer).status));
  expect(statuses).toEqual([200, 200]);
  expect(await catalog.count("plain")).toBe(9_003);
});

function signal(): { readonly happened: Promise<void>; readonly happen: () => void } {
  let happen = () => {};
  const happened = new Promise<void>((resolve) => {
    happen = resolve;
  });
  return { happened, happen };
}
