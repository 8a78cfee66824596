import { createHash } from "node:crypto";
import { appError } from "@appdb/contract/errors";
import type { OnError } from "@appdb/contract/jobs";
import { limitVariable } from "@appdb/contract/service-limits";
import type { EngineValue } from "@appdb/contract/types";
import { type MadeRowsAnswer, MEMBER } from "@appdb/contract/views";
import { runWhole } from "../compute/batch-results.ts";
import { type CellErrors, errorsOfRow, ownErrors, refusesRow } from "../compute/cell-errors.ts";
import { functionsOf } from "../compute/plan-compute.ts";
import type { Row, RowLayout } from "../compute/row-layout.ts";
import { MADE_ERRORS, rowsPerPart, unpackRows } from "../compute/rows-runner.ts";
import { cellError } from "../compute/run-graph.ts";
import { valueToJson } from "../kinds/values.ts";
import type { UdfBatch, UdfGraph } from "../ports.ts";
import { withCellErrors } from "./render-outputs.ts";
import type { RouteContext } from "./route-context.ts";

/**
 * Writes the rows that a computed row makes, in their order, a few at a time. `ignore`: a row has the errors of its
 * failed cells.
 */
export type MadeRowsWriter = (
  row: Row,
  onError: OnError,
  signal: AbortSignal | undefined,
) => AsyncGenerator<readonly string[]>;

/** Maximum bytes of rows that are given together, of more than one row. */
const PIECE_BYTES = 1_000_000;

type Columns = ReadonlyMap<string, readonly EngineValue[]>;

/**
 * Compiles the response of a compute route over an iterator view: an array of the rows that the request's row makes, in
 * their order. Its columns were computed with the row, except for those that are not stored.
 */
export function compileMadeRows(
  context: RouteContext,
  layout: RowLayout,
  route: { readonly path: string },
  made: MadeRowsAnswer,
): MadeRowsWriter {
  const at = layout.index.get(made.column) ?? -1;
  const of = context.layout(made.table).layout.whole;
  const functions = functionsOf(
    of,
    context.functions,
    made.computed.map(({ name, expr }) => ({ name, computed: { text: "", expr } })),
  );
  const inputs = made.values.map(({ name, type, nullable }) => ({ name, type, nullable }));
  const key = createHash("sha256")
    .update(JSON.stringify([inputs, made.computed, functions]))
    .digest("hex");
  const graph: UdfGraph = { key, inputs, steps: made.computed, functions };
  const leads = made.outputs.map(({ name }, index) => `${index === 0 ? "{" : ","}${JSON.stringify(name)}:`);
  const { result_rows: maxRows, result_bytes: maxBytes } = context.limits;

  const compute = async (
    columns: Map<string, readonly EngineValue[]>,
    rows: number,
    onError: OnError,
    signal?: AbortSignal,
  ): Promise<UdfBatch["errors"]> => {
    const given = inputs.map(({ name }) => columns.get(name) ?? []);
    const batch = await runWhole(context.udf(), graph, given, rows, signal);
    const [first] = [...batch.errors].sort(([a], [b]) => a - b);
    if (first !== undefined && (onError === "abort" || refusesRow(first[1]))) throw cellError(of, first[1]);
    for (const [step, { name }] of made.computed.entries()) columns.set(name, batch.columns[step] ?? []);
    return batch.errors;
  };

  return async function* write(row, onError, signal) {
    const { above, count, part } = levelsOf(made, layout, row, row[at] ?? null);
    if (count > maxRows) throw tooLarge(route.path, `more than ${maxRows} rows`, "result_rows", maxRows);
    // Part by part: the rows of one response do not fill the memory, nor the queue of the workers.
    const size = rowsPerPart(above);
    let bytes = 0;
    for (let from = 0; from < count; from += size) {
      const rows = Math.min(size, count - from);
      const columns = part(from, from + rows);
      const failed = made.computed.length > 0 ? await compute(columns, rows, onError, signal) : undefined;
      const errorsOf = onError === "ignore" ? failedCells(made, layout, row, { columns, failed }) : () => null;
      const members = columns.get(MEMBER);
      const cells = made.outputs.map(({ type, value }) => ({ kind: type.kind, values: columns.get(value) ?? [] }));
      let texts: string[] = [];
      let pieceBytes = 0;
      for (let index = 0; index < rows; index++) {
        if (members !== undefined && members[index] !== true) continue;
        let text = "";
        for (const [place, { kind, values }] of cells.entries()) {
          text += `${leads[place]}${valueToJson(kind, values[index] ?? null)}`;
        }
        const whole = withCellErrors(text === "" ? "{}" : `${text}}`, errorsOf(index));
        const size = Buffer.byteLength(whole) + 1;
        bytes += size;
        pieceBytes += size;
        if (bytes > maxBytes) throw tooLarge(route.path, `more than ${maxBytes} bytes`, "result_bytes", maxBytes);
        texts.push(whole);
        if (pieceBytes < PIECE_BYTES) continue;
        yield texts;
        texts = [];
        pieceBytes = 0;
      }
      if (texts.length > 0) yield texts;
    }
  };
}

