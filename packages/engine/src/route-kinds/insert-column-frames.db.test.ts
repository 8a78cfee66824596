import { type ManyRows, numbers, openManyRows } from "@appdb/testkit/many-rows";
import { afterEach, beforeEach, expect, test } from "vitest";
import { columnFrame, type FrameColumn, lineFrame, rawFrame } from "../rows/testing/column-frames.ts";

let manyRows: ManyRows;

beforeEach(async () => {
  manyRows = await openManyRows();
});

afterEach(async () => {
  await manyRows[Symbol.asyncDispose]();
});

const MINIMAL = { prefer: "return=minimal" };
const send = (path: string, frames: readonly Uint8Array[], headers: object = MINIMAL) =>
  manyRows.lines(path, Buffer.concat(frames), { has_columns: true, headers: { ...headers } });
const texts = (name: string, values: FrameColumn["values"]): FrameColumn => ({ name, form: "utf8", values });
const ints = (name: string, values: FrameColumn["values"]): FrameColumn => ({ name, form: "i64", values });
/** Rows of the table `direct` with these keys. */
const direct = (keys: readonly number[]) => columnFrame([texts("sku", keys.map(String)), ints("n", keys)]);
const keys = (from: number, to: number) => numbers(to - from).map((at) => from + at);

test("stores frames of columns and of lines in one request", async () => {
  await manyRows.serve();
  const lines = keys(3_000, 3_010).map((n) => JSON.stringify({ sku: String(n), n }));
  const frames = [
    direct(keys(0, 2_000)),
    direct(keys(2_000, 3_000)),
    lineFrame(lines.join("\n")),
    direct(keys(3_010, 3_020)),
  ];
  expect(await send("/direct", frames)).toMatchObject({ status: 200, text: '{"num_rows":3020}' });
  expect(await manyRows.rows("select count(*), sum(n), count(distinct sku) from direct")).toEqual([
    ["3020", "4558690", "3020"],
  ]);
});

test("accepts no rows, and a frame without rows", async () => {
  await manyRows.serve();
  for (const frames of [[], [direct([])], [direct([]), direct([1])]]) {
    expect((await send("/direct", frames)).status).toBe(200);
  }
  expect(await manyRows.rows("select count(*) from direct")).toEqual([["1"]]);
});

test("names the refused row by its number in the request and stores none", async () => {
  await manyRows.serve();
  const twice = await send("/direct", [direct(keys(0, 1_000)), direct([1_000, 5, 1_001])]);
  expect(JSON.parse(twice.text)).toMatchObject({ code: "unique_violation", meta: { row: 1_001 } });
  const wrong = columnFrame([texts("sku", ["a", "b"]), { name: "n", form: "f64", values: [1, 1.5] }]);
  const misfit = await send("/direct", [direct(keys(0, 10)), wrong, direct([11]), wrong]);
  expect(JSON.parse(misfit.text).errors).toEqual([
    { pointer: "/11/n", detail: "Line 12: n: Expected an integer, got 1.5." },
    { pointer: "/14/n", detail: "Line 15: n: Expected an integer, got 1.5." },
  ]);
  expect(await manyRows.rows("select count(*) from direct")).toEqual([["0"]]);
});

test("returns the stored rows if asked, like lines", async () => {
  await manyRows.serve();
  const answer = await send("/docs", [columnFrame([texts("title", ["a", "b"])])], {});
  expect(answer.text).toBe('{"loud":"A","title":"a"}\n{"loud":"B","title":"b"}\n');
});

test("computes columns by SQL and by Python", async () => {
  await manyRows.serve();
  expect(
    (
      await send("/docs", [
        columnFrame([
          texts(
            "title",
            keys(0, 1_200).map((n) => `ß${n}`),
          ),
        ]),
      ])
    ).status,
  ).toBe(200);
  expect(await manyRows.rows("select count(*) from docs where loud = upper(title)")).toEqual([["1200"]]);
  expect((await send("/rides", [columnFrame([ints("km", keys(0, 1_200))])])).status).toBe(200);
  expect(await manyRows.rows("select count(*), sum(tax) from rides")).toEqual([["1200", "719400"]]);
  expect((await send("/items", [columnFrame([texts("sku", ["a", "b"]), ints("n", [1, 5])])])).status).toBe(200);
  expect(await manyRows.rows("select inv from items order by sku")).toEqual([["10"], ["2"]]);
});

test("a request with an idempotency key is stored once", async () => {
  await manyRows.serve();
  const once = { ...MINIMAL, "idempotency-key": "a" };
  const first = await send("/direct", [direct([1, 2])], once);
  expect(first).toMatchObject({ status: 200, text: '{"num_rows":2}' });
  expect(await send("/direct", [direct([1, 2])], once)).toMatchObject({ status: 200, text: first.text });
  expect(await manyRows.rows("select count(*) from direct")).toEqual([["2"]]);
});

