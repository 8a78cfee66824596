import type { TypeKind } from "@appdb/contract/types";
import { describe, expect, test } from "vitest";
import { parseValue } from "../kinds/values.ts";
import { ValueError } from "../values/value-error.ts";
import { parseBody } from "./parse-body.ts";

/** Reads the JSON text of a value as a column of this kind does. */
function read(kind: TypeKind, json: string) {
  const body = parseBody(`{"before": [1, "}"], "v" : ${json} , "after": null}`);
  return parseValue({ kind }, body.members.v, () => body.raw("v"));
}

const ACCEPTED: [TypeKind, string, unknown][] = [
  ["string", '""', ""],
  ["string", '"\\ud83d\\ude00 \\"quoted\\" \\\\"', '😀 "quoted" \\'],
  ["int", "0", 0],
  ["int", "-0", 0],
  ["int", "7.0", 7],
  ["int", "1e3", 1000],
  ["int", "9007199254740991", 9007199254740991],
  ["int", "9007199254740993", 9007199254740993n],
  ["int", "9223372036854775807", 9223372036854775807n],
  ["int", "-9223372036854775808", -9223372036854775808n],
  ["int", "9007199254740993.00", 9007199254740993n],
  ["int", "1e18", 1000000000000000000n],
  ["float", "2", 2],
  ["float", "0.1", 0.1],
  ["float", "5e-324", 5e-324],
  ["bool", "true", true],
  ["bool", "false", false],
  ["timestamp", '"2024-01-02T03:04:05Z"', "2024-01-02T03:04:05Z"],
  ["timestamp", '"2024-01-02 03:04"', "2024-01-02T03:04:00Z"],
  ["timestamp", '"2024-01-02"', "2024-01-02T00:00:00Z"],
  ["timestamp", '"2024-01-02T03:04:05.1+05:30"', "2024-01-01T21:34:05.100000Z"],
  ["timestamp", '"2024-12-31T23:59:59.999999-0100"', "2025-01-01T00:59:59.999999Z"],
  ["timestamp", '"2024-01-02T03:04:05.123456000Z"', "2024-01-02T03:04:05.123456Z"],
  ["timestamp", '"0001-01-01T00:00:00Z"', "0001-01-01T00:00:00Z"],
  ["timestamp", '"0001-01-01T14:00+14:00"', "0001-01-01T00:00:00Z"],
  ["timestamp", '"9999-12-31T23:59:59.999999Z"', "9999-12-31T23:59:59.999999Z"],
  ["timestamp", '"2024-12-31T24:00"', "2025-01-01T00:00:00Z"],
  ["timestamp", '"2024-02-28t24:00:00.000-00:30"', "2024-02-29T00:30:00Z"],
  ["date", '"2024-02-29"', "2024-02-29"],
  ["date", '"0099-12-31"', "0099-12-31"],
  ["uuid", '"0190A3C4-0000-7000-8000-00000000000F"', "0190a3c4-0000-7000-8000-00000000000f"],
  ["uuid", '"0190a3c400007000800000000000000f"', "0190a3c4-0000-7000-8000-00000000000f"],
  ["json", '{"b": 1.50,  "a": [12345678901234567890]}', '{"b": 1.50,  "a": [12345678901234567890]}'],
  ["json", '"text, with } and \\" in it"', '"text, with } and \\" in it"'],
  ["json", "[[],{}]", "[[],{}]"],
  ["json", "true", "true"],
];

