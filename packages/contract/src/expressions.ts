import * as z from "zod";
import { makesFile } from "./file-functions.ts";
import { isDeclaredOperator, shownFunction } from "./operators.ts";
import { ANY_TYPE, type ColumnType, columnTypeSchema, isMediaKind } from "./types.ts";

/**
 * An expression tree as the Python library writes it. Every node carries the type and nullability of its value.
 *
 * - `column`: the stored value of a column of the same row; in a query `of` names the table's alias (query.ts).
 * - `literal`: `value` is JSON text for json and array, decimal text for int, ISO text for timestamp and date, text for
 *   uuid, base64 for binary, a JSON string, number or boolean for string, float and bool; null for null. Media have no
 *   other literal than null.
 * - `call`: a function of ours, an operator among them (`op.add`, `string.upper`); operators.ts lists the operators,
 *   whose arguments are positional. `op.cast` takes its target from the node's type, `op.in` the value, then the values that it may be, or by name `options`, a Json list of them. The mapping
 *   functions (`map`, `filter`, `sort`) take the list, then an expression over `item`.
 * - `udf`: a function of the application, by its id in the manifest.
 * - `path`: steps into a Json value; a missing key or index gives null.
 * - `dict`, `list`: a Json value made of parts.
 * - `item`: inside the second argument of a mapping function, the element at hand; `depth` 0 is the innermost function's.
 * - `cell_error`: why a computed column's cell has no value: the exception's class name or its message; null if it has one.
 * - `query`: the result of a query of the application, by its id; only in a computed column.
 * - `aggregate`: a value of many rows; only in a query. `fn` is one of ours (`sum`) or, with `is_udf`, a function's id.
 *   `order_by` sorts the rows of a group, ascending; without it they come in insertion order.
 * - `window`: an aggregate for each row of a query: over the rows of its group up to the row, sorted by `order_by` and then in
 *   insertion order. Without `group_by` all rows are one group.
 * - `parameter`: a parameter of the query that it stands in.
 * - `similarity`: how alike a column's vector in an embedding index and that of `value` are; only in a query. `value` is a
 *   vector, or of the column's own type: then the index's function makes its vector, once for all rows. `cosine` is 1 for the
 *   same direction, `ip` the inner product, `l2` the distance. `index` is null where the column has but one. Sorting by the
 *   node itself is sorting by likeness, whichever way the number goes: the nearest rows come first when descending.
 */
export type Expr =
  | { node: "column"; name: string; of?: string | undefined; type: ColumnType; nullable: boolean }
  | { node: "literal"; value: string | number | boolean | null; type: ColumnType; nullable: boolean }
  | { node: "call"; fn: string; args: Expr[]; kwargs: Record<string, Expr>; type: ColumnType; nullable: boolean }
  | { node: "udf"; function: string; args: Expr[]; kwargs: Record<string, Expr>; type: ColumnType; nullable: boolean }
  | { node: "path"; base: Expr; steps: PathStep[]; type: ColumnType; nullable: boolean }
  | { node: "dict"; entries: { key: string; value: Expr }[]; type: ColumnType; nullable: boolean }
  | { node: "list"; items: Expr[]; type: ColumnType; nullable: boolean }
  | { node: "item"; depth: number; type: ColumnType; nullable: boolean }
  | {
      node: "cell_error";
      column: string;
      of?: string | undefined;
      part: "type" | "message";
      type: ColumnType;
      nullable: boolean;
    }
  | { node: "query"; query: string; args: Record<string, Expr>; type: ColumnType; nullable: boolean }
  | {
      node: "aggregate";
      fn: string;
      is_udf: boolean;
      args: Expr[];
      kwargs: Record<string, Expr>;
      order_by?: Expr[] | undefined;
      type: ColumnType;
      nullable: boolean;
    }
  | {
      node: "window";
      fn: string;
      is_udf: boolean;
      args: Expr[];
      kwargs: Record<string, Expr>;
      group_by: Expr[];
      order_by: Expr[];
      type: ColumnType;
      nullable: boolean;
    }
  | { node: "parameter"; name: string; type: ColumnType; nullable: boolean }
  | {
      node: "similarity";
      column: string;
      of?: string | undefined;
      index: string | null;
      metric: VectorMetric;
      value: Expr;
      type: ColumnType;
      nullable: boolean;
    };

/** Functions whose bare call makes a value for each new row. The row keeps it through recomputes. */
const GENERATORS = { "uuid.uuid7": "uuid7", "uuid.uuid4": "uuid4", "timestamp.now": "now" } as const;
export type Generator = (typeof GENERATORS)[keyof typeof GENERATORS];

