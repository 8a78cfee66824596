import { linesOf, type ManyRows, numbers, openManyRows } from "@appdb/testkit/many-rows";
import { afterEach, beforeEach, expect, test } from "vitest";

let manyRows: ManyRows;

beforeEach(async () => {
  manyRows = await openManyRows();
});

afterEach(async () => {
  await manyRows[Symbol.asyncDispose]();
});

test("invalid rows are named by line and pointer, and nothing is stored", async () => {
  await manyRows.serve();
  const sent = numbers(3_000).map((n): object => ({ sku: `s${n}`, n }));
  sent[2_500] = { sku: "x", n: "one" };
  sent[2_600] = { sku: null, nn: 1 };
  const answer = await manyRows.lines("/items", `\n${linesOf(sent)}`);
  expect(answer.status).toBe(422);
  const problem = JSON.parse(answer.text);
  expect(problem).toMatchObject({ code: "invalid_request", detail: expect.stringContaining("Nothing was stored") });
  expect(problem.errors.map(({ pointer }: { pointer: string }) => pointer)).toEqual([
    "/2500/n",
    "/2600/sku",
    "/2600/nn",
    "/2600/n",
  ]);
  expect(problem.errors[0].detail).toMatch(/^Line 2502: n: /);
  const inArray = JSON.parse((await manyRows.array("/items", [{ sku: "a", n: 1 }, 5, { sku: "b" }])).text);
  expect(inArray.errors).toEqual([
    { pointer: "/1", detail: "[1]: Expected an object, got a number." },
    { pointer: "/2/n", detail: '[2]: n: The field "n" is required.' },
  ]);
  const all = JSON.parse((await manyRows.array("/items", numbers(500))).text);
  expect(all.errors).toHaveLength(20);
  expect(await manyRows.rows("select count(*) from items")).toEqual([["0"]]);
});

test("reports a line that is not JSON or UTF-8 with the others", async () => {
  await manyRows.serve();
  const bytes = Buffer.concat([
    Buffer.from('{"title":"a"}\n{"title":\n{"title":"'),
    Buffer.of(0xff),
    Buffer.from('"}\n{"title":"\ufffd"}'),
  ]);
  const answer = await manyRows.lines("/docs", bytes);
  expect(answer.status).toBe(422);
  expect(JSON.parse(answer.text).errors).toEqual([
    { pointer: "/1", detail: expect.stringMatching(/^Line 2: The row is not JSON: /) },
    { pointer: "/2", detail: "Line 3: The row is not UTF-8." },
  ]);
});

test.each(["/plain", "/items"])("a duplicate key of %s names its row", async (path) => {
  await manyRows.serve();
  const table = path.slice(1);
  await manyRows.one(path, { sku: "s2100", n: 7 });
  const sent = numbers(2_500).map((n) => ({ sku: `s${n}`, n: n + 1 }));
  const taken = await manyRows.lines(path, linesOf(sent));
  expect(taken.status).toBe(409);
  expect(JSON.parse(taken.text)).toMatchObject({
    code: "unique_violation",
    detail: expect.stringMatching(/^Line 2101: .*\(sku\) = \("s2100"\)/),
    errors: [{ pointer: "/2100" }],
    meta: { row: 2_100 },
  });
  const twice = await manyRows.lines(
    path,
    linesOf([
      { sku: "a", n: 1 },
      { sku: "b", n: 1 },
      { sku: "a", n: 2 },
    ]),
  );
  expect(JSON.parse(twice.text).errors).toMatchObject([{ pointer: "/2" }]);
  expect(await manyRows.rows(`select sku, n from ${table}`)).toEqual([["s2100", "7"]]);
});

test("a failing function names its row; with ignore, its cell is null", async () => {
  manyRows.steps.fare = ({ km }) => {
    if (Number(km) % 1_000 === 999) throw new Error(`unlucky ${km}`);
    return Number(km) * 2;
  };
  await manyRows.serve();
  const sent = linesOf(numbers(2_500).map((km) => ({ km })));
  const failed = await manyRows.lines("/rides", sent);
  expect(failed.status).toBe(400);
  expect(JSON.parse(failed.text)).toMatchObject({
    code: "function_failed",
    detail: expect.stringMatching(/^Line 1000: .*unlucky 999/),
    meta: { column: "fare", row: 999 },
  });
  expect(await manyRows.rows("select count(*) from rides")).toEqual([["0"]]);
  const ignored = await manyRows.lines("/ignoring", sent);
  expect(ignored.status).toBe(200);
  expect(ignored.headers["x-cell-errors"]).toBe("fare;rows=2, tax;rows=2");
  const answered = ignored.text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(answered[998]).toEqual({ km: 998, fare: 1996, tax: 998 });
  expect(answered[999]).toEqual({ km: 999, fare: null, tax: null });
  expect(
    await manyRows.rows(
      "select count(*), count(fare), count(tax), count(_errors), min(_errors->'tax'->>'column') from rides",
    ),
  ).toEqual([["2500", "2498", "2498", "2", "fare"]]);
});

