import type { EngineValue } from "@appdb/contract/types";
import type { UdfBatch, UdfError, UdfGraph, UdfResult, UdfRunner } from "../ports.ts";

/** Interval of the checks for unfinished rows. */
const LOOK_MS = 1_000;

/** Runs a graph on rows, and waits until all have their result. Rows that have not begun when it throws never run.
 *  @throws as `UdfBatch.wait` */
export async function runWhole(
  runner: Pick<UdfRunner, "runBatch">,
  graph: UdfGraph,
  columns: readonly (readonly EngineValue[])[],
  rows: number,
  signal = new AbortController().signal,
): Promise<UdfBatch> {
  const batch = runner.runBatch(graph, columns, rows);
  try {
    while (batch.ready < rows) await batch.wait(LOOK_MS, signal);
  } catch (error) {
    batch.drop();
    throw error;
  }
  return batch;
}

type RowErrors = Readonly<Record<string, UdfError>>;

/** Collects the results of a batch's rows in any order and form, and wakes waiting callers. */
export class BatchResults implements UdfBatch {
  readonly rows: number;
  readonly columns: EngineValue[][];
  readonly errors = new Map<number, RowErrors>();
  readonly #isDone: Uint8Array;
  #ready = 0;
  #failure: { readonly error: unknown } | undefined;
  #wake: (() => void) | undefined;
  #onDrop: (() => void) | undefined;

  constructor(graph: UdfGraph, rows: number) {
    this.rows = rows;
    this.columns = graph.steps.map(() => new Array<EngineValue>(rows).fill(null));
    this.#isDone = new Uint8Array(rows);
  }

  get ready(): number {
    return this.#ready;
  }

  /** Takes the result of one row. */
  put(row: number, { values, errors }: UdfResult): void {
    for (const [step, column] of this.columns.entries()) column[row] = values[step] ?? null;
    if (errors !== null) this.errors.set(row, errors);
    this.#done(row, row + 1);
  }

  /** Takes the values of `count` rows from `first` on; `errors[k]` are those of row `first + k`. */
  putColumns(
    first: number,
    count: number,
    columns: readonly (readonly EngineValue[])[],
    errors: readonly (RowErrors | null)[] | null,
  ): void {
    for (const [step, own] of this.columns.entries()) {
      const column = columns[step];
      for (let k = 0; k < count; k++) own[first + k] = column?.[k] ?? null;
    }
    if (errors !== null) {
      for (const [k, found] of errors.entries()) if (found !== null) this.errors.set(first + k, found);
    }
    this.#done(first, first + count);
  }

  /** Ends the batch. Rows without a result will not get one. */
  fail(error: unknown): void {
    this.#failure ??= { error };
    this.#wake?.();
  }

  /** Calls `work` when the batch is dropped. */
  onDrop(work: () => void): void {
    this.#onDrop = work;
  }

  drop(): void {
    this.#onDrop?.();
  }

  async wait(ms: number, signal: AbortSignal): Promise<void> {
    if (this.#ready < this.rows && this.#failure === undefined && !signal.aborted) await this.#sleep(ms, signal);
    if (this.#failure !== undefined) throw this.#failure.error;
    signal.throwIfAborted();
  }

  async #sleep(ms: number, signal: AbortSignal): Promise<void> {
    await new Promise<void>((resolve) => {
      const end = () => {
        clearTimeout(timer);
        signal.removeEventListener("abort", end);
        resolve();
      };
      const timer = setTimeout(end, ms);
      signal.addEventListener("abort", end, { once: true });
      this.#wake = end;
    });
    this.#wake = undefined;
  }

  #done(from: number, to: number): void {
    this.#isDone.fill(1, from, to);
    while (this.#ready < this.rows && this.#isDone[this.#ready] === 1) this.#ready += 1;
    if (this.#ready === this.rows) this.#wake?.();
  }
}

/** The result of one row of a finished batch. */
export function resultOf(batch: UdfBatch, row: number): UdfResult {
  return { values: batch.columns.map((column) => column[row] ?? null), errors: batch.errors.get(row) ?? null };
}

/** A batch of rows that run one by one, for a runner that handles each row separately. */
export function runRowWise(
  run: UdfRunner["run"],
  graph: UdfGraph,
  columns: readonly (readonly EngineValue[])[],
  rows: number,
): UdfBatch {
  const results = new BatchResults(graph, rows);
  const dropped = new AbortController();
  results.onDrop(() => dropped.abort());
  for (let row = 0; row < rows; row++) {
    const values = columns.map((column) => column[row] ?? null);
    run(graph, values, dropped.signal).then(
      (result) => results.put(row, result),
      (error: unknown) => results.fail(error),
    );
  }
  return results;
}
