import { appError } from "@appdb/contract/errors";
import type { ManifestComputeRoute, ManifestRowRoute } from "@appdb/contract/manifest";
import { limitVariable } from "@appdb/contract/service-limits";
import type { RequestCaller } from "@appdb/contract/worker-protocol";
import type { RouteAnswer } from "../answers/answers.ts";
import { type CellErrors, errorsOfRow } from "../compute/cell-errors.ts";
import { neededComputed, type Row, type RowLayout } from "../compute/row-layout.ts";
import { ROWS_AT_ONCE } from "../compute/rows-runner.ts";
import type { MadeRowsWriter } from "../routes/made-rows-answer.ts";
import type { OpenCompute } from "../routes/open-computes.ts";
import { withCellErrors } from "../routes/render-outputs.ts";
import type { RouteRequest } from "../routes/route.ts";
import type { RouteContext } from "../routes/route-context.ts";
import { type GivenMedia, takenInBatches } from "../rows/given-media.ts";
import { type RowBatch, type RowTexts, readRows, withRowLocation } from "../rows/many-rows.ts";
import { splitArray } from "../rows/split-array.ts";
import { splitFrames } from "../rows/split-frames.ts";
import { splitLines } from "../rows/split-lines.ts";
import type { RowReader } from "../rows/validate-row.ts";
import type { BulkComputer } from "../write/bulk-computer.ts";
import { arrayOf, FailedCells } from "./insert-many.ts";
import { RowsAnswer } from "./rows-answer.ts";

export interface ComputeManyInput {
  readonly route: ManifestRowRoute;
  readonly layout: RowLayout;
  readonly readFor: (caller: RequestCaller | undefined) => RowReader;
  readonly given: GivenMedia<Row> | undefined;
  readonly render: (row: Row) => string;
  readonly outputs: readonly string[];
  /** Whether a row is not one of the route's view. */
  readonly isLeftOut: (row: Row) => boolean;
  /** Of an iterator view. */
  readonly madeRows: MadeRowsWriter | undefined;
}

/**
 * Computes the rows of one request and returns them in order, without those that a view leaves out. With `ignore`, a row
 * with failed cells has their errors in the member `_errors`.
 */
export class ComputeMany {
  readonly #context: RouteContext;
  readonly #input: ComputeManyInput;
  readonly #computer: BulkComputer;
  /** The columns that are computed; others do not fail. */
  readonly #needed: ReadonlySet<string>;
  readonly #shown: ReadonlyMap<string, string>;

  constructor(context: RouteContext, input: ComputeManyInput) {
    this.#context = context;
    this.#input = input;
    const { layout, outputs, route } = input;
    this.#needed = new Set(neededComputed(layout, outputs));
    this.#computer = context.bulkComputer(route, outputs);
    const names: Readonly<Record<string, string>> = (route as ManifestComputeRoute).of_view?.names ?? {};
    this.#shown = new Map(route.outputs.map((name) => [name, names[name] ?? name]));
  }

  /** A single row has a list as its response too: a view leaves it out, or makes several of it. */
  accepts(): boolean {
    return true;
  }

  /** Only people call routes of this kind, at once. */
  check(): void {}

  /** @throws as `BulkComputer.compute`; result_too_large, overloaded, disk_full */
  async run(request: RouteRequest): Promise<RouteAnswer> {
    const { layout, madeRows, readFor } = this.#input;
    const { computes, limits, openSpool } = this.#context;
    const signal = request.signal ?? new AbortController().signal;
    using open = computes.openRequest();
    // a row or an array is in memory as a whole
    using _held = computes.holdBody(request.body);
    const source = this.#textsOf(request, open);
    // Each row of a batch holds the rows that it makes until they are written.
    const batchRows = madeRows === undefined ? this.#computer.batch_rows : ROWS_AT_ONCE;
    const read = readRows(source, readFor(request.caller), { ...limits, batch_rows: batchRows });
    const failed = new FailedCells(layout, this.#needed);
    const form = { kind: source.kind, render: this.#input.render, is_minimal: false, is_kept: false };
    const answer = new RowsAnswer(form, computes.bounded(openSpool()));
    try {
      // No slot while the body is read: a client may send its rows slowly.
      for await (const batch of read) {
        open.batchRead();
        const work = async () => {
          for await (const texts of this.#computed(batch, failed, signal)) {
            const count = await answer.addTexts(texts);
            if (count > limits.insert_rows) throw tooManyRows(limits.insert_rows);
          }
        };
        await computes.admission.run(signal, work, request.caller?.id ?? request.sender);
        open.batchComputed();
      }
      return await answer.finish(failed.headers());
    } catch (error) {
      await answer[Symbol.asyncDispose]();
      throw error;
    }
  }

  #textsOf({ body, has_columns: hasColumns, stream: sent, ...request }: RouteRequest, open: OpenCompute): RowTexts {
    const stream = sent === undefined ? undefined : open.counted(sent);
    if (stream === undefined) {
      const text = arrayOf({ body, ...request });
      return { kind: "list", texts: text === undefined ? oneRow(body) : splitArray(text) };
    }
    const { limits } = this.#context;
    return {
      kind: "lines",
      texts: hasColumns === true ? splitFrames(stream, limits) : splitLines(stream, limits),
    };
  }

  /** Computes a batch and writes its rows. */
  async *#computed(batch: RowBatch, failed: FailedCells, signal: AbortSignal): AsyncGenerator<readonly string[]> {
    for await (const done of this.#computer.compute(takenInBatches(only(batch), this.#input.given), signal)) {
      failed.count(done.rows);
      yield* this.#textsOfBatch(done, signal);
    }
  }

  async *#textsOfBatch(batch: RowBatch, signal: AbortSignal): AsyncGenerator<readonly string[]> {
    const { isLeftOut, madeRows, render, route } = this.#input;
    if (madeRows === undefined) {
      const rows = batch.rows.filter((row) => !isLeftOut(row));
      yield rows.map((row) => withCellErrors(render(row), this.#errorsOf(row)));
      return;
    }
    for (const [at, row] of batch.rows.entries()) {
      try {
        yield* madeRows(row, route.on_error, signal);
      } catch (error) {
        throw withRowLocation(error, batch.locationOf(at));
      }
    }
  }

  #errorsOf(row: Row): CellErrors | null {
    const cells = Object.entries(errorsOfRow(this.#input.layout, row)).flatMap(([column, error]) => {
      const name = this.#shown.get(column);
      return name === undefined ? [] : [[name, error] as const];
    });
    return cells.length === 0 ? null : Object.fromEntries(cells);
  }
}

async function* only(batch: RowBatch): AsyncGenerator<RowBatch> {
  yield batch;
}

async function* oneRow(body: RouteRequest["body"]): AsyncGenerator<readonly (string | Uint8Array)[]> {
  yield [body];
}

function tooManyRows(value: number): Error {
  return appError("result_too_large", {
    detail: `The response has more than ${value} rows, the maximum of one request.`,
    hint: `Send fewer rows per request, or raise ${limitVariable("insert_rows")}.`,
    meta: { limit: "insert_rows", value },
  });
}
