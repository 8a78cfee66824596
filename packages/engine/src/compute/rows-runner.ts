import { createHash } from "node:crypto";
import { deserialize, serialize } from "node:v8";
import type { ColumnType, EngineValue } from "@appdb/contract/types";
import type { GraphStep, WireValue } from "@appdb/contract/worker-protocol";
import {
  iterateExpr,
  type MadeRows,
  madeRowsIn,
  ofMadeRow,
  type RowsText,
  sqlOfMade,
  travelsAsText,
} from "../expressions/made-rows.ts";
import { valuesRead } from "../expressions/needs-python.ts";
import { INT_TYPE, JSON_TYPE, kindOf } from "../kinds/kinds.ts";
import { literalValue, toSqlText } from "../kinds/values.ts";
import type { UdfBatch, UdfError, UdfGraph, UdfResult, UdfRunner } from "../ports.ts";
import { runRowWise, runWhole } from "./batch-results.ts";
import { type CellErrors, ownErrors, spreadErrors } from "./cell-errors.ts";
import { limited } from "./limited.ts";

/** The parent's step that makes rows, and the graph that computes their columns in Python; null without any. */
interface Maker {
  readonly at: number;
  readonly step: GraphStep;
  readonly made: MadeRows;
  readonly graph: UdfGraph | null;
  /** Inputs of `graph` that come from the parent's row: the index of each among its inputs or steps. */
  readonly given: readonly { readonly from: "input" | "step"; readonly at: number }[];
}

interface Makers {
  /** The graph that a worker runs: its steps give the outputs of iterators. */
  readonly inner: UdfGraph;
  readonly makers: readonly Maker[];
}

/** Rows of one batch whose iterators run at once. */
export const ROWS_AT_ONCE = 4;
/** Made rows that are computed together, and how many such parts of all requests and jobs run at once: made rows may not
 *  fill the queue of the workers. */
const PART_ROWS = 250;
const PARTS_AT_ONCE = 8;
/** Maximum bytes of the values of a part that come from the row above, which are sent with each made row. */
const PART_BYTES = 8_000_000;
/** The name of the errors of rows that are made for a response. No column has this name. */
export const MADE_ERRORS = "(errors)";
/** Maximum bytes of all values of the rows that one row makes, and how many a row counts in addition to its values.
 *  PostgreSQL needs up to 20 times as much memory to store them, and some 700 bytes for the shortest row. */
export const MAX_MADE_BYTES = 16_000_000;
const ROW_BYTES = 32;

/**
 * The same runner for columns that make the rows of iterator views. The iterator runs first; then the columns of its rows
 * are computed together, as those of any rows, except those that SQL computes while the rows are stored. The result is
 * what the column's trigger stores (row-triggers.ts): the text of a RowsText. A failed cell of a row is an error of the
 * column, whose value has the error in that row.
 */
export function withMadeRows(runner: UdfRunner): UdfRunner {
  const found = new WeakMap<UdfGraph, Makers | null>();
  const makersOf = (graph: UdfGraph): Makers | null => {
    let makers = found.get(graph);
    if (makers === undefined) {
      makers = findMakers(graph);
      found.set(graph, makers);
    }
    return makers;
  };
  const runPart: RunPart = (...part) => runWhole(outer, ...part);
  const runLeaf = limited(runPart, PARTS_AT_ONCE);
  // A part whose rows make rows waits for other parts, so it does not count itself.
  const runAny: RunPart = (graph, ...rest) => (makersOf(graph) === null ? runLeaf : runPart)(graph, ...rest);
  const run: UdfRunner["run"] = async (graph, row, signal) => {
    const makers = makersOf(graph);
    if (makers === null) return runner.run(graph, row, signal);
    let result = await runner.run(makers.inner, row, signal);
    for (const maker of makers.makers) result = await complete(runAny, maker, row, result, signal);
    return result;
  };
  const outer: UdfRunner = {
    run,
    // Rows that make rows wait for those, so each batch counts its own.
    runBatch: (graph, columns, rows) =>
      makersOf(graph) === null
        ? runner.runBatch(graph, columns, rows)
        : runRowWise(limited(run, ROWS_AT_ONCE), graph, columns, rows),
    start: () => runner.start(),
    fold: (aggregation) => runner.fold(aggregation),
    stats: () => runner.stats(),
    [Symbol.asyncDispose]: () => runner[Symbol.asyncDispose](),
  };
  return outer;
}

function findMakers(graph: UdfGraph): Makers | null {
  const makers = graph.steps.flatMap((step, at): Maker[] => {
    const made = madeRowsIn(step.expr);
    return made === undefined ? [] : [{ at, step, made, ...childGraph(graph, made) }];
  });
  if (makers.length === 0) return null;
  const isMaker = new Set(makers.map(({ at }) => at));
  const steps = graph.steps.map((step, at) => (isMaker.has(at) ? { ...step, expr: iterateExpr(step.expr) } : step));
  return { makers, inner: { ...graph, key: `${graph.key} iterators`, steps } };
}

