/** The operators in `call` nodes by name, and how a person writes each. */
export const OPERATORS: ReadonlyMap<string, string> = new Map([
  ["op.add", "+"],
  ["op.sub", "-"],
  ["op.mul", "*"],
  ["op.truediv", "/"],
  ["op.floordiv", "//"],
  ["op.mod", "%"],
  ["op.pow", "**"],
  ["op.neg", "-"],
  ["op.eq", "=="],
  ["op.ne", "!="],
  ["op.lt", "<"],
  ["op.le", "<="],
  ["op.gt", ">"],
  ["op.ge", ">="],
  ["op.and", "&"],
  ["op.or", "|"],
  ["op.not", "~"],
  ["op.is_null", "== None"],
  ["op.is_not_null", "!= None"],
  ["op.cast", "astype()"],
  ["op.in", "isin()"],
  ["op.abs", "abs()"],
  ["op.round", "round()"],
]);

/** What a function or operator is called towards people: `/` for `op.truediv`; a function's own id stays. */
export function shownFunction(id: string): string {
  return OPERATORS.get(id) ?? id;
}
