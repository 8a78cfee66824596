import type { Expr } from "@appdb/contract/expressions";
import type { TypeKind } from "@appdb/contract/types";
import { expect, test } from "vitest";
import { literalSql } from "../kinds/values.ts";
import { quoteIdent, quoteLiteral } from "../sql/quote.ts";
import { type CellErrorNode, type ColumnNode, compileSql, ROW_COLUMNS } from "./compile-sql.ts";
import { referencedColumns, udfsOf } from "./needs-python.ts";

function column(name: string, kind: TypeKind): Expr {
  return { node: "column", name, type: { kind }, nullable: true };
}

function literal(value: string | number | boolean | null, kind: TypeKind): Expr {
  return { node: "literal", value, type: { kind }, nullable: value === null };
}

function call(fn: string, kind: TypeKind, args: Expr[], kwargs: Record<string, Expr> = {}): Expr {
  return { node: "call", fn, args, kwargs, type: { kind }, nullable: true };
}

function udf(id: string, args: Expr[]): Expr {
  return { node: "udf", function: id, args, kwargs: {}, type: { kind: "string" }, nullable: true };
}

test("upper of a column is upper in SQL", () => {
  expect(compileSql(call("string.upper", "string", [column('ti"tle', "string")]), ROW_COLUMNS)).toBe(
    'upper("ti""tle")',
  );
});

test("an application function anywhere leaves the whole tree to Python", () => {
  const inner = udf("app:f", [column("a", "string")]);
  expect(compileSql(inner, ROW_COLUMNS)).toBeUndefined();
  expect(compileSql(call("string.upper", "string", [inner]), ROW_COLUMNS)).toBeUndefined();
});

test("functions whose SQL would differ from Python have no SQL form", () => {
  const text = column("a", "string");
  const float = column("f", "float");
  for (const expr of [
    call("string.title", "string", [text]),
    call("string.nowhere", "string", [text]),
    call("op.mod", "float", [float, float]),
    call("op.pow", "int", [column("i", "int"), column("i", "int")]),
    call("op.cast", "string", [float]),
    call("op.eq", "bool", [column("j", "json"), column("j", "json")]),
    call("string.replace", "string", [text, literal("", "string"), text]),
  ]) {
    expect(compileSql(expr, ROW_COLUMNS)).toBeUndefined();
  }
});

test("a part of a Json value runs in Python; its conversion is SQL", () => {
  const path: Expr = {
    node: "path",
    base: column("doc", "json"),
    steps: [{ key: "it's" }, { index: -1 }],
    type: { kind: "json" },
    nullable: true,
  };
  expect(compileSql(path, ROW_COLUMNS)).toBeUndefined();
  expect(compileSql(call("op.is_null", "bool", [path]), ROW_COLUMNS)).toContain(
    `("doc" -> 'it''s'::text -> '-1'::int4)`,
  );
});

test("Python evaluates a null constant next to an operand that may fail", () => {
  const quotient = call("op.floordiv", "int", [literal("1", "int"), column("i", "int")]);
  expect(compileSql(call("op.add", "int", [quotient, literal(null, "int")]), ROW_COLUMNS)).toBeUndefined();
});

test("a form that repeats its argument makes a new uuid only once", () => {
  const text = call("op.cast", "string", [call("uuid.uuid4", "uuid", [])]);
  expect(compileSql(text, ROW_COLUMNS)).toBe("gen_random_uuid()::text");
  expect(compileSql(call("string.endswith", "bool", [column("a", "string"), text]), ROW_COLUMNS)).toBeUndefined();
});

test("very long SQL expressions are left to Python", () => {
  let expr: Expr = column("i", "int");
  for (let depth = 0; depth < 12; depth++) expr = call("op.mod", "int", [column("i", "int"), expr]);
  expect(compileSql(expr, ROW_COLUMNS)).toBeUndefined();
});

test("a tree lists each column and function once", () => {
  const expr = call("op.add", "string", [
    udf("app:f", [column("a", "string"), column("b", "string")]),
    call("string.format", "string", [column("a", "string")], { x: udf("app:f", [column("c", "json")]) }),
  ]);
  expect(referencedColumns(expr)).toEqual(["a", "b", "c"]);
  expect(udfsOf(expr)).toEqual(["app:f"]);
});

