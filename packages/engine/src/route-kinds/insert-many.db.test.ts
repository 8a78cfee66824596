import { setTimeout as sleep } from "node:timers/promises";
import { aComputed, aTable, call, col } from "@appdb/testkit/manifest-builder";
import {
  DOCS,
  ITEMS,
  linesOf,
  MANY_ROWS_MANIFEST,
  type ManyRows,
  numbers,
  openManyRows,
  PLAIN,
  PLAIN_INPUTS,
  RIDES,
} from "@appdb/testkit/many-rows";
import { afterEach, beforeEach, expect, test } from "vitest";

let manyRows: ManyRows;

beforeEach(async () => {
  manyRows = await openManyRows();
});

afterEach(async () => {
  await manyRows[Symbol.asyncDispose]();
});

test("arrays get arrays and lines get lines, in the order sent", async () => {
  await manyRows.serve();
  const sent = numbers(5_003).map((n) => ({ title: `straße ${n}` }));
  const wanted = sent.map(({ title }) => ({ loud: title.toUpperCase(), title }));
  const asArray = await manyRows.array("/docs", sent);
  expect(asArray.status).toBe(200);
  expect(JSON.parse(asArray.text)).toEqual(wanted);
  const asLines = await manyRows.lines("/docs", linesOf(sent));
  expect(asLines.headers["content-type"]).toBe("application/x-ndjson");
  expect(
    asLines.text
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line)),
  ).toEqual(wanted);
  expect(Number(asLines.headers["content-length"])).toBe(Buffer.byteLength(asLines.text));
  expect(await manyRows.rows("select count(*), count(distinct id) from docs")).toEqual([["10006", "10006"]]);
});

test("accepts blank lines, spaces, no final newline and no rows", async () => {
  await manyRows.serve();
  const answer = await manyRows.lines("/docs", '\r\n{"title": "a"}\r\n\n  {"title":"b"}  \n   \n{"title":"c"}');
  expect(answer.text).toBe('{"loud":"A","title":"a"}\n{"loud":"B","title":"b"}\n{"loud":"C","title":"c"}\n');
  expect(await manyRows.lines("/docs", "")).toMatchObject({ status: 200, text: "" });
  expect(await manyRows.array("/docs", " [ ] ")).toMatchObject({ status: 200, text: "[]" });
  expect((await manyRows.array("/docs", '\n[ {"title":"]},["} , {"title":"\\"\\\\"} ]\t')).text).toBe(
    '[{"loud":"]},[","title":"]},["},{"loud":"\\"\\\\","title":"\\"\\\\"}]',
  );
});

test("stores every type in the same way as a single row", async () => {
  await manyRows.serve();
  const row = (sku: string) => ({
    sku,
    n: -9007199254740991,
    price: -0.1,
    ok: false,
    at: "2024-02-29T23:30:00.0001+02:00",
    day: "2024-02-29",
    tag: "0190a3c4-0000-7000-8000-00000000000f",
    doc: { z: ["\\n", "a\tb\nc\r", '"', "\u2028", "\\."], a: null },
    blob: "AAECXFxu/w==",
    parts: [
      [1.5, -2],
      [0, 3e-7],
    ],
    words: ["a,b", '"', "\\", "NULL", "", "tab\t", "line\n"],
  });
  const texts = ["\\N", "\\.", "a\tb", "line\nline", "\r", "\\\\n", "ä€😀", "", "NULL", "x"];
  const nulls = (sku: string) => ({ sku, n: 1 });
  for (const text of texts) {
    const alone = await manyRows.one("/plain", row(text));
    const [many] = (await manyRows.lines("/plain", linesOf([row(`${text}2`)]))).text.split("\n");
    expect([alone.status, many]).toEqual([200, alone.text.replace(JSON.stringify(text), JSON.stringify(`${text}2`))]);
  }
  expect((await manyRows.lines("/plain", linesOf([nulls("n")]))).status).toBe(200);
  const others = PLAIN_INPUTS.slice(1).join(", ");
  expect(
    await manyRows.rows(`select count(*) from (select distinct ${others.replace("doc", "doc::text")} from plain) a`),
  ).toEqual([["2"]]);
  const stored = await manyRows.rows("select sku from plain order by sku");
  expect(stored.map(([sku]) => sku).sort()).toEqual(["n", ...texts, ...texts.map((text) => `${text}2`)].sort());
});

test("an Int above 2^53 keeps its digits, and Json its text", async () => {
  await manyRows.serve();
  const answer = await manyRows.array(
    "/plain",
    '[{"sku":"a","n":9223372036854775807,"doc":{"z": 1.50, "a": [9007199254740993]}}]',
  );
  expect(JSON.parse(answer.text)).toHaveLength(1);
  expect(await manyRows.rows("select n, doc from plain")).toEqual([
    ["9223372036854775807", '{"z": 1.50, "a": [9007199254740993]}'],
  ]);
});

