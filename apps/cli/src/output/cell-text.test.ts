import { isObject, parseExact } from "@appdb/contract/clients/exact-json";
import { expect, test } from "vitest";
import { cellText } from "./cell-text.ts";

const image = { width: 640, height: 480, mode: "RGB", type: "image/png", bytes: 9_000, address: "/x" };

test.each<{ what: string; type: string; value: string; errors?: string; shown: string }>([
  { what: "a text", type: "String", value: '"a b"', shown: "a b" },
  { what: "control characters", type: "String", value: '"a\\n\\u001b[31m"', shown: "a\\n\\u001b[31m" },
  { what: "a long text", type: "String", value: JSON.stringify("x".repeat(99)), shown: `${"x".repeat(17)}...` },
  { what: "an integer above 2^53", type: "Int", value: "9007199254740993", shown: "9007199254740993" },
  { what: "null", type: "Int | None", value: "null", shown: "" },
  { what: "Json", type: "Json", value: '{"a":[1,null]}', shown: '{"a":[1,null]}' },
  { what: "an image", type: "Image", value: JSON.stringify(image), shown: "<Image 640x480 RGB>" },
  {
    what: "a document",
    type: "Document | None",
    value: '{"type":"text/a","bytes":20}',
    shown: "<Document text/a ...",
  },
  { what: "an image that was not read", type: "Image", value: '{"address":"/x"}', shown: "<Image>" },
  { what: "no image", type: "Image | None", value: "null", shown: "" },
  { what: "a failed cell", type: "Int", value: "null", errors: '{"c":{"type":"E","message":"m"}}', shown: "<E: m>" },
  { what: "a pending cell", type: "Int", value: "null", errors: '{"c":"pending"}', shown: "<pending>" },
])("$what is shown as $shown", ({ errors, shown, type, value }) => {
  const row = parseExact(`{"c":${value}${errors === undefined ? "" : `,"_errors":${errors}`}}`);
  if (!isObject(row)) throw new Error("not a row");
  const column = { name: "c", type, is_key: false, is_computed: false, value: null, comment: null };
  expect(cellText(row, column, 20)).toBe(shown);
});
