import type { ManifestAnswerer } from "@appdb/contract/manifest";
import { planAnswer, rowError } from "../compute/answer-graph.ts";
import { makeGenerated, neededComputed, type RowLayout } from "../compute/row-layout.ts";
import { type BoundGraph, runCells } from "../compute/run-graph.ts";
import { measured } from "../timing.ts";
import { ComputeStage, type ComputeStageInput, type NewRow } from "./compute-stage.ts";
import { isValueRefusal } from "./sql-refusals.ts";
import type { TableVersionGuard } from "./table-version-guard.ts";
import { type WriteDeps, WritePipeline, type WriteVerb } from "./write-pipeline.ts";

/** What a route does with a new row. */
export interface RowRunner {
  readonly uses_python: boolean;
  /**
   * Runs a row through its stages; afterwards its slots hold all values that the route answers. Where the row is stored:
   * either it is there and this resolves, or it rejects and nothing is stored, commit_unknown alone excepted.
   * @throws function_failed and its kin, unique_violation, invalid_request, schema_changed, disk_full, overloaded,
   *  query_timeout, database_unavailable, commit_unknown, worker_unavailable; ReplayedRequest
   */
  run(write: NewRow): Promise<void>;
}

export interface NewRowsInput {
  readonly layout: RowLayout;
  readonly stage: ComputeStage;
  readonly guard: TableVersionGuard;
  /** Of rows for which SQL computes columns; null when nothing is left to do after Python. */
  readonly computing: WriteVerb<NewRow, void> | null;
  /** Of rows whose values are all there; null when these are not stored. */
  readonly given: WriteVerb<NewRow, void> | null;
}

/** New rows of one table: their ids are made, Python computes what it must, and a verb writes those that are ready together. */
export class NewRows implements RowRunner {
  readonly #deps: WriteDeps;
  readonly #input: NewRowsInput;
  readonly #computing: WritePipeline<NewRow, void> | null;
  readonly #given: WritePipeline<NewRow, void> | null;

  constructor(deps: WriteDeps, input: NewRowsInput) {
    this.#deps = deps;
    this.#input = input;
    const { computing, given, guard } = input;
    this.#given = given === null ? null : new WritePipeline(deps, guard, given);
    this.#computing = computing === null ? null : new WritePipeline(deps, guard, this.#orInPython(computing));
  }

  get uses_python(): boolean {
    return this.#input.stage.graph !== null;
  }

  run(write: NewRow): Promise<void> {
    const { layout, stage } = this.#input;
    makeGenerated(layout, this.#deps, write.row);
    return stage.graph === null ? this.#submit(write) : this.#compute(write);
  }

  /** Stores a row whose ids and computed values are in it. @throws as `run` */
  async storeGiven(write: NewRow): Promise<void> {
    if (this.#given !== null) await measured(write.timing, "db", this.#given.submit(write));
  }

  /** Resolves when no row waits to be written. */
  async drain(): Promise<void> {
    await Promise.all([this.#computing?.drain(), this.#given?.drain()]);
  }

  /** The same verb: a value that SQL cannot make may be one that Python can. */
  #orInPython(verb: WriteVerb<NewRow, void>): WriteVerb<NewRow, void> {
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
    await this.#given?.runAlone(write);
  }
}

export interface AnsweredRowsInput extends Omit<ComputeStageInput, "columns"> {
  readonly answerer: ManifestAnswerer;
  /** Stores the rows; null: they are only computed. */
  readonly rows: NewRows | null;
}

/**
 * New rows of which a function of the application makes the answer, before they are stored: if it raises, nothing is. All
 * columns are computed in Python, where the function needs them. The answer's slot then has the answer as JSON text.
 */
export class AnsweredRows implements RowRunner {
  readonly uses_python = true;
  readonly #deps: WriteDeps;
  readonly #input: AnsweredRowsInput;
  readonly #stage: ComputeStage;
  readonly #whole: BoundGraph;
  readonly #answer: BoundGraph;

  constructor(deps: WriteDeps, input: AnsweredRowsInput) {
    this.#deps = deps;
    this.#input = input;
    const { layout, functions, answerer, rows } = input;
    const columns = rows === null ? neededComputed(layout, answerer.parameters) : layout.computed;
    this.#stage = new ComputeStage(deps, { layout, functions, columns, only_python: true });
    this.#whole = planAnswer(layout, functions, answerer, columns);
    this.#answer = planAnswer(layout, functions, answerer, []);
  }

  async run(write: NewRow): Promise<void> {
    const { layout, rows } = this.#input;
    makeGenerated(layout, this.#deps, write.row);
    await measured(write.timing, "py", this.#compute(write));
    await rows?.storeGiven(write);
  }

  /** Computes a row and its answer. @throws function_failed and its kin */
  async #compute(write: NewRow): Promise<void> {
    const { layout, answerer } = this.#input;
    const ignores = write.onError === "ignore";
    if (ignores) await this.#stage.complete(write);
    const errors = await runCells(this.#deps.udf(), ignores ? this.#answer : this.#whole, write.row, write.signal);
    if (errors !== null) throw rowError(layout, answerer, errors);
  }
}
