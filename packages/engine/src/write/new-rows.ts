import type { ManifestAnswerer } from "@appdb/contract/manifest";
import { planAnswer, rowError } from "../compute/answer-graph.ts";
import { checkedMedia, fillGenerated, neededComputed, type RowLayout } from "../compute/row-layout.ts";
import { type BoundGraph, runCells } from "../compute/run-graph.ts";
import { measured } from "../timing.ts";
import { ComputeStage, type ComputeStageInput, type NewRow } from "./compute-stage.ts";
import { isValueRefusal } from "./sql-refusals.ts";
import type { TableVersionGuard } from "./table-version-guard.ts";
import { type WriteDeps, WritePipeline, type WriteVerb } from "./write-pipeline.ts";

/** Processes a new row for a route. */
export interface RowRunner {
  readonly uses_python: boolean;
  /**
   * Runs a row through its stages. Afterwards its slots hold all values of the response. For routes that store: this
   * resolves when the row is stored, or rejects with nothing stored. Only commit_unknown leaves this open.
   * @throws function_failed and related codes, unique_violation, invalid_request, schema_changed, disk_full,
   * overloaded, query_timeout, database_unavailable, commit_unknown, worker_unavailable; ReplayedRequest
   */
  run(write: NewRow): Promise<void>;
}

export interface NewRowsInput {
  readonly layout: RowLayout;
  readonly stage: ComputeStage;
  readonly guard: TableVersionGuard;
  /** Writes rows with SQL columns; null when nothing is left after Python. */
  readonly computing: WriteVerb<NewRow, void> | null;
  /** Writes rows with all values given; null when these are not stored. */
  readonly insertOnly: WriteVerb<NewRow, void> | null;
}

/** New rows of one table. This class makes their ids, runs Python where needed, and writes rows in batches. */
export class NewRows implements RowRunner {
  readonly #deps: WriteDeps;
  readonly #input: NewRowsInput;
  readonly #computing: WritePipeline<NewRow, void> | null;
  readonly #insertOnly: WritePipeline<NewRow, void> | null;

  constructor(deps: WriteDeps, input: NewRowsInput) {
    this.#deps = deps;
    this.#input = input;
    const { computing, insertOnly, guard } = input;
    this.#insertOnly = insertOnly === null ? null : new WritePipeline(deps, guard, insertOnly);
    this.#computing = computing === null ? null : new WritePipeline(deps, guard, this.#withPythonFallback(computing));
  }

  get uses_python(): boolean {
    return this.#input.stage.graph !== null;
  }

  run(write: NewRow): Promise<void> {
    const { layout, stage } = this.#input;
    fillGenerated(layout, this.#deps, write.row);
    return stage.graph === null ? this.#submit(write) : this.#compute(write);
  }

  /** Stores a row that already has its ids and computed values. @throws as `run` */
  async storeGiven(write: NewRow): Promise<void> {
    if (this.#insertOnly !== null) await measured(write.timing, "db", this.#insertOnly.submit(write));
  }

  /** Resolves when no row waits to be written. */
  async drain(): Promise<void> {
    await Promise.all([this.#computing?.drain(), this.#insertOnly?.drain()]);
  }

  /** The same verb with Python as the fallback for values that SQL cannot make. */
  #withPythonFallback(verb: WriteVerb<NewRow, void>): WriteVerb<NewRow, void> {
    const canComplete = this.#input.stage.sql.length > 0;
    return {
      ...verb,
      settle: (write, error) =>
        canComplete && isValueRefusal(error) ? { later: () => this.#complete(write) } : verb.settle(write, error),
    };
  }

  async #compute(write: NewRow): Promise<void> {
    await ((await this.#input.stage.run(write)) ? this.#submit(write) : this.#complete(write));
  }

  #submit(write: NewRow): Promise<void> {
    return this.#computing === null ? Promise.resolve() : measured(write.timing, "db", this.#computing.submit(write));
  }

  async #complete(write: NewRow): Promise<void> {
    await this.#input.stage.complete(write);
    await this.#insertOnly?.runAlone(write);
  }
}

export interface AnsweredRowsInput extends Omit<ComputeStageInput, "columns"> {
  readonly answerer: ManifestAnswerer;
  /** Stores the rows; null: they are only computed. */
  readonly rows: NewRows | null;
}

/**
 * New rows for which a function of the application makes the answer before they are stored. If the function raises,
 * nothing is stored. Python computes all columns, because the function needs them. Afterwards the answer's slot has the
 * answer as JSON text.
 */
export class AnsweredRows implements RowRunner {
  readonly uses_python = true;
  readonly #deps: WriteDeps;
  readonly #input: AnsweredRowsInput;
  readonly #stage: ComputeStage;
  readonly #graph: BoundGraph;
  readonly #answer: BoundGraph;

  constructor(deps: WriteDeps, input: AnsweredRowsInput) {
    this.#deps = deps;
    this.#input = input;
    const { layout, functions, answerer, rows } = input;
    const needed = neededComputed(layout, answerer.parameters);
    const columns = rows === null ? needed : [...new Set([...layout.computed, ...needed])];
    this.#stage = new ComputeStage(deps, { layout, functions, columns, only_python: true });
    this.#graph = planAnswer(layout, functions, answerer, columns, columns.length === 0 ? [] : checkedMedia(layout));
    this.#answer = planAnswer(layout, functions, answerer, [], []);
  }

  async run(write: NewRow): Promise<void> {
    const { layout, rows } = this.#input;
    fillGenerated(layout, this.#deps, write.row);
    await measured(write.timing, "py", this.#compute(write));
    await rows?.storeGiven(write);
  }

  /** Computes a row and its answer. @throws function_failed and related codes */
  async #compute(write: NewRow): Promise<void> {
    const { layout, answerer } = this.#input;
    const ignores = write.onError === "ignore";
    if (ignores) {
      await this.#stage.run(write);
      await this.#stage.complete(write);
    }
    const errors = await runCells(this.#deps.udf(), ignores ? this.#answer : this.#graph, write.row, write.signal);
    if (errors !== null) throw rowError(layout, answerer, errors);
  }
}
