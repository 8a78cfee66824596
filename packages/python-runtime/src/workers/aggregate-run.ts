import { type AppError, appError } from "@appdb/contract/errors";
import type { EngineValue, TypeKind } from "@appdb/contract/types";
import type { FromWorker } from "@appdb/contract/worker-protocol";
import { workerEndHint } from "@appdb/engine/compute/worker-end";
import type { UdfAggregation, UdfFold, UdfFolded } from "@appdb/engine/ports";
import type { FailureAttribution } from "./failure-attribution.ts";
import { fromWire, spellNegativeZero, toWire } from "./wire-values.ts";
import type { WorkerProcess } from "./worker-process.ts";

/** Maximum number of unconfirmed feeds; the next one waits. */
const MAX_FEEDS = 2;

/** One aggregation in one worker. */
export class AggregateRun implements UdfFold {
  readonly #call: number;
  readonly #aggregation: UdfAggregation;
  readonly #kinds: readonly TypeKind[];
  readonly #process: WorkerProcess;
  readonly #onWork: () => void;
  readonly #onEnd: () => void;
  #feeds = 0;
  #error: AppError | undefined;
  #waiters: (() => void)[] = [];
  #folded: ReadonlyMap<number, UdfFolded> | undefined;
  /** Values of a window's rows that `add` has not returned. */
  #rows: UdfFolded[] = [];
  #isFinishing = false;
  #spentMs = 0;

  /** `onWork` is called each time before the worker gets work. */
  constructor(
    call: number,
    aggregation: UdfAggregation,
    process: WorkerProcess,
    { onWork, onEnd }: { readonly onWork: () => void; readonly onEnd: () => void },
  ) {
    this.#call = call;
    this.#aggregation = aggregation;
    this.#kinds = aggregation.inputs.map(({ type }) => type.kind);
    this.#process = process;
    this.#onWork = onWork;
    this.#onEnd = onEnd;
    const { function: fn, inputs, args, functions, constants, is_sorted, is_window } = aggregation;
    process.send({
      t: "fold",
      call,
      function: fn,
      inputs: [...inputs],
      args: args.map(({ name, expr }) => ({ name, expr: spellNegativeZero(expr) })),
      functions: [...functions],
      constants: { ...constants },
      is_sorted,
      is_window,
    });
  }

  /** Whether the worker owes an answer. */
  get isFed(): boolean {
    return this.#feeds > 0 || this.#isFinishing;
  }

  async add(groups: readonly number[], columns: readonly (readonly EngineValue[])[]): Promise<readonly UdfFolded[]> {
    this.#throwIfEnded();
    this.#onWork();
    this.#feeds += 1;
    const { inputs, is_window: isWindow } = this.#aggregation;
    const wire = inputs.map(({ type }, at) => (columns[at] ?? []).map((value) => toWire(type, value)));
    this.#process.sendColumns({ t: "feed", call: this.#call, groups: [...groups], columns: wire }, this.#kinds);
    const most = isWindow ? 1 : MAX_FEEDS;
    while (this.#feeds >= most && this.#error === undefined) await this.#change();
    this.#throwIfEnded();
    return this.#rows.splice(0);
  }

  async finish(groups: readonly number[]): Promise<ReadonlyMap<number, UdfFolded>> {
    this.#throwIfEnded();
    this.#onWork();
    this.#isFinishing = true;
    this.#process.send({ t: "finish", call: this.#call, groups: [...groups] });
    while (this.#folded === undefined && this.#error === undefined) await this.#change();
    this.#throwIfEnded();
    return this.#folded ?? new Map();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#folded !== undefined || this.#error !== undefined) return;
    this.#process.send({ t: "drop", call: this.#call });
    this.fail(appError("worker_unavailable", { detail: "The aggregation was cancelled." }));
  }

  /** Handles the worker's `fed` and `folded` frames. */
  take(frame: Extract<FromWorker, { t: "fed" | "folded" }>): void {
    if (frame.t === "fed") {
      this.#feeds -= 1;
      for (const row of this.#valuesOf(frame)) this.#rows.push(row);
    } else {
      const values = this.#valuesOf(frame);
      this.#folded = new Map(frame.groups.map((group, k) => [group, values[k] ?? { value: null, error: null }]));
      this.#isFinishing = false;
      this.#onEnd();
    }
    this.#sendFrame();
  }

  #valuesOf({ values, errors }: Pick<Extract<FromWorker, { t: "fed" }>, "values" | "errors">): UdfFolded[] {
    const { result } = this.#aggregation;
    return values.map((value, k) => ({ value: fromWire(result, value), error: errors?.[k] ?? null }));
  }

  /** Fails the run because its worker has ended. */
  fail(error: AppError): void {
    if (this.#error !== undefined || this.#folded !== undefined) return;
    this.#error = error;
    this.#isFinishing = false;
    this.#feeds = 0;
    this.#onEnd();
    this.#sendFrame();
  }

  /** Counts time of the worker for this aggregation. Returns the sum. */
  spend(ms: number): number {
    this.#spentMs += ms;
    return this.#spentMs;
  }

  /** Ends the aggregation because the sum is above the limit; the worker continues. */
  exceed(limitMs: number): void {
    this.#process.send({ t: "drop", call: this.#call });
    this.fail(this.#timeout(`took longer than ${limitMs / 1000} s for all rows of a query.`));
  }

  /** Error of an aggregation whose worker ended. */
  lost(blame: FailureAttribution): AppError {
    const { id } = this.#aggregation.function;
    const meta = { function: id };
    switch (blame.kind) {
      case "died":
        return appError("worker_died", {
          detail: `The worker process ended (${blame.reason}) while ${id} ran over the rows of a query.`,
          hint: `Send the query again. ${workerEndHint(blame.reason)}`,
          meta,
        });
      case "timeout":
        return this.#timeout(`took longer than ${blame.timeout_ms / 1000} s for a part of a query's rows.`);
      case "memory":
        return appError("worker_out_of_memory", {
          detail: `The worker that ran ${id} used more than ${blame.memory_mb} MB of memory.`,
          hint: "Let the aggregate keep less data, or the query make fewer groups.",
          meta,
        });
    }
  }

  #timeout(what: string): AppError {
    const { id } = this.#aggregation.function;
    return appError("function_timeout", {
      detail: `${id} ${what}`,
      hint: "Make the function faster, or reduce the rows that the query reads.",
      meta: { function: id },
    });
  }

  #throwIfEnded(): void {
    if (this.#error !== undefined) throw this.#error;
  }

  #change(): Promise<void> {
    return new Promise((resolve) => this.#waiters.push(resolve));
  }

  #sendFrame(): void {
    for (const waiter of this.#waiters.splice(0)) waiter();
  }
}
