import type { Expr } from "@appdb/contract/expressions";
import type { ColumnType } from "@appdb/contract/types";
import { BOOL_TYPE, JSON_TYPE, kindOf } from "../kinds/kinds.ts";
import { castToStorage } from "../kinds/storage-type.ts";
import { compileSql, ROW_COLUMNS } from "./compile-sql.ts";
import { referencedColumns } from "./needs-python.ts";
import { isTotalValue } from "./total-sql.ts";
import { mapParts } from "./tree.ts";

/**
 * The expression of a column that makes the rows of an iterator view: `op.rows(call, outputs, over base, own)`.
 *
 * - `call`: the call of the iterator over columns of the row at hand.
 * - `outputs`: a Json literal, the stored outputs in order.
 * - `over base`: the view's columns that also read columns of the row at hand.
 * - `own`: the other computed columns of the view's rows. Both are dicts by name; columns of the made rows have
 *   `of: "(rows)"`. Rows that are made of made rows nest: `of: "(rows)^"` there names a column of the rows one level above.
 */
const MADE = "(rows)";

export interface MadeRows {
  readonly call: Expr;
  readonly outputs: readonly MadeOutput[];
  /** The columns over the row that makes them and the own ones, each after those that it reads. */
  readonly computed: readonly MadeColumn[];
  /** The result has values for a response (responseRows), not texts for a trigger. */
  readonly for_response: boolean;
}

interface MadeColumn {
  readonly name: string;
  readonly expr: Expr;
  /** Whether it reads nothing but columns of its row. */
  readonly is_own: boolean;
}

/** The rows as they travel to their table: each column has the values in the order of the rows. */
export interface RowsText {
  readonly rows: number;
  /** Outputs, as constants have them (contract, expressions.ts). An array is its shape and its elements. */
  readonly given: Readonly<Record<string, unknown[]>>;
  /** Columns that are computed in Python, and outputs that are arrays, as PostgreSQL's texts. */
  readonly computed?: Readonly<Record<string, readonly (string | null)[]>>;
  /** Cell errors of rows by their numbers. */
  readonly errors?: Readonly<Record<string, unknown>>;
}

export interface MadeOutput {
  readonly name: string;
  readonly type: ColumnType;
  readonly nullable: boolean;
}

/** Builds the expression. `overBase` and `own` have their columns in the order in which they read each other. */
export function madeRowsExpr(parts: {
  readonly call: Expr;
  readonly outputs: readonly MadeOutput[];
  readonly overBase: readonly { readonly name: string; readonly expr: Expr }[];
  readonly own: readonly { readonly name: string; readonly expr: Expr }[];
}): Expr {
  const outputs: Expr = { node: "literal", value: JSON.stringify(parts.outputs), type: JSON_TYPE, nullable: false };
  return {
    node: "call",
    fn: "op.rows",
    args: [parts.call, outputs, dictOf(parts.overBase), dictOf(parts.own)],
    kwargs: {},
    type: JSON_TYPE,
    nullable: true,
  };
}

/** The rows that an expression makes; undefined for any other expression. Its columns of made rows have no `of`. */
export function madeRowsIn(expr: Expr): MadeRows | undefined {
  if (expr.node !== "call") return undefined;
  if (expr.fn === "op.when") return expr.args[1] === undefined ? undefined : madeRowsIn(expr.args[1]);
  if (expr.fn !== "op.rows") return undefined;
  const [call, outputs, overBase, own] = expr.args;
  if (call === undefined || outputs?.node !== "literal") return undefined;
  const columnsOf = (part: Expr | undefined, isOwn: boolean) =>
    part?.node === "dict" ? part.entries.map(({ key, value }) => ({ name: key, expr: value, is_own: isOwn })) : [];
  return {
    call,
    outputs: JSON.parse(String(outputs.value)) as MadeOutput[],
    computed: [...columnsOf(overBase, false), ...columnsOf(own, true)],
    for_response: expr.kwargs[FOR_RESPONSE] !== undefined,
  };
}

const FOR_RESPONSE = "for_response";

/**
 * The same rows for a response instead of a table, with only those computed columns that are in `levels[0]` or that
 * these read. The others are for rows of rows, whose columns are in the next set.
 */
export function responseRows(expr: Expr, [names = new Set(), ...deeper]: readonly ReadonlySet<string>[]): Expr {
  if (expr.node !== "call") return expr;
  if (expr.fn === "op.when") {
    const [condition, value] = expr.args;
    if (condition === undefined || value === undefined) return expr;
    return { ...expr, args: [condition, responseRows(value, [names, ...deeper])] };
  }
  const made = madeRowsIn(expr);
  if (made === undefined) return expr;
  const columns = new Map(made.computed.map(({ name, expr: value }) => [name, responseRows(value, deeper)]));
  const kept = new Set<string>();
  const keep = (name: string): void => {
    const value = columns.get(name);
    if (value === undefined || kept.has(name)) return;
    kept.add(name);
    for (const read of referencedColumns(ofMadeRow(value, () => ""))) keep(read);
  };
  for (const name of names) keep(name);
  const args = expr.args.map((part): Expr => {
    if (part.node !== "dict") return part;
    const entries = part.entries.flatMap(({ key }) => {
      const value = columns.get(key);
      return value === undefined || !kept.has(key) ? [] : [{ key, value }];
    });
    return { ...part, entries };
  });
  const mark: Expr = { node: "literal", value: true, type: BOOL_TYPE, nullable: false };
  return { ...expr, args, kwargs: { [FOR_RESPONSE]: mark } };
}