test("names and text cannot end their quotes", () => {
  expect(quoteIdent('a"; drop table x; --')).toBe('"a""; drop table x; --"');
  expect(quoteLiteral("a'; drop table x; --")).toBe("'a''; drop table x; --'");
  expect(quoteLiteral("\\'; drop")).toBe("E'\\\\''; drop'");
  expect(() => quoteLiteral("a\0b")).toThrow(/NUL/);
  expect(() => quoteIdent("a\0b")).toThrow(/NUL/);
});

test("a literal of the wrong kind has no SQL", () => {
  expect(literalSql("1; drop table x", { kind: "int" })).toBeUndefined();
  expect(literalSql("1", { kind: "float" })).toBeUndefined();
  expect(literalSql("true; drop", { kind: "bool" })).toBeUndefined();
  expect(literalSql("a\0b", { kind: "string" })).toBeUndefined();
  expect(literalSql(1e22, { kind: "float" })).toBe("'1e+22'::float8");
  expect(literalSql(-0, { kind: "float" })).toBe("'-0'::float8");
  expect(literalSql(null, { kind: "date" })).toBe("NULL::date");
});

test("the caller supplies columns of several tables, parameters and cell errors", () => {
  const of = (name: string, table: string): Expr => ({ ...column(name, "int"), of: table }) as Expr;
  const parameter: Expr = { node: "parameter", name: "most", type: { kind: "int" }, nullable: false };
  const why: Expr = {
    node: "cell_error",
    column: "n",
    of: "b",
    part: "type",
    type: { kind: "string" },
    nullable: true,
  };
  const expr = call("op.and", "bool", [
    call("op.lt", "bool", [of("n", "a"), parameter]),
    call("op.is_null", "bool", [why]),
  ]);
  const sources = {
    columnSql: (node: ColumnNode) => `${node.of}.${quoteIdent(node.name)}`,
    parameterSql: () => "$3::int8",
    cellErrorSql: (node: CellErrorNode) => `(${node.of}._errors -> 'n' ->> 'type')`,
  };
  expect(compileSql(expr, sources)).toBe(
    `(NOT (false = ANY (ARRAY[(a."n" < $3::int8), ((b._errors -> 'n' ->> 'type') IS NULL)])))`,
  );
  expect(compileSql(expr, ROW_COLUMNS)).toBeUndefined();
});

test("AND and OR may skip only operands that never raise", () => {
  const [below, above] = ["op.lt", "op.gt"].map((fn) => call(fn, "bool", [column("i", "int"), literal("1", "int")]));
  const quotient = call("op.truediv", "float", [column("i", "int"), column("i", "int")]);
  const raising = call("op.lt", "bool", [quotient, literal(1, "float")]);
  const json = call("op.is_null", "bool", [column("a", "json")]);
  const sqlOf = (fn: string, ...args: (Expr | undefined)[]) =>
    compileSql(
      call(
        fn,
        "bool",
        args.filter((one) => one !== undefined),
      ),
      ROW_COLUMNS,
    );
  expect(sqlOf("op.and", below, above)).toBe(`(("i" < '1'::int8) AND ("i" > '1'::int8))`);
  expect(sqlOf("op.or", below, above)).toBe(`(("i" < '1'::int8) OR ("i" > '1'::int8))`);
  expect(sqlOf("op.and", below, raising)).toMatch(/^\(NOT \(false = ANY/);
  expect(sqlOf("op.or", raising, above)).toMatch(/^\(true = ANY/);
  expect(sqlOf("op.and", below, json)).toMatch(/^\(NOT \(false = ANY/);
});

test("a nullable parameter is folded like a null constant, except next to columns", () => {
  const parameter: Expr = { node: "parameter", name: "most", type: { kind: "int" }, nullable: true };
  const sources = { ...ROW_COLUMNS, parameterSql: () => "$1::int8" };
  const quotient = call("op.floordiv", "int", [literal("1", "int"), column("i", "int")]);
  expect(compileSql(call("op.add", "int", [quotient, parameter]), sources)).toBeUndefined();
  const sum = call("op.add", "int", [column("i", "int"), parameter]);
  expect(compileSql(sum, sources)).toBe('("i" + $1::int8)');
  expect(compileSql(call("op.add", "int", [quotient, sum]), sources)).toBeUndefined();
});