/** The graph of the made rows: its inputs are their numbers and outputs, then columns of the row that makes them. */
function childGraph(graph: UdfGraph, made: MadeRows): Pick<Maker, "graph" | "given"> {
  const bySql = sqlOfMade(made);
  const computed = made.computed.filter(({ name }) => !bySql.has(name));
  if (computed.length === 0) return { graph: null, given: [] };
  const above = new Set(computed.flatMap(({ expr }) => valuesRead(expr)));
  const places = [
    ...graph.inputs.map((column, at) => ({ column, from: "input" as const, at })),
    ...graph.steps.map((column, at) => ({ column, from: "step" as const, at })),
  ].filter(({ column }) => above.has(column.name));
  const inputs = [
    { name: "pos", type: INT_TYPE, nullable: false },
    ...made.outputs,
    ...places.map(({ column: { name, type } }) => ({ name: aboveName(name), type, nullable: true })),
  ];
  const steps = computed.map(({ name, expr }): GraphStep => {
    return { name, type: expr.type, nullable: true, expr: ofMadeRow(expr, aboveName) };
  });
  const { functions } = graph;
  const key = createHash("sha256")
    .update(JSON.stringify([inputs, steps, functions]))
    .digest("hex");
  return { graph: { key, inputs, steps, functions }, given: places.map(({ from, at }) => ({ from, at })) };
}

/** A column of the row above, which may have the name of an output. */
function aboveName(name: string): string {
  return `^${name}`;
}

/** Adds the columns that Python computes to the outputs of an iterator. */
async function complete(
  runPart: RunPart,
  { at, step, made, graph, given }: Maker,
  row: readonly EngineValue[],
  result: UdfResult,
  signal: AbortSignal | undefined,
): Promise<UdfResult> {
  const text = result.values[at];
  if (typeof text !== "string" || result.errors?.[step.name] !== undefined) return result;
  const bytes = text.length + ROW_BYTES * Number(COUNT.exec(text)?.[1] ?? Number.POSITIVE_INFINITY);
  if (bytes > MAX_MADE_BYTES) return tooLarge(result, at, step.name);
  const isWhole = graph === null && !made.for_response && !made.outputs.some(travelsAsText);
  if (isWhole) return result;
  const { rows: count, given: givenValues } = JSON.parse(text) as RowsText;
  const numbers = Array.from({ length: count }, (_none, pos) => pos);
  const outputs = made.outputs.map((output): MadeValues => {
    const values = (givenValues[output.name] ?? []).map((value) => fromJson(output.type, value));
    return { ...output, values };
  });
  const computed: MadeValues[] = [];
  let errors: UdfBatch["errors"] = new Map();
  if (graph !== null) {
    const above = given.map(({ from, at: place }) => (from === "input" ? row : result.values)[place] ?? null);
    const own = [numbers, ...outputs.map((one) => one.values)];
    const found = await computeParts(runPart, graph, { own, above, count, bytes }, signal);
    if (found === undefined) return tooLarge(result, at, step.name);
    computed.push(...graph.steps.map((one, place) => ({ ...one, values: found.columns[place] ?? [] })));
    errors = found.errors;
  }
  const values = [...result.values];
  if (made.for_response) {
    const failed = errors.size === 0 ? [] : [errorTexts(made, errors, count)];
    values[at] = packRows([{ name: "pos", type: INT_TYPE, values: numbers }, ...outputs, ...computed, ...failed]);
  } else {
    const added: Omit<RowsText, "rows" | "given"> = {
      computed: Object.fromEntries([...outputs.filter(travelsAsText), ...computed].map(textsOf)),
      errors: storedErrors(made, errors),
    };
    // The text of the outputs stays as the worker wrote it, down to the sign of a zero.
    values[at] = `${text.slice(0, -1)},${JSON.stringify(added).slice(1)}`;
  }
  return { ...result, values, errors: withFirst(result.errors, step.name, errors) };
}

/** Computes the columns of made rows, or of a part of them. */
type RunPart = (
  graph: UdfGraph,
  columns: readonly (readonly EngineValue[])[],
  rows: number,
  signal: AbortSignal | undefined,
) => Promise<Pick<UdfBatch, "columns" | "errors">>;

