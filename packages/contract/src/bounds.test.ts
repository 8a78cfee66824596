import { expect, test } from "vitest";
import { type Expr, exprSchema, MAX_NODES } from "./expressions.ts";
import { MAX_JOINS, MAX_SORT_KEYS, querySchema } from "./query.ts";
import { tableChangeSchema } from "./routes/table-changes.ts";
import { MAX_COMMENT_LENGTH, MAX_EXPRESSION_TEXT, MAX_METADATA_LENGTH } from "./text-lengths.ts";

const one: Expr = { node: "literal", value: "1", type: { kind: "int" }, nullable: false };
const join = (_: unknown, at: number): unknown => ({ kind: "cross", table: "docs", as: `d${at}`, on: null });
const list = <Value>(length: number, of: (_: unknown, at: number) => Value) => Array.from({ length }, of);

function query(parts: Record<string, unknown>): unknown {
  const none = { where: null, group_by: [], distinct: false, order_by: [], limit: null, offset: null, tail: null };
  const from = { table: "docs", as: "docs" };
  return { from, joins: [], select: [{ name: "a", expr: one }], ...none, sample: null, ...parts };
}

test.each<[string, number, (_: unknown, at: number) => unknown]>([
  ["joins", MAX_JOINS, join],
  ["group_by", MAX_SORT_KEYS, () => one],
  ["order_by", MAX_SORT_KEYS, () => ({ expr: one, asc: true })],
])("a query has a maximum number of %s", (clause, most, of) => {
  expect(querySchema.safeParse(query({ [clause]: list(most, of) })).success).toBe(true);
  const { error } = querySchema.safeParse(query({ [clause]: list(most + 1, of) }));
  expect(error?.issues).toMatchObject([{ path: [clause], code: "too_big" }]);
});

test("an expression has a maximum number of parts", () => {
  const sum = (parts: number) => ({
    node: "list",
    items: list(parts - 1, () => one),
    type: { kind: "json" },
    nullable: false,
  });
  expect(exprSchema.safeParse(sum(MAX_NODES)).success).toBe(true);
  expect(exprSchema.safeParse(sum(MAX_NODES + 1)).error?.issues[0]?.message).toBe(`has more than ${MAX_NODES} parts`);
});

const column = {
  name: "a",
  type: { kind: "int" },
  nullable: true,
  primary_key: false,
  computed: null,
  comment: null,
  custom_metadata: null,
  source: { file: "app.py", line: 1 },
};

test.each([
  ["comment", { comment: "x".repeat(MAX_COMMENT_LENGTH + 1) }],
  ["custom_metadata", { custom_metadata: { x: "x".repeat(MAX_METADATA_LENGTH) } }],
  ["computed", { computed: { text: "x".repeat(MAX_EXPRESSION_TEXT + 1), expr: one } }],
  ["name", { name: "x".repeat(1_001) }],
])("a change with a %s that is too long is refused", (member, parts) => {
  const change = (of: unknown) => ({ change: "add_columns", table: "docs", columns: [of] });
  expect(tableChangeSchema.safeParse(change(column)).success).toBe(true);
  const { error } = tableChangeSchema.safeParse(change({ ...column, ...parts }));
  expect(error?.issues[0]?.path.slice(0, 3)).toEqual(["columns", 0, member]);
});
