import type { OnError } from "@appdb/contract/jobs";
import type { CatalogFunction } from "../catalog/catalog.ts";
import { type CellErrors, errorsOfRow, ownErrors, refusesRow, spreadErrors } from "../compute/cell-errors.ts";
import { planCompute, type SqlStep } from "../compute/plan-compute.ts";
import { checkedMedia, type Row, type RowLayout } from "../compute/row-layout.ts";
import { type BoundGraph, bindGraph, bindPython, cellError, runCells } from "../compute/run-graph.ts";
import type { InsertRequest } from "../idempotency/request-store.ts";
import type { UdfError, UdfResult } from "../ports.ts";
import { measured, type Timing } from "../timing.ts";
import type { WriteDeps, WriteItem } from "./write-pipeline.ts";

/** A new row with the options of its request. */
export interface NewRow extends WriteItem {
  /** `ignore`: a computed cell that fails becomes null, and its error goes into the layout's `errors`. */
  readonly onError: OnError;
  readonly request?: InsertRequest | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly timing?: Timing | undefined;
}

export interface ComputeStageInput {
  readonly layout: RowLayout;
  readonly functions: ReadonlyMap<string, CatalogFunction>;
  /** The computed columns to fill. */
  readonly columns: readonly string[];
  /** True: SQL computes no column, and `complete` computes all; `run` only checks media. Default: SQL and Python share
   *  the work. */
  readonly only_python?: boolean;
}

/**
 * Computes columns of new rows in Python: first those that need Python, then SQL columns whose value SQL cannot make.
 * With `ignore`, cells that read a failed cell fail too. Some errors still fail the request: a key without a value, or
 * a function that the application lacks.
 */
export class ComputeStage {
  /** The graph that Python runs before the row is written; null for none. */
  readonly graph: BoundGraph | null;
  /** The steps that SQL computes while it stores the row. */
  readonly sql: readonly SqlStep[];
  /** The graph that computes the SQL columns in Python; null for none. */
  readonly rest: BoundGraph | null;
  /** The columns of `rest`. */
  readonly #later: readonly string[];
  readonly #udf: WriteDeps["udf"];
  readonly #input: ComputeStageInput;

  constructor({ udf }: Pick<WriteDeps, "udf">, input: ComputeStageInput) {
    const { layout, functions, columns, only_python: onlyPython = false } = input;
    this.#udf = udf;
    this.#input = input;
    const plan = planCompute(layout.whole, functions, onlyPython ? [] : columns, checkedMedia(layout));
    this.graph = plan.graph === null ? null : bindGraph(plan.graph, layout.index);
    this.sql = plan.sql;
    this.#later = onlyPython ? columns : plan.sql.map((step) => step.column);
    this.rest = bindPython(layout, functions, this.#later);
  }

  /**
   * Fills the columns that need Python. Returns false if a SQL column reads a failed cell; then `complete` must compute
   * the others.
   * @throws function_failed and related codes, worker_unavailable, overloaded
   */
  async run(write: NewRow): Promise<boolean> {
    const { graph } = this;
    if (graph === null) return true;
    const work = runCells(this.#udf(), graph, write.row, write.signal);
    return this.accept(write, await measured(write.timing, "py", work, graph.graph.functions));
  }

  /** Like `run`, for a caller that ran the graph itself. `found` has the errors. @throws function_failed and related
   *  codes */
  accept({ row, onError }: Pick<NewRow, "row" | "onError">, found: UdfResult["errors"]): boolean {
    if (found === null) return true;
    if (onError === "abort") throw cellError(this.#input.layout.whole, found);
    const errors = this.#note(row, found);
    return !this.#later.some((name) => errors[name] !== undefined);
  }

  /** Computes in Python the columns that SQL would have computed. @throws as `run` */
  async complete(write: Pick<NewRow, "row" | "onError" | "signal">): Promise<void> {
    const { layout, functions } = this.#input;
    const { row } = write;
    const errors = errorsOfRow(layout, row);
    const remaining = this.#later.filter((name) => errors[name] === undefined);
    for (const name of this.#later) if (errors[name] !== undefined) row[layout.index.get(name) ?? -1] = null;
    const graph = remaining.length === this.#later.length ? this.rest : bindPython(layout, functions, remaining);
    if (graph !== null) this.accept(write, await runCells(this.#udf(), graph, row, write.signal));
  }

  #note(row: Row, found: Readonly<Record<string, UdfError>>): CellErrors {
    const { layout } = this.#input;
    const before = errorsOfRow(layout, row);
    const columns = new Set([...layout.computed, ...this.#input.columns]);
    const errors = spreadErrors(layout.whole, columns, { ...before, ...ownErrors(found) });
    const hasNoKey = layout.table.primary_key.some((name) => errors[name] !== undefined);
    const lacksGiven = layout.slots.some(
      ({ name, origin, nullable }) => origin === "input" && !nullable && errors[name] !== undefined,
    );
    if (hasNoKey || lacksGiven || refusesRow(found)) throw cellError(layout.whole, found);
    row[layout.errors] = JSON.stringify(errors);
    return errors;
  }
}