/** The generator that an expression is a bare call of; undefined for any other expression. */
export function generatorOf(expr: Expr): Generator | undefined {
  if (expr.node !== "call" || expr.args.length > 0 || Object.keys(expr.kwargs).length > 0) return undefined;
  return (GENERATORS as Readonly<Record<string, Generator>>)[expr.fn];
}

export const VECTOR_METRICS = ["cosine", "ip", "l2"] as const;
export type VectorMetric = (typeof VECTOR_METRICS)[number];

/** One step into a Json value. `slice` is Python's start, stop, step; `wildcard` and `slice` make a list of what
 *  follows. */
export type PathStep =
  | { key: string }
  | { index: number }
  | { slice: [number | null, number | null, number | null] }
  | { wildcard: true };

const pathStepSchema: z.ZodType<PathStep> = z.union([
  z.strictObject({ key: z.string() }),
  z.strictObject({ index: z.int() }),
  z.strictObject({ slice: z.tuple([z.int().nullable(), z.int().nullable(), z.int().nullable()]) }),
  z.strictObject({ wildcard: z.literal(true) }),
]);

const typed = { type: columnTypeSchema, nullable: z.boolean() };
const lazyExpr = z.lazy((): z.ZodType<Expr> => nodeSchema);

const anyNodeSchema = z.discriminatedUnion("node", [
  z.strictObject({ node: z.literal("column"), name: z.string(), of: z.string().optional(), ...typed }),
  z.strictObject({
    node: z.literal("literal"),
    value: z.union([z.string(), z.number(), z.boolean(), z.null()]),
    ...typed,
  }),
  z.strictObject({
    node: z.literal("call"),
    fn: z.string().refine((name) => !name.startsWith("op.") || isDeclaredOperator(name), "is not a known operator"),
    args: z.array(lazyExpr),
    kwargs: z.record(z.string(), lazyExpr),
    ...typed,
  }),
  z.strictObject({
    node: z.literal("udf"),
    function: z.string(),
    args: z.array(lazyExpr),
    kwargs: z.record(z.string(), lazyExpr),
    ...typed,
  }),
  z.strictObject({ node: z.literal("path"), base: lazyExpr, steps: z.array(pathStepSchema).min(1), ...typed }),
  z.strictObject({
    node: z.literal("dict"),
    entries: z.array(z.strictObject({ key: z.string(), value: lazyExpr })),
    ...typed,
  }),
  z.strictObject({ node: z.literal("list"), items: z.array(lazyExpr), ...typed }),
  z.strictObject({ node: z.literal("item"), depth: z.int().min(0), ...typed }),
  z.strictObject({
    node: z.literal("cell_error"),
    column: z.string(),
    of: z.string().optional(),
    part: z.enum(["type", "message"]),
    ...typed,
  }),
  z.strictObject({ node: z.literal("query"), query: z.string(), args: z.record(z.string(), lazyExpr), ...typed }),
  z.strictObject({
    node: z.literal("aggregate"),
    fn: z.string(),
    is_udf: z.boolean(),
    args: z.array(lazyExpr),
    kwargs: z.record(z.string(), lazyExpr),
    order_by: z.array(lazyExpr).min(1).optional(),
    ...typed,
  }),
  z.strictObject({
    node: z.literal("window"),
    fn: z.string(),
    is_udf: z.boolean(),
    args: z.array(lazyExpr),
    kwargs: z.record(z.string(), lazyExpr),
    group_by: z.array(lazyExpr),
    order_by: z.array(lazyExpr),
    ...typed,
  }),
  z.strictObject({ node: z.literal("parameter"), name: z.string(), ...typed }),
  z.strictObject({
    node: z.literal("similarity"),
    column: z.string(),
    of: z.string().optional(),
    index: z.string().nullable(),
    metric: z.enum(VECTOR_METRICS),
    value: lazyExpr,
    ...typed,
  }),
]);

const nodeSchema: z.ZodType<Expr> = anyNodeSchema.superRefine((expr, context) => {
  const message = findFileProblem(expr);
  if (message !== undefined) context.addIssue({ code: "custom", message });
});

/** Why a node of a media type cannot be a file. A text of the caller would name a file as the database's machine sees it. */
function findFileProblem(expr: Expr): string | undefined {
  const { kind } = expr.type;
  if (!isMediaKind(kind)) return undefined;
  switch (expr.node) {
    case "column":
    case "parameter":
    case "query":
    case "udf":
      return undefined;
    case "literal":
      return expr.value === null ? undefined : "is a file as a constant; only columns and parameters hold files";
    case "aggregate":
    case "window":
      // Python computes a function of its own, and makes the file
      return expr.is_udf ? undefined : noFile(kind, expr.fn);
    case "call":
      return makesFile(expr.fn, kind) ? undefined : noFile(kind, shownFunction(expr.fn));
    default:
      return noFile(kind, `a ${expr.node}`);
  }
}

