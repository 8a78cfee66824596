import { expect, test } from "vitest";
import { ExactNumber, isObject, parseExact, printExact } from "./exact-json.ts";

test("numbers keep all digits", () => {
  const text = '{"a":9007199254740993,"b":[-1.50,1e-7,12345678901234567890123],"c":0}';
  expect(printExact(parseExact(text))).toBe(text);
});

test("texts, nested values and the order of keys are kept", () => {
  const text = String.raw`{"z":"a \"quoted\" \\ line\nbreak \u00e9 {[,:]}","__proto__":{"x":[true,false,null,[],{}]},"":""}`;
  expect(JSON.stringify(JSON.parse(printExact(parseExact(text))))).toBe(JSON.stringify(JSON.parse(text)));
  const value = parseExact(text);
  expect(isObject(value) && [...value.keys()]).toEqual(["z", "__proto__", ""]);
});

test("a text of millions of escapes is one token", () => {
  const text = JSON.stringify('"\\'.repeat(2_500_000));
  expect(parseExact(text)).toBe(JSON.parse(text));
});

test("whitespace is skipped", () => {
  expect(parseExact(' \n[ 1 , "a" ]\t')).toEqual([new ExactNumber("1"), "a"]);
});

test.each(["", "{", '{"a"}', "[1,]", "[1 2]", "nul", '{"a":1}x', "{1:2}", ":"])("%j is not JSON", (text) => {
  expect(() => parseExact(text)).toThrow(SyntaxError);
});

test("an indented value has a line for each member, and numbers in one line", () => {
  expect(printExact(parseExact('{"a":[1,2],"b":[{"c":null}],"d":{}}'), 2)).toBe(
    '{\n  "a": [1, 2],\n  "b": [\n    {\n      "c": null\n    }\n  ],\n  "d": {}\n}',
  );
});
