import type { ColumnType } from "@appdb/contract/types";
import { createPgPool } from "@appdb/postgres/client/pg-pool";
import { createTestDatabase, type TestDatabase } from "@appdb/testkit/test-database";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Random } from "../expressions/testing/random.ts";
import { storageType } from "../kinds/storage-type.ts";
import { ResultTooLarge, type SqlPool } from "../ports.ts";
import { quoteLiteral } from "../sql/quote.ts";
import { compileJsonRows } from "./json-rows.ts";
import { compileRows } from "./render-rows.ts";

/** The JSON of rows is equal whether it is made from bytes or from strings. */
let database: TestDatabase;
let sql: SqlPool;

beforeAll(async () => {
  database = await createTestDatabase();
  sql = createPgPool({ dsn: database.dsn, max: 2, application_name: "json rows test" });
});

afterAll(async () => {
  await sql[Symbol.asyncDispose]();
  await database.drop();
});

const LONG = "a text that is longer than what is copied byte by byte, and then some";
const EVERY_CHARACTER = Array.from({ length: 0x2fff }, (_none, at) => String.fromCodePoint(at + 1)).join("");
const KINDS: readonly { readonly type: ColumnType; readonly texts: readonly (string | null)[] }[] = [
  {
    type: { kind: "string" },
    texts: [
      "",
      "plain",
      'a "b" \\ c',
      "\u0001\t\n\u001f\u007f",
      "é\u2028\u{1f600}",
      LONG,
      `${LONG}"`,
      EVERY_CHARACTER,
      null,
    ],
  },
  { type: { kind: "int" }, texts: ["0", "-1", "9223372036854775807", "-9223372036854775808", null] },
  {
    type: { kind: "float" },
    texts: [
      "0",
      "-0",
      "1",
      "-1.5",
      "0.1",
      "1e15",
      "1e16",
      "1e20",
      "123456789012345680000",
      "1e21",
      "1e22",
      "-1e300",
      "0.0001",
      "0.00001",
      "0.000001",
      "1e-7",
      "5e-324",
      "1.7976931348623157e308",
      "NaN",
      "Infinity",
      "-Infinity",
      "1e5",
      null,
    ],
  },
  { type: { kind: "bool" }, texts: ["true", "false", null] },
  {
    type: { kind: "timestamp" },
    texts: [
      "2024-01-02 03:04:05+00",
      "2024-01-02 03:04:05.6+00",
      "2024-01-02 03:04:05.678901+02",
      "1969-12-31 23:59:59.999999Z",
      "0001-01-01 00:00:00+00",
      "9999-12-31 23:59:59.999999+00",
      "10000-01-01 00:00:00.5+00",
      "0044-03-15 00:00:00+00 BC",
      "infinity",
      "-infinity",
      null,
    ],
  },
  { type: { kind: "date" }, texts: ["2024-02-29", "0001-01-01", "9999-12-31", null] },
  { type: { kind: "uuid" }, texts: ["0190163d-8694-739b-aea5-966c26f8ad91", null] },
  {
    type: { kind: "json" },
    texts: ["null", "{}", '{"b": 1.50, "a": [1e400, "\\u0001é"]}', `{"long": "${LONG}${LONG}"}`, "  [1 , 2]  ", null],
  },
  { type: { kind: "binary" }, texts: ["", "\\x00ff10", `\\x${"ab".repeat(100)}`, null] },
  { type: { kind: "array", dtype: "float64", shape: [null] }, texts: ["{}", "{1,2.5,1e21,-0}", null] },
  { type: { kind: "array", dtype: "string", shape: [null] }, texts: ['{"a \\" b",c,"NULL"}', null] },
  { type: { kind: "array", dtype: "int64", shape: [null, 2] }, texts: ["{{1,2},{3,9223372036854775807}}", null] },
];

function valueSql(type: ColumnType, text: string | null): string {
  return text === null ? `null::${storageType(type)}` : `${quoteLiteral(text)}::${storageType(type)}`;
}

async function both(types: readonly ColumnType[], text: string, returnScalar: boolean) {
  const outputs = types.map((type, at) => ({
    name: at === 0 ? 'first "é" one' : `c${at}`,
    type,
    nullable: true,
    from: { sql: at },
  }));
  const render = compileRows({ outputs }, returnScalar);
  const strings = await sql.query({ text });
  const rows = compileJsonRows(outputs, returnScalar)(Number.POSITIVE_INFINITY);
  await sql.query({ text, take_row: rows.take_row });
  return {
    count: rows.count,
    bytes: rows.finish(),
    strings: strings.rows.map((row) => render(row)).join(","),
  };
}

