/** Operators that the engine writes into expressions. No client may: the engine trusts what they hold. */
const ENGINE_OPERATORS: ReadonlyMap<string, string> = new Map([
  // A value for the rows of a view: null, and never computed, where its first argument is not true.
  ["op.when", "when"],
  // The rows of an iterator view that one row makes.
  ["op.rows", "rows"],
  ["op.iterate", "iterate"],
]);

/** The operators in `call` nodes by name, and their written form. */
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
  // A number from 0 to 1 for a text, always the same: which rows of a table a sampled view has.
  ["op.draw", "sample()"],
  // An output of such a row that is not stored: the iterator runs again.
  ["op.reread", "reread"],
  ...ENGINE_OPERATORS,
]);

/** The name of a function or operator for people: `/` for `op.truediv`; a function keeps its own id. */
export function shownFunction(id: string): string {
  return OPERATORS.get(id) ?? id;
}

/** Whether a manifest or a request may call it. */
export function isDeclaredOperator(id: string): boolean {
  return OPERATORS.has(id) && !ENGINE_OPERATORS.has(id);
}
