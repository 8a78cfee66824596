import type { TypeKind } from "@appdb/contract/types";
import { expect, test } from "vitest";
import { arrayText, fromSqlText, valueToJson } from "../kinds/values.ts";

test('array text quotes special elements and distinguishes null from "null"', () => {
  const rows = [["a"], ['"'], ["\\"], ["NULL"], [""], [null], ["{,} "]];
  expect(arrayText("string", rows, 0)).toBe('{"a","\\"","\\\\","NULL","",NULL,"{,} "}');
});

test("array text writes numbers with all their digits", () => {
  expect(arrayText("int", [[1], [-9223372036854775808n], [null]], 0)).toBe("{1,-9223372036854775808,NULL}");
  expect(arrayText("float", [[-0], [1e21], [0.1]], 0)).toBe("{-0,1e+21,0.1}");
  expect(arrayText("bool", [[true], [false]], 0)).toBe("{t,f}");
});

const FROM_SQL: [TypeKind, string, unknown][] = [
  ["int", "42", 42],
  ["int", "9007199254740993", 9007199254740993n],
  ["float", "1e+21", 1e21],
  ["bool", "t", true],
  ["bool", "f", false],
  ["timestamp", "2024-01-02 03:04:05+00", "2024-01-02T03:04:05Z"],
  ["timestamp", "2024-01-02 03:04:05.12+00", "2024-01-02T03:04:05.120000Z"],
  ["json", '{"a": 1}', '{"a": 1}'],
];

test.each(FROM_SQL)("reads PostgreSQL's %s %s", (kind, text, value) => {
  expect(fromSqlText({ kind }, text)).toStrictEqual(value);
});

test("a Float stays a float in JSON; an Int keeps its digits", () => {
  expect(valueToJson("float", 2)).toBe("2.0");
  expect(valueToJson("float", -0)).toBe("-0.0");
  expect(valueToJson("float", 1e21)).toBe("1e+21");
  expect(valueToJson("float", 0.1)).toBe("0.1");
  expect(valueToJson("int", 9223372036854775807n)).toBe("9223372036854775807");
  expect(valueToJson("string", 'a"\u2028')).toBe('"a\\"\u2028"');
  expect(valueToJson("json", '{"b":1.0}')).toBe('{"b":1.0}');
  expect(valueToJson("bool", false)).toBe("false");
  expect(valueToJson("date", null)).toBe("null");
});
