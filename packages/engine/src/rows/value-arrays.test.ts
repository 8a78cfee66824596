import type { ColumnType } from "@appdb/contract/types";
import { expect, test } from "vitest";
import { arrayFromSql, arrayToSql } from "../kinds/array-sql.ts";
import { arrayText, fromSqlText, parseValue, valueToJson } from "../kinds/values.ts";
import { float32Text } from "../values/float-text.ts";
import { ValueError } from "../values/value-error.ts";
import { parseBody } from "./parse-body.ts";

function array(dtype: ColumnType["dtype"] & {}, shape: (number | null)[] | null = null): ColumnType {
  return { kind: "array", dtype, shape };
}

function read(type: ColumnType, json: string): unknown {
  const body = parseBody(`{"v": ${json}}`);
  return parseValue(type, body.members.v, () => body.raw("v"));
}

const ACCEPTED: [ColumnType, string, string][] = [
  [array("float64"), "[1, 2.50, -0, 1e400e]".replace("1e400e", "1E3"), "[1.0,2.5,-0.0,1000.0]"],
  [array("float32", [3]), "[0.1, 16777217, 1e-45]", "[0.1,16777216.0,1e-45]"],
  [array("float32"), "[3.4028235677973362e38]", "[3.4028235e+38]"],
  [
    array("int64"),
    "[9223372036854775807, -9223372036854775808, 1e3, -0]",
    "[9223372036854775807,-9223372036854775808,1000,0]",
  ],
  [array("int64", [null, 2]), "[[1,9007199254740993],[3,4]]", "[[1,9007199254740993],[3,4]]"],
  [array("uint8"), "[0, 255.0]", "[0,255]"],
  [array("bool", [2]), "[true, false]", "[true,false]"],
  [array("string"), '["a\\"b\\\\", "{,}", "", "NULL", "\\u00e9\\n"]', '["a\\"b\\\\","{,}","","NULL","é\\n"]'],
  [array("float64", [null, 3]), "[]", "[]"],
  [array("float64"), "[]", "[]"],
  [array("int8", [1, 1, 1, 1, 1, 1]), "[[[[[[-128]]]]]]", "[[[[[[-128]]]]]]"],
];

test.each(ACCEPTED)("%j accepts %s", (type, json, stored) => {
  expect(read(type, json)).toBe(stored);
});

const REFUSED: [ColumnType, string, string, RegExp][] = [
  [array("float32", [3]), "7", "", /Expected a list for Array\[\(3,\), float32\], got 7/],
  [array("float32", [3]), "[1,2]", "", /The list has 2 elements; Array\[\(3,\), float32\] requires 3/],
  [
    array("float32", [null, 3]),
    "[[1,2,3],[1,2]]",
    "/1",
    /The list has 2 elements; Array\[\(None, 3\), float32\] requires 3/,
  ],
  [array("int32"), "[[1,2],[3]]", "/1", /The list has 1 element; the previous lists have 2/],
  [array("int32"), "[[1,2],3]", "/1", /Expected a list \(level 2 of 2\), got 3/],
  [array("int32"), "[1,[2]]", "/1", /Expected a number \(int32\), got an array/],
  [array("int32"), "[[1,2],[3,null]]", "/1/1", /Expected a number \(int32\), got null/],
  [array("int32"), "[2147483648]", "/0", /2147483648 is beyond the range of int32, -2147483648 to 2147483647/],
  [array("int64"), "[1,9223372036854775808]", "/1", /9223372036854775808 is beyond the range of int64/],
  [array("int64"), "[1.5]", "/0", /Expected an integer, got 1.5/],
  [array("uint8"), "[[-1]]", "/0/0", /-1 is beyond the range of uint8, 0 to 255/],
  [array("uint8"), "[1.5]", "/0", /Expected an integer, got 1.5/],
  [array("float64"), "[1e999]", "/0", /beyond the range of float64/],
  [array("float32"), "[1e39]", "/0", /beyond the range of float32/],
  [array("float64"), '["1"]', "/0", /Expected a number \(float64\), got "1"/],
  [array("bool"), "[1]", "/0", /Expected a boolean/],
  [array("string"), '["a\\u0000"]', "/0", /NUL/],
  [array("string"), '["\\ud800"]', "/0", /surrogate/],
  [array("float64"), "[[]]", "/0", /Only the outermost list/],
  [array("float64", [null, 0]), "[[]]", "/0", /requires 0/],
  [array("float64"), "[[[[[[[1]]]]]]]", "", /deeper than 6/],
  [{ kind: "binary" }, '"YQ"', "", /padded with =/],
  [{ kind: "binary" }, '"Y Q="', "", /[Bb]ase64/],
  [{ kind: "binary" }, '"-_=="', "", /[Bb]ase64/],
  [{ kind: "binary" }, "[1]", "", /base64 in a string, got an array/],
];

