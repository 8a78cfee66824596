import { expect, test } from "vitest";
import { CsvReader, readCsv } from "./read-csv.ts";

const TEXT = 'a;"b"";\r\n";c\r\n1;"x";\n\n;"";"é\n"\n2;"a\r\nb";3\r4;5;"6"';

test("reads the same records in pieces of any length", () => {
  const whole = readCsv(TEXT, "x.csv");
  expect(whole.rows.map(({ cells, line }) => [line, ...cells.map(({ text }) => text)])).toEqual([
    [3, "1", "x", ""],
    [5, "", "", "é\n"],
    [7, "2", "a\r\nb", "3"],
    [9, "4", "5", "6"],
  ]);
  for (let length = 1; length <= TEXT.length; length += 1) {
    const reader = new CsvReader("x.csv");
    const rows = [];
    for (let at = 0; at < TEXT.length; at += length) rows.push(...reader.read(TEXT.slice(at, at + length), false));
    rows.push(...reader.read("", true));
    expect({ header: reader.header(), rows }).toEqual(whole);
  }
});

test("names the line of a wrong record in a later piece", () => {
  const reader = new CsvReader("x.csv");
  expect(reader.read("a,b\n1,2\n3", false)).toHaveLength(1);
  expect(() => reader.read("\n", false)).toThrow("x.csv, line 3: 1 cells, and the header has 2 columns.");
});
