import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { type ExactJson, isArray, parseExact } from "@appdb/contract/clients/exact-json";
import { AppError } from "@appdb/contract/errors";
import { dataColumn, dataTable } from "@appdb/contract/testing/tables";
import { afterAll, describe, expect, test } from "vitest";
import { OutputFile } from "./open-output.ts";
import { createParquet } from "./parquet.ts";
import { parquetColumn } from "./parquet-columns.ts";
import { readRowFile } from "./read-rows.ts";
import type { RowFormat } from "./row-formats.ts";
import { ArraySplitter } from "./split-array.ts";

const folder = mkdtempSync(join(tmpdir(), "appdb-row-files-"));
afterAll(() => rmSync(folder, { recursive: true }));

const TYPES = {
  id: "Int",
  text: "String | None",
  ratio: "Float | None",
  done: "Bool | None",
  made: "Timestamp | None",
  day: "Date | None",
  code: "UUID | None",
  meta: "Json | None",
  bytes: "Binary | None",
  vector: "Array[(3,), float32] | None",
  boxes: "Array[(None, 2), int64] | None",
  words: "Array[(None,), str] | None",
  any: "Array[float32] | None",
  nothing: "String | None",
};
const LARGE = Buffer.from("ffffff7f", "hex");
const COLUMNS = Object.entries(TYPES).map(([name, type]) => dataColumn(name, type));
const TABLE = dataTable("kinds", { columns: COLUMNS });
const ROWS = [
  '[9007199254740993,"a,\\"b\\"\\n€",0.1,true,"2026-01-31T10:00:00.000001Z","1969-12-31","0190b6a4-0000-7000-8000-000000000001",{"z":[1,{"n":9007199254740993}],"a":null},"AP8=",[0.5,1.0,-2.0],[[1,2],[9007199254740993,4]],["x",""],[[1.5]],null]',
  '[-1,"",-0.5,false,"1900-01-01T00:00:00Z","9999-12-31",null,"text","",null,[],[],null,null]',
  "[2,null,null,null,null,null,null,null,null,null,null,null,null,null]",
];

function cells(text: string): readonly ExactJson[] {
  const row = parseExact(text);
  return isArray(row) ? row : [];
}

async function read(name: string, table = TABLE, format?: RowFormat): Promise<readonly string[]> {
  const lines: string[] = [];
  const given = readRowFile({ cwd: folder, streamInput: undefined }, name, { path: "main/kinds", table, format });
  for await (const some of given) lines.push(...some);
  return lines;
}

async function write(name: string, rows: readonly string[]): Promise<void> {
  using file = new OutputFile(join(folder, name));
  await file.fill(async () => {
    const parquet = createParquet(file.file, COLUMNS, COLUMNS.map(parquetColumn));
    for (const row of rows) await parquet.add([cells(row)], row.length);
    await parquet.end();
  });
}

test("rows of each type are the same after Parquet", async () => {
  await write("a.parquet", ROWS);
  const values = (await read("a.parquet")).map((line) => {
    const row = parseExact(line);
    return [...(row as ReadonlyMap<string, ExactJson>).values()];
  });
  expect(values).toEqual(ROWS.map(cells));
});

test("names of JSON lines are in lower case, also before and after cells of many letters, quotes and backslashes", async () => {
  const cell = JSON.stringify('Ab:"\\":'.repeat(100_000));
  writeFileSync(join(folder, "names.jsonl"), `{"text":${cell}}\n{"text":${cell},"Id" :1}\n{"a\\"B":"\\\\"}`);
  expect(await read("names.jsonl")).toEqual([`{"text":${cell}}`, `{"text":${cell},"id":1}`, '{"a\\"b":"\\\\"}']);
});

test("a file without rows has columns, and many rows have several row groups", async () => {
  await write("empty.parquet", []);
  expect(await read("empty.parquet")).toEqual([]);
  const narrow = "[1,null,null,null,null,null,null,null,null,null,null,null,null,null]";
  await write("many.parquet", Array<string>(50_001).fill(narrow));
  expect(await read("many.parquet")).toHaveLength(50_001);
});

test("a column that the table lacks, and a file that was cut off, are refused", async () => {
  await write("b.parquet", ROWS);
  const table = dataTable("kinds", { columns: COLUMNS.slice(1) });
  await expect(read("b.parquet", table)).rejects.toThrow('main/kinds has no column "id".');
  writeFileSync(join(folder, "c.parquet"), readFileSync(join(folder, "b.parquet")).subarray(0, -20));
  await expect(read("c.parquet")).rejects.toThrow("c.parquet is not a complete Parquet file.");
  writeFileSync(join(folder, "d.csv"), readFileSync(join(folder, "b.parquet")));
  await expect(read("d.csv")).rejects.toThrow("d.csv is a Parquet file.");
});

/** What a pipe gives: its rows, or the message and hint of its refusal. */
async function readPipe(content: Uint8Array, format?: RowFormat): Promise<unknown> {
  const pipe = join(folder, "pipe");
  execFileSync("mkfifo", [pipe]);
  const sending = writeFile(pipe, content).catch(() => undefined);
  try {
    return await read("pipe", TABLE, format);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return [error.code, error.message, error.hint];
  } finally {
    await sending;
    rmSync(pipe);
  }
}