const REFUSED: [TypeKind, string, RegExp][] = [
  ["string", "5", /Expected a string, got 5/],
  ["string", '"a\\u0000b"', /NUL/],
  ["string", '"\\ud800"', /surrogate/],
  ["string", "[]", /an array/],
  ["int", '"7"', /Expected an integer, got "7"/],
  ["int", "true", /got true/],
  ["int", "7.5", /got 7\.5/],
  ["int", "9223372036854775808", /9223372036854775808 is beyond the range of Int/],
  ["int", "-9223372036854775809", /beyond the range/],
  ["int", "1e400", /beyond the range/],
  ["int", "9007199254740993.5", /Expected an integer/],
  ["float", "1e999", /beyond the range of Float/],
  ["float", '"1.5"', /Expected a number/],
  ["float", "true", /Expected a number/],
  ["bool", "1", /true or false/],
  ["bool", '"yes"', /true or false/],
  ["timestamp", "1700000000", /ISO 8601/],
  ["timestamp", '"yesterday"', /ISO 8601.*yesterday/],
  ["timestamp", '"2024-02-30T00:00:00Z"', /ISO 8601/],
  ["timestamp", '"2024-01-02T24:00:01Z"', /ISO 8601/],
  ["timestamp", '"2024-01-02T24:01Z"', /ISO 8601/],
  ["timestamp", '"2024-01-02T25:00:00Z"', /ISO 8601/],
  ["timestamp", '"2016-12-31T23:59:60Z"', /leap second/],
  ["timestamp", '"2024-01-02T03:04:05+24:00"', /ISO 8601/],
  ["timestamp", '"9999-12-31T24:00Z"', /year 10000/],
  ["timestamp", '"2024-01-02T03:04:05.1234567Z"', /microseconds/],
  ["timestamp", '"0001-01-01T00:00:00+01:00"', /year 0/],
  ["timestamp", '"9999-12-31T23:59:59-01:00"', /year 10000/],
  ["date", '"2023-02-29"', /YYYY-MM-DD/],
  ["date", '"2024-01-02T00:00:00"', /YYYY-MM-DD/],
  ["date", '"0000-01-01"', /YYYY-MM-DD/],
  ["uuid", '"not-a-uuid"', /UUID/],
  ["uuid", "5", /UUID/],
  ["json", '{"a":["\\u0000"]}', /NUL/],
  ["json", '{"\\udc00":1}', /surrogate/],
  ["json", "[1e999]", /beyond the range/],
  ["json", `${"[".repeat(600)}${"]".repeat(600)}`, /nests deeper than 500/],
];

describe("values of a body", () => {
  test.each(ACCEPTED)("%s accepts %s", (kind, json, expected) => {
    expect(read(kind, json)).toStrictEqual(expected);
  });

  test.each(REFUSED)("%s refuses %s", (kind, json, message) => {
    const value = read(kind, json);
    expect(value).toBeInstanceOf(ValueError);
    expect((value as ValueError).detail).toMatch(message);
  });
});

describe("parses bodies", () => {
  test.each([
    ["", "The body is empty."],
    ["{", "The body is not JSON"],
    ['{"a": NaN}', "The body is not JSON"],
    ["{'a': 1}", "The body is not JSON"],
  ])("%j is not JSON", (text, detail) => {
    expect(() => parseBody(Buffer.from(text))).toThrow(
      expect.objectContaining({ code: "invalid_json", message: expect.stringContaining(detail) }),
    );
  });

  test.each(["null", "[]", '"x"', "5"])("%s is not an object", (text) => {
    expect(() => parseBody(text)).toThrow(expect.objectContaining({ code: "invalid_request" }));
  });

  test("rejects bytes that are not UTF-8 and accepts a replacement character", () => {
    expect(() => parseBody(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]))).toThrow(
      expect.objectContaining({ code: "invalid_json", message: "The body is not UTF-8." }),
    );
    expect(parseBody(Buffer.from('{"a":"\uFFFD"}')).members).toEqual({ a: "\uFFFD" });
  });

  test("the last of two equal member names counts, with its source text", () => {
    const body = parseBody('{"n": 1, "n": 12345678901234567890, "\\u006e": 9007199254740993}');
    expect(body.raw("n")).toBe("9007199254740993");
  });

  test("an empty object has no members", () => {
    expect(parseBody(" {} ").raw("x")).toBe("null");
  });
});
