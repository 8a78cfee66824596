import type { CatalogFunction } from "../catalog/catalog.ts";
import { type CellErrors, isOfApplication, ownErrors, spreadErrors } from "../compute/cell-errors.ts";
import { planPython } from "../compute/plan-compute.ts";
import type { Row, RowLayout } from "../compute/row-layout.ts";
import { type BoundGraph, bindGraph, cellError, runCells } from "../compute/run-graph.ts";
import type { UdfError, UdfResult, UdfRunner } from "../ports.ts";

export interface FailingRowsInput {
  readonly udf: () => UdfRunner;
  readonly layout: RowLayout;
  readonly functions: ReadonlyMap<string, CatalogFunction>;
  /** Columns that SQL computes while a row is stored. */
  readonly sql: readonly string[];
}

/**
 * Rows that are stored although a computed column fails (`on_error="ignore"`): the cell is null, its error goes into the
 * row's `errors` slot, and cells that read it fail with it. What concerns the whole row is still an error of the request:
 * a key that has no value, a function that the application does not have.
 */
export class FailingRows {
  readonly #input: FailingRowsInput;
  readonly #computed: ReadonlySet<string>;
  readonly #errors = new WeakMap<Row, CellErrors>();

  constructor(input: FailingRowsInput) {
    this.#input = input;
    this.#computed = new Set(input.layout.computed);
  }

  admit(row: Row): void {
    this.#errors.set(row, {});
  }

  has(row: Row): boolean {
    return this.#errors.has(row);
  }

  /**
   * Runs the graph of the columns that need Python. False when SQL may not compute the rest of the row, because some of it
   * reads a cell that failed: `complete` does it then.
   * @throws function_failed and its kin, worker_unavailable, overloaded
   */
  async run(graph: BoundGraph, row: Row, signal?: AbortSignal): Promise<boolean> {
    return this.take(row, await runCells(this.#input.udf(), graph, row, signal));
  }

  /** The same for who has run the graph: `found` is what failed. @throws function_failed and its kin */
  take(row: Row, found: UdfResult["errors"]): boolean {
    if (found === null) return true;
    const errors = this.#note(row, found);
    return !this.#input.sql.some((name) => errors[name] !== undefined);
  }

  /** Computes in Python what SQL would have computed and can be. @throws as `run` does */
  async complete(row: Row): Promise<void> {
    const { layout, functions, sql, udf } = this.#input;
    const errors = this.#errors.get(row) ?? {};
    for (const name of sql) if (errors[name] !== undefined) row[layout.index.get(name) ?? -1] = null;
    const rest = sql.filter((name) => errors[name] === undefined);
    const graph = planPython(layout.table, functions, rest);
    if (graph === null) return;
    const found = await runCells(udf(), bindGraph(graph, layout.index), row);
    if (found !== null) this.#note(row, found);
  }

  #note(row: Row, found: Readonly<Record<string, UdfError>>): CellErrors {
    const { layout } = this.#input;
    const before = this.#errors.get(row) ?? {};
    const errors = spreadErrors(layout.table, this.#computed, { ...before, ...ownErrors(found) });
    const hasNoKey = layout.table.primary_key.some((name) => errors[name] !== undefined);
    if (hasNoKey || isOfApplication(found)) throw cellError(layout.table, found);
    this.#errors.set(row, errors);
    row[layout.errors] = JSON.stringify(errors);
    return errors;
  }
}