test.skipIf(process.platform === "win32")("a pipe gives text, and refuses Parquet as piped rows do", async () => {
  await write("whole.parquet", ROWS);
  const parquet = readFileSync(join(folder, "whole.parquet"));
  const streamInput = () => Readable.from([parquet]);
  const refusals: unknown[] = [await readPipe(parquet), await readPipe(parquet, "parquet")];
  for (const format of [undefined, "parquet"] as const) {
    const given = readRowFile({ cwd: folder, streamInput }, "-", { path: "main/kinds", table: TABLE, format });
    const error = (await given.next().catch((caught: unknown) => caught)) as AppError;
    refusals.push([error.code, error.message.replace("The input", "pipe"), error.hint]);
  }
  expect(new Set(refusals.map(String)).size).toBe(1);
  expect(refusals[0]).toEqual(["usage", expect.stringContaining("whose index is at its end"), expect.any(String)]);
  expect(await readPipe(Buffer.from('{"id":1}'))).toEqual(['{"id":1}']);
  expect(await readPipe(Buffer.from('{"id":1}'), "parquet")).toContain("pipe is not a Parquet file.");
});

test("a file with another ending is read by its content", async () => {
  await write("whole.parquet", ROWS);
  writeFileSync(join(folder, "a.dat"), readFileSync(join(folder, "whole.parquet")));
  writeFileSync(join(folder, "b.log"), '{"id":1}');
  writeFileSync(join(folder, "c.txt"), "id\n1\n");
  writeFileSync(join(folder, "d.txt"), "");
  expect(await read("a.dat")).toHaveLength(ROWS.length);
  expect([await read("b.log"), await read("c.txt"), await read("d.txt")]).toEqual([
    ['{"id":1}'],
    ["", '{"id":1}'],
    [""],
  ]);
});

test.each([
  ["nothing", (_: Buffer) => Buffer.alloc(0)],
  ["its first half", (whole: Buffer) => whole.subarray(0, whole.length / 2)],
  ["no middle", (whole: Buffer) => Buffer.concat([whole.subarray(0, 40), whole.subarray(-60)])],
  ["a large length of its index", (whole: Buffer) => Buffer.concat([whole.subarray(0, -8), LARGE, whole.subarray(-4)])],
])("a Parquet file with %s is refused by its name", async (_, change) => {
  await write("whole.parquet", ROWS);
  writeFileSync(join(folder, "bad.parquet"), change(readFileSync(join(folder, "whole.parquet"))));
  await expect(read("bad.parquet")).rejects.toMatchObject({
    code: "invalid_request",
    message: expect.stringMatching(/^bad\.parquet is not a complete Parquet file\. Nothing was inserted\.$/),
  });
});

test("an output that was not completed leaves the previous file and no part", async () => {
  const path = join(folder, "out.csv");
  writeFileSync(path, "before");
  expect(() => {
    using file = new OutputFile(path);
    file.write("half");
    throw new Error("cut off");
  }).toThrow("cut off");
  expect(readFileSync(path, "utf8")).toBe("before");
  {
    using file = new OutputFile(path);
    await file.fill(async () => file.write("after"));
  }
  expect(readFileSync(path, "utf8")).toBe("after");
  expect(readdirSync(folder).filter((name) => name.endsWith(".part"))).toEqual([]);
});

test.skipIf(process.platform !== "linux")("a full disk is said with the file's name", async () => {
  using file = new OutputFile("/dev/full");
  await expect(file.fill(async () => file.write("rows"))).rejects.toMatchObject({
    code: "disk_full",
    message: "/dev/full cannot be written: no space is left on its disk.",
  });
});

describe("a JSON array", () => {
  const TEXT = ' [ {"a": "]},\\"[\\\\"}, {"b": [1, {"c": 9007199254740993}]} ] \n';

  test("is split in pieces of any length", () => {
    for (let length = 1; length <= TEXT.length; length += 1) {
      const splitter = new ArraySplitter("x.json");
      const lines = [];
      for (let at = 0; at < TEXT.length; at += length) lines.push(...splitter.read(TEXT.slice(at, at + length)));
      splitter.end();
      expect(lines).toEqual(['{"a":"]},\\"[\\\\"}', '{"b":[1,{"c":9007199254740993}]}']);
    }
  });

  test.each([
    ['[{"a": 1}', "x.json is not JSON, at line 1: the array does not end"],
    ["[{}] {}", "x.json is not JSON, at line 1: text follows the array"],
    ["[{},]", "x.json is not JSON"],
    ["[1]", "Row 1 of x.json is not a JSON object."],
    ['[\n{"a": 1},\n{"a": }]', "x.json is not JSON, at line 3"],
    ["[{]", "x.json is not JSON"],
  ])("refuses %j", (text, expected) => {
    const splitter = new ArraySplitter("x.json");
    expect(() => {
      splitter.read(text);
      splitter.end();
    }).toThrow(expected);
  });

  test("may be empty", () => {
    const splitter = new ArraySplitter("x.json");
    expect(splitter.read("[ ]")).toEqual([]);
    splitter.end();
  });
});

test.each([
  ["Timestamp | None", "infinity"],
  ["Timestamp", "0044-03-15 00:00:00+00 BC"],
  ["Date | None", "-infinity"],
  ["Date", "4000-01-01 BC"],
])("a %s that Parquet lacks is refused by name: %s", (type, value) => {
  const { value: print } = parquetColumn(dataColumn("made", type));
  expect(() => print(value)).toThrowError(
    expect.objectContaining({
      code: "value_outside_type",
      message: expect.stringContaining(`made has ${value}, which`),
    }),
  );
});