/** Finds the errors of the failed cells of a made row, under the names of outputs. */
function failedCells(
  made: MadeRowsAnswer,
  layout: RowLayout,
  row: Row,
  { columns, failed }: { readonly columns: Columns; readonly failed: UdfBatch["errors"] | undefined },
): (at: number) => CellErrors | null {
  const ofRow = errorsOfRow(layout, row);
  const ofMade = columns.get(MADE_ERRORS) ?? [];
  const values = new Map(made.values.map((value) => [value.name, value]));
  return (at) => {
    const text = ofMade[at];
    const stored = typeof text === "string" ? (JSON.parse(text) as CellErrors) : {};
    const own = ownErrors(failed?.get(at) ?? {});
    const errorsAt = (level: number): CellErrors => {
      if (level === 0) return ofRow;
      return level === made.deeper.length + 1 ? stored : {};
    };
    const cells = made.outputs.flatMap(({ name, value }) => {
      const { level = -1, column = "" } = values.get(value) ?? {};
      const error = level < 0 ? own[value] : errorsAt(level)[column];
      return error === undefined ? [] : [[name, error] as const];
    });
    return cells.length === 0 ? null : Object.fromEntries(cells);
  };
}

interface Level {
  /** Its values by their names. */
  readonly columns: ReadonlyMap<string, readonly EngineValue[]>;
  /** The place of each row's maker in the level above. */
  readonly makers: readonly number[];
}

interface Levels {
  /** The values of the row that makes all others. */
  readonly above: readonly EngineValue[];
  /** The number of rows of the last level. */
  readonly count: number;
  /** The values of some rows of the last level, by their names. A value of an earlier level repeats. */
  part(from: number, to: number): Map<string, readonly EngineValue[]>;
}

function levelsOf({ deeper, values }: MadeRowsAnswer, { index }: RowLayout, row: Row, rows: EngineValue): Levels {
  const cells = (level: number, found: (column: string) => EngineValue[]): Map<string, EngineValue[]> =>
    new Map(values.flatMap((one) => (one.level === level ? [[one.name, found(one.column)] as const] : [])));
  const first: Level = { columns: cells(0, (column) => [row[index.get(column) ?? -1] ?? null]), makers: [] };
  const levels: Level[] = [first];
  let texts: readonly EngineValue[] = [rows];
  for (let level = 1; level <= deeper.length + 1; level++) {
    const made = texts.map((text): Columns => (typeof text === "string" ? unpackRows(text) : new Map()));
    const counts = made.map((one) => one.get("pos")?.length ?? 0);
    const all = (column: string): EngineValue[] => made.flatMap((one) => one.get(column) ?? []);
    const columns = cells(level, all);
    if (level === deeper.length + 1 && made.some((one) => one.has(MADE_ERRORS))) {
      const none = (at: number) => new Array<EngineValue>(counts[at] ?? 0).fill(null);
      columns.set(
        MADE_ERRORS,
        made.flatMap((one, at) => one.get(MADE_ERRORS) ?? none(at)),
      );
    }
    levels.push({ columns, makers: counts.flatMap((count, at) => new Array<number>(count).fill(at)) });
    texts = all(deeper[level - 1] ?? "");
  }
  return {
    above: [...first.columns.values()].flat(),
    count: levels.at(-1)?.makers.length ?? 0,
    part(from, to) {
      const found = new Map<string, readonly EngineValue[]>();
      let places = Array.from({ length: to - from }, (_none, at) => from + at);
      for (const { columns, makers } of levels.toReversed()) {
        for (const [name, column] of columns) {
          found.set(
            name,
            places.map((place) => column[place] ?? null),
          );
        }
        places = places.map((place) => makers[place] ?? 0);
      }
      return found;
    },
  };
}

function tooLarge(path: string, what: string, limit: "result_rows" | "result_bytes", value: number): Error {
  return appError("result_too_large", {
    detail: `The response of POST ${path} has ${what}, the maximum of a response.`,
    hint: `Send a row that makes fewer rows, or raise ${limitVariable(limit)}.`,
    meta: { path, limit, value },
  });
}