/** Whether the values of an output travel as PostgreSQL's texts. */
export function travelsAsText({ type }: Pick<MadeOutput, "type">): boolean {
  return kindOf(type).wire !== null;
}

/**
 * The own columns that SQL computes while rows are stored, by name. Their SQL never fails, reads outputs and each other,
 * and no column that Python computes reads them.
 */
export function sqlOfMade({ outputs, computed, for_response: isResponse }: MadeRows): ReadonlyMap<string, string> {
  if (isResponse) return new Map();
  const known = new Set(["pos", ...outputs.map(({ name }) => name)]);
  const found = new Map<string, string>();
  const columns = computed.map(({ name, expr, is_own: isOwn }) => {
    const own = ofMadeRow(expr, (above) => `^${above}`);
    const reads = referencedColumns(own);
    const sql =
      isOwn && reads.every((read) => known.has(read)) && isTotalValue(own) ? compileSql(own, ROW_COLUMNS) : undefined;
    if (sql !== undefined) {
      known.add(name);
      found.set(name, castToStorage(sql, expr.type));
    }
    return { name, reads };
  });
  for (const { name, reads } of columns.toReversed()) {
    if (!found.has(name)) for (const read of reads) found.delete(read);
  }
  return found;
}

/** The same expression that only runs the iterator, for the worker: the rows' outputs (RowsText). */
export function iterateExpr(expr: Expr): Expr {
  if (expr.node !== "call") return expr;
  if (expr.fn === "op.when") {
    const [condition, value] = expr.args;
    return condition === undefined || value === undefined ? expr : { ...expr, args: [condition, iterateExpr(value)] };
  }
  return expr.fn === "op.rows" ? { ...expr, fn: "op.iterate", args: expr.args.slice(0, 2), kwargs: {} } : expr;
}

/** The outputs of an expression that runs an iterator; undefined for any other expression. */
export function iteratedOutputs(expr: Expr): readonly MadeOutput[] | undefined {
  if (expr.node !== "call") return undefined;
  if (expr.fn === "op.when") return expr.args[1] === undefined ? undefined : iteratedOutputs(expr.args[1]);
  const outputs = expr.fn === "op.iterate" ? expr.args[1] : undefined;
  return outputs?.node === "literal" ? (JSON.parse(String(outputs.value)) as MadeOutput[]) : undefined;
}

/** Without the columns that each made row computes of itself: changes of these are changes of the view's table. */
export function withoutOwn(expr: Extract<Expr, { node: "call" }>): Expr {
  return expr.fn === "op.rows" ? { ...expr, args: expr.args.slice(0, 3) } : expr;
}

/** The previous expression of a column without those columns of made rows that it has no more: the others stay as they are. */
export function withoutLost(before: Expr, now: Expr): Expr {
  if (before.node !== "call" || now.node !== "call" || before.fn !== now.fn) return before;
  if (before.fn === "op.when") {
    const [member, value] = before.args;
    const next = now.args[1];
    if (member === undefined || value === undefined || next === undefined) return before;
    return { ...before, args: [member, withoutLost(value, next)] };
  }
  const made = madeRowsIn(now);
  if (before.fn !== "op.rows" || made === undefined) return before;
  const names = new Set(made.computed.map(({ name }) => name));
  const left = (part: Expr): Expr =>
    part.node === "dict" ? { ...part, entries: part.entries.filter(({ key }) => names.has(key)) } : part;
  return { ...before, args: before.args.map(left) };
}

/** Marks the columns in `names` as columns of the made rows. */
export function asMade(expr: Expr, names: ReadonlySet<string>, depth = 0): Expr {
  const read = mapLevels(expr, depth, (part, at) => asMade(part, names, at));
  const name = nameRead(read);
  if (name === undefined || !names.has(name) || ("of" in read && read.of !== undefined)) return read;
  return { ...read, of: madeAt(depth) } as Expr;
}

/** The expression of a made row's column, over that row. Columns of the row that makes it get other names. */
export function ofMadeRow(expr: Expr, nameAbove: (name: string) => string, depth = 0): Expr {
  const read = mapLevels(expr, depth, (part, at) => ofMadeRow(part, nameAbove, at));
  if (read.node !== "column" && read.node !== "cell_error") return read;
  const { of, ...own } = read;
  if (of === madeAt(depth)) return own as Expr;
  return of === undefined && read.node === "column" ? { ...read, name: nameAbove(read.name) } : read;
}

function nameRead(expr: Expr): string | undefined {
  if (expr.node === "column") return expr.name;
  return expr.node === "cell_error" ? expr.column : undefined;
}

function madeAt(depth: number): string {
  return `${MADE}${"^".repeat(depth)}`;
}

/** Maps the parts of an expression. Columns of rows that it makes are one level deeper. */
function mapLevels(expr: Expr, depth: number, map: (part: Expr, depth: number) => Expr): Expr {
  if (expr.node !== "call" || expr.fn !== "op.rows") return mapParts(expr, (part) => map(part, depth));
  return { ...expr, args: expr.args.map((part, at) => map(part, at < 2 ? depth : depth + 1)) };
}

function dictOf(columns: readonly { readonly name: string; readonly expr: Expr }[]): Expr {
  const entries = columns.map(({ name, expr }) => ({ key: name, value: expr }));
  return { node: "dict", entries, type: JSON_TYPE, nullable: false };
}
