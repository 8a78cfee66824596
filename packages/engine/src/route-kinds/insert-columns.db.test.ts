import { type ManyRows, openManyRows, PLAIN_INPUTS } from "@appdb/testkit/many-rows";
import { afterEach, beforeEach, expect, test } from "vitest";
import { columnFrame, type FrameColumn } from "../rows/testing/column-frames.ts";

let manyRows: ManyRows;

beforeEach(async () => {
  manyRows = await openManyRows();
});

afterEach(async () => {
  await manyRows[Symbol.asyncDispose]();
});

const MINIMAL = { prefer: "return=minimal" };
const columns = (path: string, frames: readonly Uint8Array[], headers = MINIMAL) =>
  manyRows.lines(path, Buffer.concat(frames), { has_columns: true, headers });
const ints = (name: string, values: FrameColumn["values"]): FrameColumn => ({ name, form: "i64", values });
const texts = (name: string, values: FrameColumn["values"]): FrameColumn => ({ name, form: "utf8", values });
const bytes = (text: string) => Buffer.from(text, "hex");

/** Selects the values of a table without its identities. */
const storedAs = (path: string) =>
  `select ${path === "/direct" ? DIRECT.join(", ") : PLAIN_INPUTS.join(", ")} from ${path.slice(1)} order by sku`;

/** By column: its form, values in it, and the same values as JSON. */
const FORMS: readonly (readonly [
  column: string,
  form: FrameColumn["form"],
  FrameColumn["values"],
  readonly string[],
])[] = [
  [
    "n",
    "i64",
    [0, -1, 2n ** 63n - 1n, -(2n ** 63n), 2 ** 40],
    ["0", "-1", "9223372036854775807", "-9223372036854775808", "1099511627776"],
  ],
  [
    "price",
    "f64",
    [0, -0, 0.1, -1.7976931348623157e308, 5e-324, null],
    ["0", "-0.0", "0.1", "-1.7976931348623157e308", "5e-324", "null"],
  ],
  ["price", "i64", [0, 5, 2n ** 53n + 1n], ["0", "5", "9007199254740993"]],
  ["n", "f64", [1, -3, 2 ** 53], ["1.0", "-3.0", "9007199254740992.0"]],
  ["ok", "u8", [true, false, null], ["true", "false", "null"]],
  [
    "at",
    "micros",
    [0, 1, -1, 1_767_322_845_000_678n, -62_135_596_800_000_000n, 253_402_300_799_999_999n, 946_684_800_000_000n, null],
    [
      "1970-01-01T00:00:00Z",
      "1970-01-01T00:00:00.000001Z",
      "1969-12-31T23:59:59.999999Z",
      "2026-01-02T03:00:45.000678Z",
      "0001-01-01T00:00:00Z",
      "9999-12-31T23:59:59.999999Z",
      "2000-01-01T00:00:00Z",
    ]
      .map((text) => JSON.stringify(text))
      .concat("null"),
  ],
  [
    "day",
    "days",
    [0, -1, 20_455, -719_162, 2_932_896, null],
    ['"1970-01-01"', '"1969-12-31"', '"2026-01-02"', '"0001-01-01"', '"9999-12-31"', "null"],
  ],
  [
    "tag",
    "b16",
    [bytes("0190a3c400007000800000000000000f"), bytes("ff".repeat(16)), null],
    [
      '"0190a3c4-0000-7000-8000-00000000000f"',
      `"${"f".repeat(8)}-${"f".repeat(4)}-${"f".repeat(4)}-${"f".repeat(4)}-${"f".repeat(12)}"`,
      "null",
    ],
  ],
  ["tag", "utf8", ["0190A3C4-0000-7000-8000-00000000000F"], ['"0190A3C4-0000-7000-8000-00000000000F"']],
  ["blob", "bytes", [bytes(""), bytes("00ff5c"), null], ['""', '"AP9c"', "null"]],
  [
    "doc",
    "source",
    ['{"b":1,"a":[1.50,null]}', '"x"', "123456789012345678901", null, "null"],
    ['{"b":1,"a":[1.50,null]}', '"x"', "123456789012345678901", "null", "null"],
  ],
  ["parts", "source", ["[1.5,-2]", "[[0],[1]]", null], ["[1.5,-2]", "[[0],[1]]", "null"]],
  ["words", "source", ['["a,b","\\\\"]', null], ['["a,b","\\\\"]', "null"]],
  [
    "sku",
    "utf8",
    ["", "ä€😀", "\\N", "tab\t\n\r\\.", "x".repeat(5_000)],
    ["", "ä€😀", "\\N", "tab\t\n\r\\.", "x".repeat(5_000)].map((text) => JSON.stringify(text)),
  ],
];

