import { isObject, parseExact } from "@appdb/contract/clients/exact-json";
import { dataColumn, dataTable } from "@appdb/contract/testing/tables";
import { expect, test } from "vitest";
import { cellProblem, draftOf, updateBody } from "./cell-draft.ts";
import { conditionExample } from "./condition-example.ts";
import { deleteBody, keyTexts } from "./row-key.ts";

const table = dataTable("docs", {
  columns: [
    dataColumn("id", "Int", { is_key: true }),
    dataColumn("lang", "String", { is_key: true }),
    dataColumn("my title", "String"),
    dataColumn("score", "Float | None"),
    dataColumn("meta", "Json | None"),
    dataColumn("ok", "Bool"),
  ],
});

function rowOf(text: string) {
  const row = parseExact(text);
  if (!isObject(row)) throw new TypeError("expected an object");
  return row;
}

const row = rowOf('{"id":9007199254740993,"lang":"de","my title":"a","score":1.50,"meta":"x","ok":true}');
const [, , title, score, meta, ok] = table.columns;

test("a change has the key and only the changed cells, with all digits", () => {
  const drafts = Object.fromEntries(
    table.columns.filter((one) => !one.is_key).map((one) => [one.name, draftOf(row, one)]),
  );
  expect(updateBody(table, row, drafts)).toBeUndefined();
  const score12 = { text: "12345678901234567890.10", is_null: false };
  expect(updateBody(table, row, { ...drafts, score: score12, meta: { text: "", is_null: true } })).toBe(
    '{"rows":[{"id":9007199254740993,"lang":"de","score":12345678901234567890.10,"meta":null}]}',
  );
  expect(updateBody(table, row, { "my title": { text: "", is_null: false } })).toBe(
    '{"rows":[{"id":9007199254740993,"lang":"de","my title":""}]}',
  );
});

test("a text in a Json column is edited as JSON", () => {
  expect(meta && draftOf(row, meta)).toEqual({ text: '"x"', is_null: false });
});

test.each([
  [score, "1e5", undefined],
  [score, "many", "Expected a number: 0.5."],
  [score, "", "Expected a number: 0.5."],
  [meta, '{"a": [1]}', undefined],
  [meta, '"text"', undefined],
  [meta, "{", 'Expected JSON: {"a": 1}.'],
  [ok, "TRUE", undefined],
  [ok, "yes", undefined],
  [ok, "maybe", "Expected true or false."],
  [title, "any", undefined],
])("%j takes %j: %j", (of, text, problem) => {
  expect(of && cellProblem(of, text)).toBe(problem);
});

test("rows are named by their keys", () => {
  expect(keyTexts(table, row)).toEqual(["9007199254740993", "de"]);
  expect(deleteBody(table, [row])).toBe('{"keys":[[9007199254740993,"de"]]}');
});

test("an example of a condition is about the table's own columns", () => {
  expect(conditionExample(table)).toBe(`"my title" like 'a%' and score > 0`);
  expect(conditionExample({ ...table, columns: [] })).toBe("true");
});
