import { isObject, parseExact } from "@appdb/contract/clients/exact-json";
import { dataColumn, dataTable } from "@appdb/contract/testing/tables";
import { expect, test } from "vitest";
import { printHead, printRow } from "./print-rows.ts";
import { findClash, findProblems, guessMapping, printImport, readImport } from "./read-import.ts";

const column = (name: string, type: string, isComputed = false) =>
  dataColumn(name, type, { is_key: name === "id", is_computed: isComputed });

const table = dataTable("docs", {
  columns: [
    column("id", "Int"),
    column("title", "String"),
    column("score", "Float | None"),
    column("meta", "Json | None"),
    column("shout", "String", true),
  ],
});

test("CSV is mapped by names, and its rows keep their lines and digits", () => {
  const file = readImport("a.csv", '\uFEFFID;Title;other\n9007199254740993;"two\nlines";x\n\n2;;y\n');
  const mapping = guessMapping(table, file);
  expect(mapping).toEqual({ ID: "id", Title: "title", other: "" });
  expect(findProblems(table, file, mapping)).toEqual([]);
  expect(printImport(table, file, mapping)).toBe(
    '\n{"id":9007199254740993,"title":"two\\nlines"}\n\n\n{"id":2,"title":""}\n',
  );
});

test("values of CSV that do not fit are listed by line", () => {
  const file = readImport("a.csv", "id,score,meta\n1,,\n2,many,{\nx,0.5,{}\n");
  expect(findProblems(table, file, guessMapping(table, file))).toEqual([
    { line: 3, detail: 'score is "many". Expected a number: 0.5.' },
    { line: 3, detail: 'meta is "{". Expected JSON: {"a": 1}.' },
    { line: 4, detail: 'id is "x". Expected a number: 42.' },
  ]);
  expect(() => readImport("a.csv", "id,title\n1\n")).toThrow("a.csv, line 2: 1 cells, and the header has 2 columns.");
});

test("JSON lines keep values, and other lines are listed", () => {
  const file = readImport("a.jsonl", '{"id": 1.50, "shout": "A"}\n\n[1]\n{"title": \n{"title": "b"}\n');
  expect(file.columns).toEqual(["id", "shout", "title"]);
  const mapping = guessMapping(table, file);
  expect(mapping).toEqual({ id: "id", shout: "", title: "title" });
  expect(findProblems(table, file, mapping).map(({ line }) => line)).toEqual([3, 4]);
  expect(printImport(table, file, mapping)).toBe('{"id":1.50}\n\n\n\n{"title":"b"}\n');
});

test("two columns of a file cannot fill one column", () => {
  const file = readImport("a.csv", "a,b,c\n1,2,3\n");
  expect(findClash(file, { a: "id", b: "id", c: "" })).toBe("id");
  expect(findClash(file, { a: "id", b: "", c: "" })).toBeUndefined();
});

test("exported rows can be imported again", () => {
  const row = parseExact(
    '{"id":9007199254740993,"title":"a, \\"b\\"","score":null,"meta":"x","shout":"A","_errors":{"score":{"type":"E","message":"m","function":null}}}',
  );
  if (!isObject(row)) throw new TypeError("expected an object");
  const csv = printHead(table, "csv") + printRow(table, row, "csv");
  expect(csv).toBe('id,title,score,meta,shout\r\n9007199254740993,"a, ""b""",,"""x""",A\r\n');
  const expected = '{"id":9007199254740993,"title":"a, \\"b\\"","score":null,"meta":"x"}\n';
  const read = readImport("a.csv", csv);
  expect(printImport(table, read, guessMapping(table, read)).trimStart()).toBe(expected);
  const lines = readImport("a.jsonl", printHead(table, "jsonl") + printRow(table, row, "jsonl"));
  expect(printImport(table, lines, guessMapping(table, lines))).toBe(expected);
  const empty = new Map(row).set("title", "");
  expect(printRow(table, empty, "csv")).toContain('993,"",');
});

test("exported files are addresses that an import takes", () => {
  const photos = dataTable("photos", { columns: [dataColumn("photo", "Image | None")] });
  const cell = '{"address":"/v1/orgs/acme/databases/main/file?token=x","uri":"mediafs://acme:main/home/5f/5f2d.png"}';
  const row = parseExact(`{"photo":${cell}}`);
  if (!isObject(row)) throw new TypeError("expected an object");
  expect(printRow(photos, row, "jsonl")).toBe('{"photo":"mediafs://acme:main/home/5f/5f2d.png"}\n');
});