/** Tables with the columns of PLAIN: one takes binary COPY, and arrays need its texts. */
const DIRECT = ["sku", "n", "price", "ok", "at", "day", "tag", "doc", "blob"];

test.each(FORMS)("stores %s as %s like lines", { timeout: 60_000 }, async (name, form, values, json) => {
  await manyRows.serve();
  for (const path of DIRECT.includes(name) ? ["/direct", "/plain"] : ["/plain"]) {
    const table = path.slice(1);
    const key = (at: number, from: string) => (name === "sku" ? json[at] : JSON.stringify(`${from}${at}`));
    const rowTexts = json.map(
      (text, at) =>
        `{"sku":${key(at, "k")}${name === "n" ? "" : ',"n":1'}${name === "sku" ? "" : `,"${name}":${text}`}}\n`,
    );
    expect(await manyRows.lines(path, rowTexts.join(""), { headers: MINIMAL })).toMatchObject({ status: 200 });
    const byLines = await manyRows.rows(storedAs(path));
    await manyRows.rows(`delete from ${table}`);
    const sent = [
      ...(name === "sku"
        ? []
        : [
            texts(
              "sku",
              values.map((_, at) => `k${at}`),
            ),
          ]),
      ...(name === "n"
        ? []
        : [
            ints(
              "n",
              values.map(() => 1),
            ),
          ]),
      { name, form, values },
    ];
    expect(await columns(path, [columnFrame(sent)])).toMatchObject({
      status: 200,
      text: `{"num_rows":${values.length}}`,
    });
    expect(await manyRows.rows(storedAs(path))).toEqual(byLines);
    await manyRows.rows(`delete from ${table}`);
  }
});

/** By column: a form, a wrong value in it, and the same as JSON. */
const WRONG: readonly (readonly [column: string, form: FrameColumn["form"], FrameColumn["values"][number], string])[] =
  [
    ["n", "f64", 1.5, "1.5"],
    ["n", "utf8", "1", '"1"'],
    ["n", "u8", true, "true"],
    ["n", "i64", null, "null"],
    ["n", "micros", 0, '"1970-01-01T00:00:00Z"'],
    ["price", "utf8", "x", '"x"'],
    ["ok", "i64", 1, "1"],
    ["at", "i64", 5, "5"],
    ["at", "utf8", "yesterday", '"yesterday"'],
    ["day", "micros", 0, '"1970-01-01T00:00:00Z"'],
    ["tag", "utf8", "x", '"x"'],
    ["sku", "utf8", "a\0", '"a\\u0000"'],
    ["sku", "i64", 1, "1"],
    ["doc", "source", '{"a":"\\ud800"}', '{"a":"\\ud800"}'],
    ["blob", "utf8", "?", '"?"'],
    ["missing", "i64", 1, "1"],
  ];

test.each(WRONG)("refuses a wrong %s as %s like lines", { timeout: 60_000 }, async (name, form, wrong, json) => {
  await manyRows.serve();
  for (const path of ["/direct", "/plain"]) {
    const rowTexts = [0, 1, 2].map(
      (at) =>
        `{"sku":${name === "sku" ? json : `"k${at}"`},"n":${name === "n" ? json : at}${name === "sku" || name === "n" ? "" : `,"${name}":${json}`}}\n`,
    );
    const byLines = await manyRows.lines(path, rowTexts.join(""), { headers: MINIMAL });
    const sent = [
      ...(name === "sku" ? [] : [texts("sku", ["k0", "k1", "k2"])]),
      ...(name === "n" ? [] : [ints("n", [0, 1, 2])]),
      { name, form, values: [wrong, wrong, wrong] },
    ];
    const byColumns = await columns(path, [columnFrame(sent)]);
    expect(byColumns.status).toBe(422);
    expect({ ...JSON.parse(byColumns.text), request_id: "" }).toEqual({ ...JSON.parse(byLines.text), request_id: "" });
    expect(await manyRows.rows("select count(*) from direct")).toEqual([["0"]]);
  }
});