test.each(REFUSED)("%j refuses %s at %j", (type, json, pointer, detail) => {
  const misfit = read(type, json);
  expect(misfit).toBeInstanceOf(ValueError);
  expect((misfit as ValueError).pointer).toBe(pointer);
  expect((misfit as ValueError).detail).toMatch(detail);
});

test("an array equals its text in PostgreSQL", () => {
  expect(arrayToSql("[[1.5,-0.0],[2.0,1e-7]]")).toBe("{{1.5,-0.0},{2.0,1e-7}}");
  expect(arrayToSql('["a\\"","b\\\\","{,}"]')).toBe('{"a\\"","b\\\\","{,}"}');
  expect(arrayFromSql("float64", "{{1.5,-0},{2,1e-07}}")).toBe("[[1.5,-0.0],[2.0,1e-7]]");
  expect(arrayFromSql("float32", "{0.1,1e+20,1}")).toBe("[0.1,100000000000000000000.0,1.0]");
  expect(arrayFromSql("int64", "{9223372036854775807,-1}")).toBe("[9223372036854775807,-1]");
  expect(arrayFromSql("bool", "{{t,f},{f,t}}")).toBe("[[true,false],[false,true]]");
  expect(arrayFromSql("string", '{"a\\"","b\\\\","{,}",plain,"NULL",t,""}')).toBe(
    '["a\\"","b\\\\","{,}","plain","NULL","t",""]',
  );
  expect(arrayFromSql("string", '{{"x\ny"},{"\\u"}}')).toBe('[["x\\ny"],["u"]]');
});

test("reads an array with bounds, nulls or NaN written by others", () => {
  expect(arrayFromSql("int32", "[0:1]={1,NULL}")).toBe("[1,null]");
  expect(arrayFromSql("float64", "{NaN,-Infinity,Infinity,1}")).toBe("[null,null,null,1.0]");
  expect(arrayFromSql("string", "{NULL,null}")).toBe('[null,"null"]');
});

test("many rows of arrays and bytes are sent in one text array", () => {
  expect(arrayText("array", [["[1,2]"], [null], ['["a\\"b"]']], 0)).toBe('{"{1,2}",NULL,"{\\"a\\\\\\"b\\"}"}');
  expect(arrayText("binary", [[Uint8Array.of(0, 255)], [new Uint8Array()]], 0)).toBe('{"\\\\x00ff","\\\\x"}');
});

test("bytes are base64 in JSON and hexadecimal in PostgreSQL", () => {
  expect(read({ kind: "binary" }, '"AP8="')).toEqual(Buffer.from([0, 255]));
  expect(read({ kind: "binary" }, '""')).toEqual(Buffer.alloc(0));
  expect(fromSqlText({ kind: "binary" }, "\\x00ff")).toEqual(Buffer.from([0, 255]));
  expect(valueToJson("binary", Uint8Array.of(0, 255))).toBe('"AP8="');
});

test("a float32 is written with the fewest digits that restore it", () => {
  const bits = new DataView(new ArrayBuffer(4));
  for (let i = 0; i < 20_000; i++) {
    bits.setUint32(0, (i * 2_654_435_761) >>> 0);
    const value = bits.getFloat32(0);
    if (!Number.isFinite(value)) continue;
    const text = float32Text(value);
    expect(Object.is(Math.fround(Number(text)), value)).toBe(true);
    const digits = text.replace(/e.*|[-.]/g, "").replace(/^0+|0+$/g, "").length;
    if (digits > 1) expect(Math.fround(Number(value.toPrecision(digits - 1)))).not.toBe(value);
  }
  expect(["0.1", "3.4028235e+38", "1e-45", "16777216.0", "-0.0", "0.33333334"]).toEqual(
    [0.1, 3.4028234663852886e38, 1e-45, 2 ** 24, -0, 1 / 3].map(float32Text),
  );
});
