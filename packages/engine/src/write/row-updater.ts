import { appError } from "@appdb/contract/errors";
import type { OnError } from "@appdb/contract/jobs";
import type { ManifestAnswerer } from "@appdb/contract/manifest";
import { KeyedMutex } from "../batching/keyed-mutex.ts";
import type { CatalogFunction } from "../catalog/catalog.ts";
import { planAnswer, rowError } from "../compute/answer-graph.ts";
import { type CellErrors, ownErrors, refusesRow, spreadErrors } from "../compute/cell-errors.ts";
import { storedSlots } from "../compute/row-layout.ts";
import { type BoundGraph, bindPython, runCells } from "../compute/run-graph.ts";
import type { IdempotentRequest } from "../idempotency/request-store.ts";
import type { RowChange } from "../rows/validate-row.ts";
import { measured, type Timing } from "../timing.ts";
import { rowKeyText, rowNotFound } from "./keyed-rows.ts";
import { planUpdate, type UpdateShape } from "./update-shape.ts";
import {
  type Read,
  readVerb,
  type StoredRow,
  type UpdateInput,
  updateVerb,
  type Write,
  type Written,
} from "./update-verb.ts";
import { type WriteDeps, WritePipeline } from "./write-pipeline.ts";

export interface RowUpdaterInput extends UpdateInput {
  readonly functions: ReadonlyMap<string, CatalogFunction>;
  /** The unstored columns of its responses. */
  readonly unstored: readonly string[];
}

/** A row to change, with the options of its request. */
export interface Update extends RowChange {
  /** How to handle a computed cell that fails. */
  readonly onError: OnError;
  /** Makes the answer of the row before it is written. The answer then is in the answer's slot. */
  readonly answerer: ManifestAnswerer | null;
  /** Its response is stored with the row. */
  readonly request?: IdempotentRequest | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly timing?: Timing | undefined;
}

/** `whole`: Python also computes the SQL columns. */
type PythonShare = "divided" | "whole";

interface Change extends Update {
  readonly shape: UpdateShape;
}

/** How often an update restarts because others changed its row between read and write. */
export const MAX_UPDATE_ATTEMPTS = 50;
/** Every connection keeps the statements of these shapes. Updates with other columns get new statements each time. */
const KEPT_SHAPES = 32;

/**
 * Changes rows of one table by key, for one service. The statement computes SQL columns from the locked row. Python
 * computes its columns from one version of the row. The update writes them only if the row still has that version;
 * otherwise it starts over.
 */
export class RowUpdater {
  readonly #deps: Pick<WriteDeps, "sql" | "udf" | "limits" | "requests">;
  readonly #input: RowUpdaterInput;
  readonly #shapes = new Map<string, UpdateShape>();
  readonly #writes: WritePipeline<Write, Written>;
  readonly #reads: WritePipeline<Read, StoredRow | undefined>;
  readonly #mutex = new KeyedMutex();

  constructor(deps: Pick<WriteDeps, "sql" | "udf" | "limits" | "requests">, input: RowUpdaterInput) {
    this.#deps = deps;
    this.#input = input;
    this.#writes = new WritePipeline(deps, input.guard, updateVerb(deps, input));
    this.#reads = new WritePipeline(deps, input.guard, readVerb(deps, input));
  }

  /** Whether an update of these inputs may wait for Python. */
  usesPython(inputs: readonly string[]): boolean {
    return this.#shapeOf(inputs).graph !== null;
  }