test("JSON from bytes equals JSON from strings, for every kind", async () => {
  for (const { type, texts } of KINDS) {
    const text = texts.map((value) => `select ${valueSql(type, value)}`).join(" union all ");
    for (const returnScalar of [true, false]) {
      const { count, bytes, strings } = await both([type], text, returnScalar);
      expect(bytes, type.kind).toBe(strings);
      expect(count).toBe(texts.length);
    }
  }
  const types = KINDS.map(({ type }) => type);
  const rows = Array.from({ length: 40 }, (_none, at) =>
    KINDS.map(({ type, texts }, kind) => valueSql(type, texts[(at * 7 + kind) % texts.length] ?? null)).join(", "),
  );
  const { bytes, strings } = await both(types, rows.map((row) => `select ${row}`).join(" union all "), false);
  expect(bytes).toBe(strings);
});

test("floats and times of any size give equal JSON", async () => {
  const random = new Random(1);
  const bits = Array.from({ length: 3000 }, () => {
    const view = new DataView(new ArrayBuffer(8));
    view.setUint32(0, Math.floor(random.next() * 2 ** 32));
    view.setUint32(4, Math.floor(random.next() * 2 ** 32));
    const small = (random.next() - 0.5) * 10 ** Math.floor(random.next() * 40 - 18);
    return [view.getFloat64(0), small].map((value) => `(${quoteLiteral(String(value))}::float8)`).join(", ");
  });
  const floats = await both([{ kind: "float" }], `values ${bits.join(", ")}`, true);
  expect(floats.bytes).toBe(floats.strings);
  const times = await both(
    [{ kind: "timestamp" }],
    "select '0001-01-01Z'::timestamptz + (n * 105189123456 + n % 11) * interval '3 microseconds' from generate_series(0, 999) n",
    true,
  );
  expect(times.bytes).toBe(times.strings);
});

test("rows larger than a packet arrive whole on a reused sheet", async () => {
  const begin = compileJsonRows([{ name: "a", type: { kind: "string" } }], true);
  for (const size of [300_000, 10, 0, 70_000, 65_530]) {
    const rows = begin(Number.POSITIVE_INFINITY);
    await sql.query({ text: `select repeat('é', ${size}) from generate_series(1, 3)`, take_row: rows.take_row });
    const one = `"${"é".repeat(size)}"`;
    expect(rows.finish() === [one, one, one].join(","), String(size)).toBe(true);
  }
});

test("no rows give an empty text; rows without columns give empty objects", async () => {
  const none = await both([{ kind: "int" }], "select 1 where false", false);
  expect(none).toEqual({ count: 0, bytes: "", strings: "" });
  const bare = compileJsonRows([], false)(100);
  await sql.query({ text: "select 1 from generate_series(1, 2)", take_row: bare.take_row });
  expect([bare.count, bare.finish()]).toEqual([2, "{},{}"]);
});

test("rows beyond the byte limit are not written, and PostgreSQL is stopped", async () => {
  const rows = compileJsonRows([{ name: "a", type: { kind: "string" } }], true)(1000);
  await sql.query({ text: "select repeat('\"', 300) from generate_series(1, 100)", take_row: rows.take_row });
  expect(rows.is_full).toBe(true);
  expect(rows.finish().length).toBeLessThan(2000);

  let taken = 0;
  const endless = sql.query({
    text: "select repeat('x', 1000), generate_series(1, 2000000000)",
    max_bytes: 100_000,
    take_row: (_bytes, start, end) => {
      taken += end - start;
    },
  });
  await expect(endless).rejects.toBeInstanceOf(ResultTooLarge);
  expect(taken).toBeLessThanOrEqual(100_000);
});

test("a row reader that throws fails its statement with that error", async () => {
  let taken = 0;
  const failing = sql.query({
    text: "select repeat('x', 1000), generate_series(1, 2000000000)",
    take_row: () => {
      taken += 1;
      if (taken === 3) throw new TypeError("no such row");
    },
  });
  await expect(failing).rejects.toThrow(new TypeError("no such row"));
  expect(taken).toBe(3);
  expect((await sql.query({ text: "select 'kept'" })).rows).toEqual([["kept"]]);
});

test("a statement that fails after some rows leaves the connection usable", async () => {
  let taken = 0;
  const failing = sql.query({ text: "select 1 / (3 - n) from generate_series(1, 5) n", take_row: () => void taken++ });
  await expect(failing).rejects.toMatchObject({ sqlstate: "22012" });
  expect(taken).toBe(2);
  expect((await sql.query({ text: "select 'kept'" })).rows).toEqual([["kept"]]);
});
