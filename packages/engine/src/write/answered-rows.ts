import type { OnError } from "@appdb/contract/jobs";
import type { ManifestAnswerer } from "@appdb/contract/manifest";
import type { CatalogFunction } from "../catalog/catalog.ts";
import { planAnswer, rowError } from "../compute/answer-graph.ts";
import { makeGenerated, neededComputed, type Row, type RowLayout } from "../compute/row-layout.ts";
import { type BoundGraph, runCells } from "../compute/run-graph.ts";
import type { RequestToKeep } from "../idempotency/request-store.ts";
import { FailingRows } from "../rows/failing-rows.ts";
import { measured, type Timing } from "../timing.ts";
import type { TableWriter, TableWriterDeps } from "./table-writer.ts";

export interface AnsweredRowsInput {
  readonly layout: RowLayout;
  readonly functions: ReadonlyMap<string, CatalogFunction>;
  readonly answerer: ManifestAnswerer;
  /** Stores the rows; without it they are only computed. */
  readonly writer: TableWriter | null;
}

/**
 * Rows of which a function of the application makes the answer, before they are stored: if it raises, nothing is. All
 * that is computed is computed in Python, which is where the function needs it.
 */
export class AnsweredRows {
  readonly uses_python = true;
  readonly #deps: TableWriterDeps;
  readonly #input: AnsweredRowsInput;
  readonly #failing: FailingRows;
  readonly #whole: BoundGraph;
  readonly #answer: BoundGraph;

  constructor(deps: TableWriterDeps, input: AnsweredRowsInput) {
    this.#deps = deps;
    this.#input = input;
    const { layout, functions, answerer, writer } = input;
    const columns = writer === null ? neededComputed(layout, answerer.parameters) : layout.computed;
    this.#failing = new FailingRows({ udf: deps.udf, layout, functions, sql: columns });
    this.#whole = planAnswer(layout, functions, answerer, columns);
    this.#answer = planAnswer(layout, functions, answerer, []);
  }

  /**
   * Computes a row and its answer, and stores the row; the answer's slot then has the answer as JSON text.
   * @throws function_failed and its kin, and what TableWriter.run throws
   */
  async run(
    row: Row,
    signal?: AbortSignal,
    onError: OnError = "abort",
    request?: RequestToKeep,
    timing?: Timing,
  ): Promise<void> {
    const { layout, writer } = this.#input;
    makeGenerated(layout, this.#deps, row);
    await measured(
      timing,
      "py",
      onError === "ignore" ? this.#runKeeping(row, signal) : this.#runGraph(this.#whole, row, signal),
    );
    if (writer !== null) await measured(timing, "db", writer.runGiven(row, request));
  }

  /** Computes a row whose cells may fail, then its answer. @throws function_failed and its kin */
  async #runKeeping(row: Row, signal?: AbortSignal): Promise<void> {
    this.#failing.admit(row);
    await this.#failing.complete(row);
    await this.#runGraph(this.#answer, row, signal);
  }

  /** @throws function_failed and its kin */
  async #runGraph(graph: BoundGraph, row: Row, signal?: AbortSignal): Promise<void> {
    const errors = await runCells(this.#deps.udf(), graph, row, signal);
    if (errors !== null) throw rowError(this.#input.layout, this.#input.answerer, errors);
  }
}
