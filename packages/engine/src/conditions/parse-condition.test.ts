import { AppError, appError } from "@appdb/contract/errors";
import type { Expr } from "@appdb/contract/expressions";
import type { ColumnType } from "@appdb/contract/types";
import { describe, expect, test } from "vitest";
import type { CatalogColumn } from "../catalog/catalog.ts";
import { parseCondition } from "./parse-condition.ts";

const TYPES: Readonly<Record<string, ColumnType["kind"]>> = {
  score: "float",
  n: "int",
  title: "string",
  tag: "string",
  done: "bool",
  made: "timestamp",
  day: "date",
  uid: "uuid",
  meta: "json",
  picture: "image",
  "Odd name": "int",
};
const columns = Object.entries(TYPES).map(
  ([name, kind], id): CatalogColumn => ({
    id,
    name,
    type: { kind },
    nullable: true,
    primary_key: false,
    computed: null,
    state: "ready",
    comment: null,
    custom_metadata: null,
  }),
);
const notFound = (name: string) => appError("column_not_found", { detail: `no ${name}` });
const parse = (text: string) => parseCondition(text, { columns, notFound });

/** A short form of an expression, with all parentheses. */
function shown(expr: Expr): string {
  switch (expr.node) {
    case "column":
      return expr.name;
    case "literal":
      return `${expr.type.kind}:${expr.value}`;
    case "call":
      return `${expr.fn.replace("op.", "")}(${expr.args.map(shown).join(" ")})`;
    case "path":
      return `${shown(expr.base)}${JSON.stringify(expr.steps)}`;
    case "cell_error":
      return `${expr.part} of ${expr.column}`;
    default:
      throw new Error(`unexpected ${expr.node}`);
  }
}

test.each([
  ["score > 0.5", "gt(score float:0.5)"],
  ["score>=-1", "ge(score float:-1)"],
  ["n = 9223372036854775807", "eq(n int:9223372036854775807)"],
  ["0.5 < score and n == 1 or done", "or(and(lt(float:0.5 score) eq(n int:1)) done)"],
  ["n = 1 or n = 2 and n = 3", "or(eq(n int:1) and(eq(n int:2) eq(n int:3)))"],
  ["(n = 1 or n = 2) and not done", "and(or(eq(n int:1) eq(n int:2)) not(done))"],
  ["NOT n = 1 AND Score <> 2", "and(not(eq(n int:1)) ne(score float:2))"],
  ["title like 'x%'", "condition.like(title string:x%)"],
  ["title not like 'it''s%'", "not(condition.like(title string:it's%))"],
  ["tag in ('a','b')", "in(tag string:a string:b)"],
  ["tag not in ('a')", "not(in(tag string:a))"],
  ["score is null", "is_null(score)"],
  ["score is not null and picture is null", "and(is_not_null(score) is_null(picture))"],
  ["n between 1 and 3 and done", "and(and(ge(n int:1) le(n int:3)) done)"],
  ["n not between 1 and 3", "not(and(ge(n int:1) le(n int:3)))"],
  ["n * 2 + 1 > n % 3", "gt(add(mul(n int:2) int:1) mod(n int:3))"],
  ["(n + 1) * 2 = -n", "eq(mul(add(n int:1) int:2) neg(n))"],
  ["n / 2 > 1", "gt(truediv(n int:2) float:1)"],
  ["title + '!' = 'a!'", "eq(add(title string:!) string:a!)"],
  ["meta.key = 'x'", 'eq(meta[{"key":"key"}] json:"x")'],
  ["meta['a b'][0].c[-1] != true", 'ne(meta[{"key":"a b"},{"index":0},{"key":"c"},{"index":-1}] json:true)'],
  ["meta.n > 5", 'gt(condition.number(meta[{"key":"n"}]) float:5)'],
  ["5 > meta.n", 'gt(float:5 condition.number(meta[{"key":"n"}]))'],
  ["meta.active", 'condition.bool(meta[{"key":"active"}])'],
  ["meta.t like 'a%'", 'condition.like(condition.text(meta[{"key":"t"}]) string:a%)'],
  ["meta.t in ('a', 2)", 'in(meta[{"key":"t"}] json:"a" json:2)'],
  ["meta.key is null", 'is_null(meta[{"key":"key"}])'],
  ['"Odd name" = 1', "eq(Odd name int:1)"],
  ["made >= '2026-01-02T03:04:05Z'", "ge(made timestamp:2026-01-02T03:04:05Z)"],
  ["'2026-01-02' = day", "eq(date:2026-01-02 day)"],
  ["uid = '01890A5D-AC96-774B-BCCE-B302099A8057'", "eq(uid uuid:01890a5d-ac96-774b-bcce-b302099a8057)"],
  ["errortype(score) = 'ValueError'", "eq(type of score string:ValueError)"],
  ["errormsg(score) like '%bad%'", "condition.like(message of score string:%bad%)"],
  ["true", "bool:true"],
  ["((((done))))", "done"],
])("parses %s", (text, expected) => {
  expect(shown(parse(text))).toBe(expected);
});