test("Python makes values that SQL cannot, in the same transaction", async () => {
  manyRows.steps.inv = ({ n }) => (Number(n) === 0 ? 0.25 : 10 / Number(n));
  await manyRows.serve();
  const answer = await manyRows.array("/items", [
    { sku: "a", n: 4 },
    { sku: "b", n: 0 },
  ]);
  expect(JSON.parse(answer.text)).toEqual([
    { sku: "a", inv: 2.5 },
    { sku: "b", inv: 0.25 },
  ]);
  expect(await manyRows.rows("select sku, inv from items order by sku")).toEqual([
    ["a", "2.5"],
    ["b", "0.25"],
  ]);
});

test("an older service continues after added columns and stops after a drop", async () => {
  await manyRows.serve();
  const added = [
    aTable("docs", [...DOCS.columns, aComputed("low", call("string.lower", "string", col("title", "string")))]),
    aTable("plain", [...PLAIN.columns, aComputed("low", call("string.lower", "string", col("sku", "string")))]),
  ];
  await manyRows.apply({ ...MANY_ROWS_MANIFEST, tables: [...added, ITEMS, RIDES] });
  expect((await manyRows.array("/docs", [{ title: "a" }, { title: "b" }])).status).toBe(200);
  expect((await manyRows.array("/plain", [{ sku: "a", n: 1 }])).status).toBe(200);
  expect(await manyRows.rows("select _errors from docs union all select _errors from plain")).toEqual(
    Array(3).fill(['{"low": "pending"}']),
  );
  const without = aTable(
    "plain",
    PLAIN.columns.filter(({ name }) => name !== "doc"),
  );
  await manyRows.apply({ ...MANY_ROWS_MANIFEST, tables: [without, DOCS, ITEMS, RIDES] }, { allow_destructive: true });
  const refused = await manyRows.array("/plain", [{ sku: "b", n: 1 }]);
  expect([refused.status, JSON.parse(refused.text).code]).toEqual([409, "schema_changed"]);
  expect(await manyRows.rows("select count(*) from plain")).toEqual([["1"]]);
});

test("a client that disconnects midway leaves no rows and holds no locks", async () => {
  await manyRows.serve();
  const gone = new AbortController();
  async function* body(): AsyncGenerator<Uint8Array> {
    for (let k = 0; k < 6_000; k += 1) yield Buffer.from(`{"sku":"s${k}","n":1}\n`);
    await sleep(20);
    gone.abort();
    throw gone.signal.reason;
  }
  const answer = await manyRows.send("/plain", { stream: body(), signal: gone.signal });
  expect(answer.status).toBe(499);
  expect(await manyRows.rows("select count(*) from plain")).toEqual([["0"]]);
  expect((await manyRows.lines("/plain", '{"sku":"s1","n":1}')).status).toBe(200);
});

test("a request with a key is stored once, and its retry gets the same response", async () => {
  await manyRows.serve();
  const headers = { "idempotency-key": "k1" };
  const sent = [
    { sku: "a", n: 1 },
    { sku: "b", n: 2 },
  ];
  const first = await manyRows.array("/plain", sent, headers);
  const second = await manyRows.array("/plain", sent, headers);
  expect(first.status).toBe(200);
  expect([second.status, second.text, second.headers["idempotency-replayed"]]).toEqual([200, first.text, "true"]);
  const keyed = { headers: { "idempotency-key": "k2", prefer: "return=minimal" } };
  const both = await Promise.all(
    [1, 2].map(() => manyRows.lines("/docs", linesOf([{ title: "x" }, { title: "y" }]), keyed)),
  );
  expect(both.map(({ status, text }) => [status, text])).toEqual([
    [200, '{"num_rows":2}'],
    [200, '{"num_rows":2}'],
  ]);
  const other = await manyRows.lines("/docs", linesOf([{ title: "z" }]), keyed);
  expect([other.status, JSON.parse(other.text).code]).toEqual([422, "idempotency_mismatch"]);
  expect(await manyRows.rows("select (select count(*) from plain), (select count(*) from docs)")).toEqual([["2", "2"]]);
});

test("return=minimal gets the number of rows", async () => {
  await manyRows.serve();
  const headers = { prefer: "respond-async, return=minimal" };
  const answer = await manyRows.array("/docs", [{ title: "a" }, { title: "b" }], headers);
  expect([answer.status, answer.text, answer.headers["preference-applied"]]).toEqual([
    200,
    '{"num_rows":2}',
    "return=minimal",
  ]);
  expect((await manyRows.lines("/docs", "", { headers })).text).toBe('{"num_rows":0}');
});

test("more requests than connections work, with many rows and one row mixed", async () => {
  await manyRows.serve();
  const many = numbers(12).map((k) =>
    manyRows.array(
      "/plain",
      numbers(700).map((n) => ({ sku: `${k}-${n}`, n })),
    ),
  );
  const single = numbers(50).map((n) => manyRows.one("/plain", { sku: `one-${n}`, n }));
  const answers = await Promise.all([...many, ...single]);
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(62);
  expect(await manyRows.rows("select count(*) from plain")).toEqual([["8450"]]);
});
