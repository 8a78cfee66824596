import { AppError, appError } from "@appdb/contract/errors";
import type { OnError } from "@appdb/contract/jobs";
import type { CatalogFunction } from "../catalog/catalog.ts";
import { planCompute, planPython } from "../compute/plan-compute.ts";
import { makeGenerated, neededComputed, type Row, type RowLayout } from "../compute/row-layout.ts";
import { type BoundGraph, bindGraph, runGraph } from "../compute/run-graph.ts";
import { arrayParameters, fillRow, type PlacedSlot, rowBytes } from "../rows/batch-sql.ts";
import { Coalescer, type Outcome } from "../rows/coalescer.ts";
import { BATCHING } from "../rows/limits.ts";
import { measured, type Timing } from "../timing.ts";
import { buildCompute } from "./insert-statement.ts";
import { isolate } from "./isolate.ts";
import { explainRefusal, isValueRefusal } from "./sql-refusals.ts";
import type { TableWriterDeps } from "./table-writer.ts";

export interface RowComputerInput {
  readonly layout: RowLayout;
  readonly functions: ReadonlyMap<string, CatalogFunction>;
  readonly outputs: readonly string[];
}

/** Computes the columns that some outputs hang on, and stores nothing: no table is touched. */
export class RowComputer {
  readonly #deps: TableWriterDeps;
  readonly #input: RowComputerInput;
  readonly #graph: BoundGraph | null;
  readonly #rest: BoundGraph | null;
  readonly #given: readonly PlacedSlot[];
  readonly #made: readonly PlacedSlot[];
  readonly #statement: { readonly text: string; readonly name: string };
  readonly #coalescer: Coalescer<Row, void>;

  constructor(deps: TableWriterDeps, input: RowComputerInput) {
    this.#deps = deps;
    this.#input = input;
    const { layout, functions, outputs } = input;
    const plan = planCompute(layout.table, functions, neededComputed(layout, outputs));
    const inSql = plan.sql.map((step) => step.column);
    const rest = planPython(layout.table, functions, inSql);
    this.#graph = plan.graph === null ? null : bindGraph(plan.graph, layout.index);
    this.#rest = rest === null ? null : bindGraph(rest, layout.index);
    const placed = layout.slots.map((slot, at): PlacedSlot => ({ ...slot, at }));
    this.#given = placed.filter((slot) => !inSql.includes(slot.name));
    this.#made = inSql.flatMap((name) => placed.filter((slot) => slot.name === name));
    this.#statement = buildCompute(this.#given, plan.sql);
    this.#coalescer = new Coalescer({ ...BATCHING, weigh: rowBytes, run: (rows) => this.#runBatch(rows) });
  }

  get uses_python(): boolean {
    return this.#graph !== null;
  }

  /**
   * Fills the slots of the computed columns that the outputs hang on.
   * @throws function_failed and its kin, overloaded, database_unavailable, worker_unavailable
   */
  async run(
    row: Row,
    signal?: AbortSignal,
    _onError?: OnError,
    _request?: undefined | object,
    timing?: Timing,
  ): Promise<void> {
    const { layout } = this.#input;
    makeGenerated(layout, this.#deps, row);
    if (this.#graph !== null) {
      const { functions } = this.#graph.graph;
      await measured(timing, "py", runGraph(this.#deps.udf(), layout.table, this.#graph, row, signal), functions);
    }
    if (this.#made.length > 0) await measured(timing, "db", this.#coalescer.submit(row));
  }

  /** Resolves when no row waits. */
  drain(): Promise<void> {
    return this.#coalescer.drain();
  }

  #runBatch(rows: readonly Row[]): Promise<readonly Outcome<void>[]> {
    return isolate(
      rows,
      (part) => this.#execute(part),
      (row, error) => this.#alone(row, error),
    );
  }

  async #execute(rows: readonly Row[]): Promise<readonly Outcome<void>[]> {
    const result = await this.#deps.sql.query({ ...this.#statement, values: arrayParameters(this.#given, rows) });
    for (const computed of result.rows) {
      const row = rows[Number(computed[0]) - 1];
      if (row !== undefined) fillRow(row, this.#made, computed, 1);
    }
    return rows.map(() => ({ answer: undefined }));
  }

  #alone(row: Row, error: unknown): Outcome<void> {
    const rest = this.#rest;
    if (!isValueRefusal(error) || rest === null) return { error: this.#explain(row, error) };
    return { later: () => runGraph(this.#deps.udf(), this.#input.layout.table, rest, row) };
  }

  /** Nothing is stored here, so a connection that broke leaves no doubt behind. */
  #explain(row: Row, error: unknown): unknown {
    if (!(error instanceof AppError && error.code === "commit_unknown")) {
      return explainRefusal(this.#input.layout, row, error, this.#deps.limits);
    }
    return appError("database_unavailable", {
      detail: "The connection to PostgreSQL broke while the row was being computed.",
      hint: "Send the request again in a moment.",
      cause: error,
    });
  }
}