test("with ignore, a value that neither SQL nor Python can make fails its cell", async () => {
  manyRows.steps.inv = ({ n }) => {
    if (Number(n) === 0) throw new Error("division by zero");
    return 10 / Number(n);
  };
  await manyRows.serve();
  const sent = [
    { sku: "a", n: 5 },
    { sku: "b", n: 0 },
  ];
  const aborted = await manyRows.array("/items", sent);
  expect(JSON.parse(aborted.text)).toMatchObject({ code: "function_failed", meta: { row: 1, column: "inv" } });
  const ignored = await manyRows.array("/ignoring-items", sent);
  expect(JSON.parse(ignored.text)).toEqual([
    { sku: "a", inv: 2 },
    { sku: "b", inv: null },
  ]);
  expect(await manyRows.rows("select sku, inv, _errors->'inv'->>'message' from items order by sku")).toEqual([
    ["a", "2", null],
    ["b", null, "division by zero"],
  ]);
});

test("refuses lines and row counts above the limits and stores nothing", async () => {
  await manyRows.serve({ body_bytes: 1_000, insert_rows: 3 });
  const long = await manyRows.lines("/docs", linesOf([{ title: "a" }, { title: "x".repeat(1_000) }]));
  expect([long.status, JSON.parse(long.text).detail]).toEqual([
    413,
    expect.stringMatching(/^Line 2 is longer than 1000/),
  ]);
  expect(JSON.parse(long.text).hint).toMatch(/raise SERVICE_BODY_BYTES\.$/);
  const endless = await manyRows.lines("/docs", "x".repeat(5_000));
  expect(endless.status).toBe(413);
  const four = await manyRows.array(
    "/docs",
    numbers(4).map((n) => ({ title: String(n) })),
  );
  expect([four.status, JSON.parse(four.text).meta]).toEqual([413, { limit: "insert_rows", value: 3 }]);
  expect(await manyRows.rows("select count(*) from docs")).toEqual([["0"]]);
});

test("a compute route refuses an array and asks for one row", async () => {
  await manyRows.serve();
  const answer = await manyRows.array("/compute", [{ km: 1 }]);
  expect([answer.status, JSON.parse(answer.text).detail]).toEqual([
    422,
    "Expected the body to be a JSON object, got an array.",
  ]);
});

test("refuses an invalid JSON array with the position of the error", async () => {
  await manyRows.serve();
  const broken = [
    ['[{"title":"a"},', "does not end"],
    ['[{"title":"a"},]', "at [1]"],
    ['[{"title":"a"} {"title":"b"}]', "at [0]"],
    ['[{"title":"a"}] []', "after the array"],
    ['[{"title":"a]', "does not end"],
    ["[,]", "at [0]"],
  ] as const;
  for (const [body, where] of broken) {
    const answer = await manyRows.array("/docs", body);
    expect([answer.status, JSON.parse(answer.text).code]).toEqual([400, "invalid_json"]);
    expect(JSON.parse(answer.text).detail).toContain(where);
  }
  expect(await manyRows.rows("select count(*) from docs")).toEqual([["0"]]);
});

test("waits for a key in another transaction up to the statement timeout", async () => {
  await manyRows.serve({ statement_timeout_ms: 300 });
  const answer = await manyRows.sql.transaction(async (connection) => {
    await connection.query({ text: "insert into plain (_row, sku, n) values (uuidv7(), 'b', 1)" });
    return manyRows.lines(
      "/plain",
      linesOf([
        { sku: "a", n: 1 },
        { sku: "b", n: 1 },
      ]),
    );
  });
  expect([answer.status, JSON.parse(answer.text).code]).toEqual([504, "query_timeout"]);
  expect(await manyRows.rows("select sku from plain")).toEqual([["b"]]);
});