  /**
   * Changes a row. Afterwards its slots hold the stored values that the table's routes answer, and its errors those of
   * recomputed cells. It resolves when the row was changed, or rejects and leaves the row unchanged. Only
   * commit_unknown leaves this open.
   * @throws row_not_found, function_failed and related codes, invalid_request, schema_changed, disk_full, overloaded,
   * query_timeout, database_unavailable, commit_unknown, worker_unavailable
   */
  async run(update: Update): Promise<void> {
    const { row, sent, answerer, request, timing } = update;
    const shape = this.#shapeOf(sent, answerer);
    const change: Change = { ...update, shape };
    if (sent.length === 0) return this.#look(change);
    if (answerer !== null) return this.#inTurn(change, "whole");
    if (shape.graph !== null) return this.#inTurn(change, "divided");
    const write: Write = { row, request, shape, kind: "computing", stored: null, pending: [] };
    const written = await measured(timing, "db", this.#writes.submit(write));
    if (written === "written") return;
    if (written === "passed_over" && shape.unsure.length === 0) throw rowNotFound(this.#input.layout, row);
    return this.#inTurn(change, "whole");
  }

  /** Resolves when no update is running. */
  async drain(): Promise<void> {
    await this.#mutex.drain();
    await this.#reads.drain();
    await this.#writes.drain();
  }

  /** Serialises updates of one row: two concurrent ones would restart each other. */
  #inTurn(change: Change, share: PythonShare): Promise<void> {
    return this.#mutex.run(rowKeyText(this.#input.layout, change.row), () => this.#computeAndWrite(change, share));
  }

  async #computeAndWrite(change: Change, share: PythonShare): Promise<void> {
    let current = share;
    for (let attempt = 1; attempt <= MAX_UPDATE_ATTEMPTS; attempt++) {
      const stored = await this.#readStored(change);
      const write = await this.#compute(change, stored, current);
      const written = await measured(change.timing, "db", this.#writes.submit(write));
      if (written === "written") return;
      if (written === "refused") current = "whole";
    }
    throw appError("overloaded", {
      detail: `The row was changed by others ${MAX_UPDATE_ATTEMPTS} times while its columns were computed; it was not updated.`,
      hint: "Send the request again in a moment.",
      meta: { table: this.#input.layout.table.name },
    });
  }

  /** Reads the row and copies the values that the change needs into its slots. @throws row_not_found */
  async #readStored({ row, shape, timing }: Change): Promise<StoredRow> {
    const stored = await measured(timing, "db", this.#reads.submit({ row, shape }));
    if (stored === undefined) throw rowNotFound(this.#input.layout, row);
    for (const [at, slot] of shape.reads.entries()) row[slot.at] = stored.values[at] ?? null;
    return stored;
  }

  /** Computes the dependents of the sent values in Python: all of them, or those that need it. */
  async #compute(change: Change, stored: StoredRow, share: PythonShare): Promise<Write> {
    const { layout, functions } = this.#input;
    const { row, request, shape, answerer, onError } = change;
    const before = stored.errors;
    const pending = this.#readersOf(
      shape,
      Object.keys(before).filter((name) => isPending(before[name])),
    );
    const failed = this.#inherited(shape, before);
    let errors: CellErrors = failed;
    const isDivided = share === "divided" && pending.size === 0 && Object.keys(failed).length === 0;
    if (isDivided && shape.graph !== null) {
      errors = await this.#runGraph(change, shape.graph, before, errors);
      if (Object.keys(errors).length === 0) {
        row[layout.errors] = null;
        return { row, request, shape, kind: "computing", stored, pending: [] };
      }
    }
    const computed = new Set(isDivided ? shape.graph?.graph.steps.map(({ name }) => name) : []);
    const missing = [...shape.dependent_names, ...shape.unstored].filter(
      (name) => !computed.has(name) && !pending.has(name) && errors[name] === undefined,
    );
    for (const slot of shape.dependents) if (!computed.has(slot.name)) row[slot.at] = null;
    const isOneRun = answerer !== null && onError === "abort";
    const checked = isDivided ? [] : shape.checked;
    const rest = isOneRun
      ? planAnswer(layout, functions, answerer, missing, checked)
      : bindPython(layout, functions, missing, checked);
    if (rest !== null) errors = await this.#runGraph(change, rest, before, errors);
    if (answerer !== null && !isOneRun) await this.#answer(change, answerer);
    row[layout.errors] = Object.keys(errors).length === 0 ? null : JSON.stringify(errors);
    return { row, request, shape, kind: "given", stored, pending: [...pending] };
  }

  /** Runs a graph on the row. Returns the resulting errors of all dependents. @throws as `run` */
  async #runGraph(change: Change, graph: BoundGraph, before: CellErrors, errors: CellErrors): Promise<CellErrors> {
    const { layout } = this.#input;
    const { row, shape, onError, signal, timing } = change;
    const others = Object.entries(before).filter(
      ([name]) => !shape.dependent_names.has(name) && !shape.checked.includes(name),
    );
    // A step that needs the reason for a missing value reads it here.
    row[layout.errors] = JSON.stringify({ ...Object.fromEntries(others), ...errors });
    const found = await measured(timing, "py", runCells(this.#deps.udf(), graph, row, signal), graph.graph.functions);
    if (found === null) return errors;
    // A broken file never replaces the previous one.
    const isBroken = shape.checked.some((name) => found[name] !== undefined);
    if (onError === "abort" || isBroken || refusesRow(found)) throw rowError(layout, change.answerer, found);
    return spreadErrors(layout.whole, shape.dependent_names, { ...errors, ...ownErrors(found) });
  }

  /** Runs the function that makes the answer of a complete row. @throws as `run` */
  async #answer({ row, signal, timing }: Change, answerer: ManifestAnswerer): Promise<void> {
    const { layout, functions } = this.#input;
    const graph = planAnswer(layout, functions, answerer, [], []);
    const found = await measured(timing, "py", runCells(this.#deps.udf(), graph, row, signal), graph.graph.functions);
    if (found !== null) throw rowError(layout, answerer, found);
  }

  /** Errors of dependents that read a cell which failed earlier and is not recomputed. */
  #inherited(shape: UpdateShape, before: CellErrors): CellErrors {
    const failed = shape.unsure.flatMap((name) => {
      const error = before[name];
      return error === undefined || isPending(error) ? [] : [[name, error] as const];
    });
    if (failed.length === 0) return {};
    const names = shape.dependent_names;
    const all = spreadErrors(this.#input.layout.table, names, Object.fromEntries(failed));
    return Object.fromEntries(Object.entries(all).filter(([name]) => names.has(name)));
  }

  /** The dependents that read some of `names`, directly or not. */
  #readersOf(shape: UpdateShape, names: readonly string[]): ReadonlySet<string> {
    const outside = names.filter((name) => shape.unsure.includes(name));
    if (outside.length === 0) return new Set();
    const { layout, functions } = this.#input;
    const readers = planUpdate(layout, functions, outside).dependent_names;
    return new Set([...shape.dependent_names].filter((name) => readers.has(name)));
  }

  /** Answers a body without changes with the current row. */
  async #look(change: Change): Promise<void> {
    const { answerer, shape, row } = change;
    const { errors: before } = await this.#readStored(change);
    if (shape.graph !== null) {
      const errors = await this.#runGraph(change, shape.graph, before, {});
      row[this.#input.layout.errors] = Object.keys(errors).length === 0 ? null : JSON.stringify(errors);
    }
    if (answerer !== null) await this.#answer(change, answerer);
  }

  #shapeOf(sent: readonly string[], answerer: ManifestAnswerer | null = null): UpdateShape {
    const key = [...sent, ...(answerer === null ? [] : ["", answerer.id])].join("\0");
    const cached = this.#shapes.get(key);
    if (cached !== undefined) return cached;
    const { layout, functions, read, unstored } = this.#input;
    const planned = planUpdate(layout, functions, sent, unstored);
    const isKept = this.#shapes.size < KEPT_SHAPES;
    const known = new Set([...sent, ...layout.table.primary_key, ...planned.dependent_names]);
    const returned = (answerer?.parameters ?? []).filter((name) => !known.has(name));
    // A body without changes reads the answered columns only.
    const also = sent.length > 0 ? returned : [...read, ...returned];
    const names = new Set([...planned.reads.map(({ name }) => name), ...also]);
    const reads = storedSlots(layout).filter(({ name }) => names.has(name));
    const shape = { ...planned, is_kept: isKept, reads };
    if (isKept) this.#shapes.set(key, shape);
    return shape;
  }
}

function isPending(error: unknown): boolean {
  return error === "pending";
}
