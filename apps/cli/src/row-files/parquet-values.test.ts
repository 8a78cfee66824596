import { dataColumn } from "@appdb/contract/testing/tables";
import { expect, test } from "vitest";
import { cellJson, PARSERS } from "./parquet-values.ts";

test.each([
  ['{"a": 12345678901234567890}', '{"a": 12345678901234567890}'],
  ['{\n"a": 1\r\n}', '{ "a": 1 }'],
  ['1}\n{"title": "x"', '"1}\\n{\\"title\\": \\"x\\""'],
])("writes JSON of a file in one line: %j", (text, line) => {
  const value = PARSERS.jsonFromBytes(Buffer.from(text));
  expect(cellJson(dataColumn("info", "Json"), value)).toBe(line);
});