test("long chains are balanced, and long lists divided", () => {
  const depth = (expr: Expr): number => (expr.node === "call" ? 1 + Math.max(...expr.args.map(depth)) : 0);
  expect(depth(parse(Array.from({ length: 500 }, (_, at) => `n = ${at}`).join(" or ")))).toBeLessThan(12);
  const listed = parse(`n in (${Array.from({ length: 120 }, (_, at) => at).join(", ")})`);
  expect(shown(listed).match(/in\(/g)).toHaveLength(3);
});

describe("refuses", () => {
  test.each([
    ["", "at its end: Expected a column or a value, got the end."],
    ["score >", "at its end: Expected a column or a value, got the end."],
    ["score > 0.5 and", "at its end: Expected a column or a value"],
    ["score > 0.5 0.6", 'at character 13, "0.6": Expected and, or, or the end, got "0.6".'],
    ["score > > 1", 'at character 9, "> 1": Expected a column or a value, got ">".'],
    ["1 < n < 3", 'at character 7, "< 3": Expected and, or, or the end'],
    ["(n = 1", "at its end: Expected an operator or ), got the end."],
    ["n = 1)", 'at character 6, ")": Expected and, or, or the end'],
    ["score", "Expected a condition, got a value of the type Float."],
    ["not title", "Expected a condition, got a value of the type String."],
    ["n = 'x'", "= does not compare Int with String."],
    ["title = 5", "= does not compare String with Int."],
    ["title > done", "> does not compare String with Bool."],
    ["done + 1 = 2", "+ does not take Bool and Int."],
    ["title - 'x' = 'y'", "- does not take String and String."],
    ["-title = 'y'", "- does not take String."],
    ["n like 'x'", "like does not compare Int with String."],
    ["n in (1, 'x')", "in does not compare Int with String."],
    ["n in 1", "Expected a list of values in parentheses"],
    ["n in ()", "Expected a column or a value"],
    ["n in (1", "Expected a comma or ), got the end."],
    ["n is 5", "Expected null or not null"],
    ["n is not 5", "Expected null, got"],
    ["n not 5", "Expected in, like or between"],
    ["n between 1", "Expected and, with the upper bound after it"],
    ["n = null", "null equals no value."],
    ["n = and", 'Expected a column or a value, got "and".'],
    ["title = 'x", "The text that begins here does not end."],
    ['"title = 5', "The name that begins here does not end."],
    ["n = 1 & done", 'Expected a name, a value or an operator, got "&".'],
    ["n = 1; drop table docs", 'Expected a name, a value or an operator, got ";".'],
    ["n = 5x", "Expected a name, a value or an operator"],
    ["n = 99999999999999999999", "beyond the range of Int"],
    ["title.key = 1", "title has no parts: only Json columns have."],
    ["meta. = 1", "Expected a key"],
    ["meta[title] = 1", "Expected a key in quotes or a number"],
    ["meta[0 = 1", "Expected ]"],
    ["made > 'yesterday'", '"yesterday" is not a value of the type Timestamp.'],
    ["day = '2026-02-30'", '"2026-02-30" is not a value of the type Date.'],
    ["uid = 'x'", '"x" is not a value of the type UUID.'],
    ["lower(title) = 'x'", "There is no function lower."],
    ["errortype('x') = 'y'", "Expected a column"],
    [`${"(".repeat(60)}n = 1${")".repeat(60)}`, "It is nested more than 50 levels deep."],
    [`${"not ".repeat(60)}done`, "It is nested more than 50 levels deep."],
    [`n ${"+ 1 ".repeat(60)}> 1`, "It is nested more than 50 levels deep."],
    [`${"-".repeat(60)}n > 1`, "It is nested more than 50 levels deep."],
    [`title = '${"x".repeat(10_000)}'`, "The condition has 10010 characters; the maximum is 10000."],
  ])("%s", (text, expected) => {
    try {
      parse(text);
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      expect([error.code, error.message]).toEqual(["invalid_condition", expect.stringContaining(expected)]);
      expect(error.hint).toBeTruthy();
      return;
    }
    throw new Error("It was not refused.");
  });

  test("an unknown name", () => {
    expect(() => parse("titel = 'x'")).toThrow("no titel");
    expect(() => parse('"SCORE" = 1')).toThrow("no SCORE");
    expect(() => parse("errortype(x) = 'y'")).toThrow("no x");
  });
});
