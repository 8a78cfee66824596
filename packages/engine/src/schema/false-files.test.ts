import { aColumn, aComputed, aTable, call, col, lit } from "@appdb/testkit/manifest-builder";
import { expect, test } from "vitest";
import { refuseFalseFiles } from "./false-files.ts";

const STORED = [aColumn("title", "string"), aColumn("photo", "image")];
const photo = col("photo", "image");

test("files are files in each expression", () => {
  const small = aComputed("small", call("image.resize", "image", photo));
  const width = aComputed("width", call("image.width", "int", photo));
  refuseFalseFiles([aTable("docs", [...STORED, small, width])]);
});

test.each([
  ["a text that is read as a file", aComputed("false", col("title", "image"))],
  ["a text within a call", aComputed("false", call("image.resize", "image", col("title", "image")))],
  ["a file that is read as a text", aComputed("false", col("photo", "string"))],
  ["a text of a file's column", { ...aComputed("false", col("title", "string")), type: { kind: "image" as const } }],
  [
    "a text as the default of a file",
    aColumn("false", "image", { default: { text: "'a'", expr: lit("a", "string") } }),
  ],
])("%s is refused", (_, column) => {
  const refuse = () => refuseFalseFiles([aTable("docs", [...STORED, column])]);
  expect(refuse).toThrowError(expect.objectContaining({ code: "app_invalid" }));
});