/** How many rows a RowsText has, which is its first member. */
const COUNT = /^\{"rows": ?(\d+)/;

interface PartsInput {
  /** The numbers and outputs of the rows. */
  readonly own: readonly (readonly EngineValue[])[];
  /** Values of the row above, equal for all. */
  readonly above: readonly EngineValue[];
  readonly count: number;
  /** Bytes of the outputs. */
  readonly bytes: number;
}

/** Computes made rows part by part. Undefined when their values have too many bytes. */
async function computeParts(
  runPart: RunPart,
  graph: UdfGraph,
  { above, bytes: given, count, own }: PartsInput,
  signal: AbortSignal | undefined,
): Promise<Pick<UdfBatch, "columns" | "errors"> | undefined> {
  const size = rowsPerPart(above);
  const columns = graph.steps.map((): EngineValue[] => []);
  const errors = new Map<number, Readonly<Record<string, UdfError>>>();
  let bytes = given;
  for (let from = 0; from < count; from += size) {
    const rows = Math.min(size, count - from);
    const inputs = [
      ...own.map((values) => values.slice(from, from + rows)),
      ...above.map((value) => new Array<EngineValue>(rows).fill(value)),
    ];
    const part = await runPart(graph, inputs, rows, signal);
    for (const [place, column] of columns.entries()) {
      for (const value of part.columns[place] ?? []) {
        bytes += bytesOf(value);
        column.push(value);
      }
    }
    for (const [row, found] of part.errors) errors.set(from + row, found);
    if (bytes > MAX_MADE_BYTES) return undefined;
  }
  return { columns, errors };
}

/** The number of made rows of a part. `above`: the values of the row above, which each of them has. */
export function rowsPerPart(above: readonly EngineValue[]): number {
  const repeated = above.reduce<number>((sum, value) => sum + bytesOf(value), 1);
  return Math.max(1, Math.min(PART_ROWS, Math.floor(PART_BYTES / repeated)));
}

function bytesOf(value: EngineValue): number {
  if (typeof value === "string") return value.length;
  return value instanceof Uint8Array ? value.byteLength : 8;
}

/** A row without made rows, since these would have too many bytes. */
function tooLarge(result: UdfResult, at: number, column: string): UdfResult {
  const megabytes = MAX_MADE_BYTES / 1_000_000;
  const message = `the rows that one row makes have more than ${megabytes} MB, the maximum; each counts ${ROW_BYTES} bytes more than its values`;
  const error: UdfError = { kind: "raised", function: column, type: "ValueError", message, at: null };
  const values = result.values.map((value, place) => (place === at ? null : value));
  return { ...result, values, errors: { ...result.errors, [column]: error } };
}

/** A column of made rows. */
interface MadeValues {
  readonly name: string;
  readonly type: ColumnType;
  readonly values: readonly EngineValue[];
}

function textsOf({ name, type, values }: MadeValues): [string, (string | null)[]] {
  return [name, values.map((value) => (value === null ? null : toSqlText(type, value)))];
}

/** Rows for a response: JSON has no bytes and no negative zero. */
function packRows(columns: readonly MadeValues[]): string {
  return serialize(new Map(columns.map(({ name, values }) => [name, values]))).toString("base64");
}

/** The columns of rows that an expression of `responseRows` made. */
export function unpackRows(text: string): ReadonlyMap<string, readonly EngineValue[]> {
  return deserialize(Buffer.from(text, "base64")) as ReadonlyMap<string, readonly EngineValue[]>;
}

/** The errors of rows, as their table stores them, by the rows' numbers. */
function storedErrors(made: MadeRows, errors: UdfBatch["errors"]): Record<string, CellErrors> {
  const names = new Set(made.computed.map(({ name }) => name));
  const columns = made.computed.map(({ name, expr }) => ({
    name,
    computed: { text: "", expr: ofMadeRow(expr, aboveName) },
  }));
  const table = { columns } as unknown as Parameters<typeof spreadErrors>[0];
  return Object.fromEntries([...errors].map(([pos, found]) => [pos, spreadErrors(table, names, ownErrors(found))]));
}

/** The same for a response: the text of each row's errors; null for none. */
function errorTexts(made: MadeRows, errors: UdfBatch["errors"], count: number): MadeValues {
  const stored = storedErrors(made, errors);
  const values = Array.from({ length: count }, (_none, pos) => {
    return stored[pos] === undefined ? null : JSON.stringify(stored[pos]);
  });
  return { name: MADE_ERRORS, type: JSON_TYPE, values };
}

/** The first failed cell of the rows, as the error of the column that makes them. */
function withFirst(known: UdfResult["errors"], column: string, errors: UdfBatch["errors"]): UdfResult["errors"] {
  const [first] = [...errors].sort(([a], [b]) => a - b);
  if (first === undefined) return known;
  const [pos, cells] = first;
  const [name, error] =
    Object.entries(cells).find(([, one]) => one.kind !== "skipped") ?? Object.entries(cells)[0] ?? [];
  if (name === undefined || error === undefined) return known;
  const told: UdfError = { ...error, message: `${error.message} (column ${name} at pos ${pos})` };
  return { ...known, [column]: told };
}

/** A value of an output, which the worker writes as the value of a constant (contract, expressions.ts). Of an array it
 *  writes the shape and the elements, whose bytes are base64: texts of numbers would not keep a float32. */
function fromJson(type: ColumnType, value: unknown): EngineValue {
  if (value == null) return null;
  if (!Array.isArray(value)) return literalValue({ type, value: value as string | number | boolean });
  const [shape, elements] = value as [number[], string | string[]];
  const wire: WireValue = [shape, typeof elements === "string" ? Buffer.from(elements, "base64") : elements];
  return kindOf(type).wire?.from(wire, type) ?? null;
}
