import { dataColumn } from "@appdb/contract/testing/tables";
import { expect, test } from "vitest";
import { decimalText, float16Of, numberText, signed, timestampText } from "./parquet-leaves.ts";
import { cellPrinter } from "./parquet-values.ts";

function printed(text: string, type: string): string {
  const element = { name: "v", type: "BYTE_ARRAY", converted_type: "UTF8" } as const;
  return cellPrinter({ children: [], count: 1, element, path: [] }, dataColumn("v", type), true)(Buffer.from(text));
}

test.each([
  ['{"a": 12345678901234567890}', '{"a": 12345678901234567890}'],
  ['{\n"a": 1\r\n}', '{ "a": 1 }'],
])("writes JSON of a file in one line: %j", (text, line) => {
  expect(printed(text, "Json")).toBe(line);
});

test("refuses a text that a file calls JSON", () => {
  expect(() => printed('1}\n{"title": "x"', "Json")).toThrow("the file says that it is JSON, and");
});

test.each([
  [1, "1.0"],
  [-0, "-0.0"],
  [0.1, "0.1"],
  [1e15, "1000000000000000.0"],
  [1e16, "1e+16"],
  [1.5e300, "1.5e+300"],
  [0.0001, "0.0001"],
  [0.000012, "1.2e-05"],
  [2 ** 70, "1.1805916207174113e+21"],
])("writes %d as Python does", (value, text) => {
  expect(numberText(value)).toBe(text);
});

test.each([
  [900719925474099300n, 2, "9007199254740993", true],
  [12345678901234567890123456789n, 9, "12345678901234567890.123456789", true],
  [12345678901234567890n, 20, "0.1234567890123456789", true],
  [-5n, 2, "-0.05", false],
  [150n, 2, "1.5", false],
  [10n ** 30n, 0, `1${"0".repeat(30)}`, false],
  [1n, 10, "1e-10", false],
  [0n, 3, "0", false],
])("the decimal %d of scale %d is %s", (unscaled, scale, text, isExact) => {
  expect(decimalText(unscaled, scale)).toEqual({ text, isExact });
});

test("bytes of decimals have a sign", () => {
  expect(signed(Uint8Array.of(0xff, 0x38))).toBe(-200n);
});

test("reads halves and times before 1970", () => {
  expect([float16Of(Uint8Array.of(0, 0x38)), float16Of(Uint8Array.of(1, 0))]).toEqual([0.5, 2 ** -24]);
  expect(timestampText(-1n)).toBe("1969-12-31T23:59:59.999999Z");
  expect(() => timestampText(2n ** 60n)).toThrow("beyond the years 1 to 9999");
});