test("the limits of a request count", async () => {
  await manyRows.serve({ insert_rows: 100, body_bytes: 1_000 });
  expect(JSON.parse((await send("/direct", [direct(keys(0, 60)), direct(keys(60, 120))])).text)).toMatchObject({
    code: "payload_too_large",
    meta: { limit: "insert_rows" },
  });
  const long = columnFrame([texts("sku", ["a", "b".repeat(1_001)]), ints("n", [1, 2])]);
  expect(JSON.parse((await send("/direct", [direct([1]), long])).text)).toMatchObject({
    code: "payload_too_large",
    meta: { line: 3 },
  });
  expect((await send("/direct", [direct(keys(0, 100))])).status).toBe(200);
  const huge = Buffer.from([0xff, 0xff, 0xff, 0x7f]);
  expect(JSON.parse((await send("/direct", [huge])).text)).toMatchObject({ code: "payload_too_large" });
  expect(await manyRows.rows("select count(*) from direct")).toEqual([["100"]]);
});

const header = (columns: unknown, rows: unknown = 1) => JSON.stringify({ rows, columns });
const BROKEN: Readonly<Record<string, Uint8Array>> = {
  "a cut frame": direct([1]).subarray(0, 30),
  "a header that is not JSON": rawFrame("{", Buffer.alloc(0)),
  "a header without rows": rawFrame("{}", Buffer.alloc(0)),
  "a negative number of rows": rawFrame(header([], -1), Buffer.alloc(0)),
  "rows without a column": rawFrame(header([], 2), Buffer.alloc(0)),
  "millions of rows": rawFrame(header([{ name: "n", form: "i64", nulls: false }], 10_001), Buffer.alloc(80_008)),
  "columns that are no list": rawFrame(header(1), Buffer.alloc(0)),
  "a column without a name": rawFrame(header([{ form: "i64", nulls: false }]), Buffer.alloc(8)),
  "an unknown form": rawFrame(header([{ name: "n", form: "i128", nulls: false }]), Buffer.alloc(16)),
  "a form of every object": rawFrame(header([{ name: "n", form: "toString", nulls: false }]), Buffer.alloc(16)),
  "a column that is cut": rawFrame(header([{ name: "n", form: "i64", nulls: false }]), Buffer.alloc(7)),
  "bytes after the last column": rawFrame(header([{ name: "n", form: "i64", nulls: false }]), Buffer.alloc(9)),
  "lengths beyond the frame": rawFrame(header([{ name: "sku", form: "utf8", nulls: false }]), Buffer.alloc(4, 0xff)),
  "a header longer than its frame": Buffer.from([4, 0, 0, 0, 99, 0, 0, 0]),
  "a frame without a header": Buffer.from([1, 0, 0, 0, 0]),
};

test.each(Object.entries(BROKEN))("refuses %s and stores nothing", async (_, frame) => {
  await manyRows.serve();
  const answer = await send("/direct", [direct([7]), frame]);
  expect(answer).toMatchObject({ status: 422 });
  expect(JSON.parse(answer.text).code).toBe("invalid_request");
  expect(await manyRows.rows("select count(*) from direct")).toEqual([["0"]]);
});

test.each([
  ["bytes that are not UTF-8", Buffer.from([0xff])],
  ["half a character at the end of a text", Buffer.from("ä").subarray(0, 1)],
])("refuses %s", async (_, text) => {
  await manyRows.serve();
  const answer = await send("/direct", [
    columnFrame([{ name: "sku", form: "utf8", values: [text, "b"] }, ints("n", [1, 2])]),
  ]);
  expect(JSON.parse(answer.text)).toMatchObject({
    code: "invalid_request",
    errors: [{ pointer: "/0", detail: expect.stringContaining("not UTF-8") }],
  });
});

test("texts are not joined across the ends of their characters", async () => {
  await manyRows.serve();
  const [first, second] = [Buffer.from("ä").subarray(0, 1), Buffer.from("ä").subarray(1)];
  const answer = await send("/direct", [
    columnFrame([{ name: "sku", form: "utf8", values: [first, second] }, ints("n", [1, 2])]),
  ]);
  expect(JSON.parse(answer.text)).toMatchObject({
    code: "invalid_request",
    errors: [{ pointer: "/0" }, { pointer: "/1" }],
  });
});

test("a refused frame ends the request before the rest is sent", async () => {
  await manyRows.serve();
  let sent = 0;
  const stream = (async function* () {
    for (; sent < 100; sent += 1) yield sent === 3 ? rawFrame("{}", Buffer.alloc(0)) : direct([sent]);
  })();
  const answer = await manyRows.send("/direct", {
    stream,
    has_columns: true,
    headers: MINIMAL,
    signal: new AbortController().signal,
  });
  expect(answer.status).toBe(422);
  expect(sent).toBeLessThan(10);
});