function noFile(kind: string, what: string): string {
  return `has the type ${kind}, which ${what.slice(0, 100)} does not make`;
}

/** Functions whose second argument is an expression over each element. */
const MAPPINGS: ReadonlySet<string> = new Set(["map", "filter", "sort"]);

/** Maximum levels of an expression. The library refuses more than 200 steps, and adds a few nodes of its own. */
const DEEPEST = 300;

/** Maximum nodes of an expression. */
export const MAX_NODES = 50_000;

export const exprSchema: z.ZodType<Expr> = z.preprocess((expr, context) => {
  const problem = findProblem(expr);
  if (problem !== undefined) context.addIssue({ code: "custom", ...problem });
  return expr;
}, nodeSchema);

interface Part {
  readonly value: unknown;
  /** Nodes above it. */
  readonly depth: number;
  /** Where it is in the node above it; the root has neither. */
  readonly above: Part | undefined;
  readonly path: readonly PropertyKey[];
}

interface Problem {
  readonly message: string;
  readonly path: PropertyKey[];
}

/**
 * Finds the first problem of a tree, node by node. The schema alone collects the problems of all nodes and copies them
 * at each level, which takes minutes and gigabytes for a small tree that is deep, wide and wrong.
 */
function findProblem(expr: unknown): Problem | undefined {
  const left: Part[] = [{ value: expr, depth: 1, above: undefined, path: [] }];
  let nodes = 0;
  for (let part = left.pop(); part !== undefined; part = left.pop()) {
    nodes += 1;
    if (nodes + left.length > MAX_NODES) return { message: `has more than ${MAX_NODES} parts`, path: [] };
    if (part.depth > DEEPEST) return { message: `nests deeper than ${DEEPEST} levels`, path: [] };
    const above = part;
    const take = (value: unknown, path: readonly PropertyKey[]) =>
      left.push({ value, depth: above.depth + 1, above, path });
    const { error } = nodeSchema.safeParse(withoutNodes(part.value, take));
    const [first] = error?.issues ?? [];
    if (first !== undefined) return { message: first.message, path: [...pathOf(part), ...first.path] };
    if (isOutside(part)) return { message: "reads an element outside of map, filter and sort", path: pathOf(part) };
  }
  return undefined;
}

/** Stands for a node in what is checked of the node above it. */
const ANY_NODE = { node: "item", depth: 0, type: ANY_TYPE, nullable: false } as const satisfies Expr;
/** The nodes in a node are values of its members, of their members, or of members of these (`entries`). */
const LEVELS = 3;

/** Longer lists are checked up to their first wrong member. */
const LONG = 100;
const MEMBERS = ["node", "key", "index", "slice", "wildcard"] as const;

/** Whether a value is certainly no member of a list of nodes, entries or steps. */
function isNoMember(value: unknown): boolean {
  return typeof value !== "object" || value === null || !MEMBERS.some((name) => Object.hasOwn(value, name));
}

/** A copy of a node without the nodes in it, which `take` gets. */
function withoutNodes(
  node: unknown,
  take: (value: unknown, path: readonly PropertyKey[]) => void,
  path: readonly PropertyKey[] = [],
): unknown {
  if (typeof node !== "object" || node === null || path.length >= LEVELS) return node;
  if (path.length > 0 && Object.hasOwn(node, "node")) {
    take(node, path);
    return ANY_NODE;
  }
  if (Array.isArray(node)) {
    const end = node.length > LONG ? node.findIndex(isNoMember) + 1 || node.length : node.length;
    return node.slice(0, end).map((member, at) => withoutNodes(member, take, [...path, at]));
  }
  const members = Object.entries(node).map(([name, member]) => [
    name,
    name === "type" ? member : withoutNodes(member, take, [...path, name]),
  ]);
  return Object.fromEntries(members);
}

/** Whether a node is an `item` without its mapping function. */
function isOutside(part: Part): boolean {
  const { depth, node } = part.value as Partial<Extract<Expr, { node: "item" }>>;
  if (node !== "item") return false;
  let mappings = 0;
  for (let { above, path } = part; above !== undefined; { above, path } = above) {
    const { fn } = above.value as { readonly fn?: string };
    if (MAPPINGS.has(fn ?? "") && path[0] === "args" && path[1] === 1) mappings += 1;
  }
  return mappings <= (depth ?? 0);
}

function pathOf(part: Part): PropertyKey[] {
  const paths: (readonly PropertyKey[])[] = [];
  for (let one: Part | undefined = part; one !== undefined; one = one.above) paths.push(one.path);
  return paths.reverse().flat();
}
