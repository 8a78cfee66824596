import { appError } from "@appdb/contract/errors";
import type { OnError } from "@appdb/contract/jobs";
import type { ManifestAnswerer } from "@appdb/contract/manifest";
import { KeyedMutex } from "../batching/keyed-mutex.ts";
import type { CatalogFunction } from "../catalog/catalog.ts";
import { planAnswer, rowError } from "../compute/answer-graph.ts";
import { type CellErrors, isOfApplication, ownErrors, spreadErrors } from "../compute/cell-errors.ts";
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
}

/** A row to change, with what its request says of it. */
export interface Update extends RowChange {
  /** What becomes of a computed cell that fails. */
  readonly onError: OnError;
  /** Makes the answer of the row before it is written; it then stands in the answer's slot. */
  readonly answerer: ManifestAnswerer | null;
  /** Its response is stored when the row is written. */
  readonly request?: IdempotentRequest | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly timing?: Timing | undefined;
}

/** `whole`: Python computes what SQL would have computed, too. */
type PythonShare = "divided" | "whole";

interface Change extends Update {
  readonly shape: UpdateShape;
}

/** How often an update starts over because its row was changed between reading and writing it, by somebody else than us. */
export const MAX_UPDATE_ATTEMPTS = 50;
/** Each has statements that every connection keeps. Updates that send other columns than those before them get theirs made anew. */
const KEPT_SHAPES = 32;

/**
 * Changes rows of one table for one service, found by their key. What SQL can compute of a changed row is computed in the
 * statement, from the row as it is locked there. What needs Python is computed from a version of the row, and written
 * only if the row still has that version: else everything begins anew.
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
   * Changes a row; afterwards its slots hold what the table's routes answer, as it is stored, and its errors those of the
   * cells that were computed anew and failed. Either the row was changed and this resolves, or it rejects and the row is
   * as it was, commit_unknown alone excepted.
   * @throws row_not_found, function_failed and its kin, invalid_request, schema_changed, disk_full, overloaded,
   *  query_timeout, database_unavailable, commit_unknown, worker_unavailable
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

  /** Resolves when no update is on its way. */
  async drain(): Promise<void> {
    await this.#mutex.drain();
    await this.#reads.drain();
    await this.#writes.drain();
  }

  /** Two of our own updates of one row would send each other back to the start. */
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

  /** Reads the row, and puts the values that the change reads of it into its slots. @throws row_not_found */
  async #readStored({ row, shape, timing }: Change): Promise<StoredRow> {
    const stored = await measured(timing, "db", this.#reads.submit({ row, shape }));
    if (stored === undefined) throw rowNotFound(this.#input.layout, row);
    for (const [at, slot] of shape.reads.entries()) row[slot.at] = stored.values[at] ?? null;
    return stored;
  }

  /** Computes the dependents of what is sent, all in Python or those that need it. */
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
    const made = new Set(isDivided ? shape.graph?.graph.steps.map(({ name }) => name) : []);
    const lacking = [...shape.dependent_names].filter(
      (name) => !made.has(name) && !pending.has(name) && errors[name] === undefined,
    );
    for (const slot of shape.dependents) if (!made.has(slot.name)) row[slot.at] = null;
    const isOneRun = answerer !== null && onError === "abort";
    const rest = isOneRun ? planAnswer(layout, functions, answerer, lacking) : bindPython(layout, functions, lacking);
    if (rest !== null) errors = await this.#runGraph(change, rest, before, errors);
    if (answerer !== null && !isOneRun) await this.#answer(change, answerer);
    row[layout.errors] = Object.keys(errors).length === 0 ? null : JSON.stringify(errors);
    return { row, request, shape, kind: "given", stored, pending: [...pending] };
  }

  /** Runs a graph over the row. Gives the errors of all dependents as they are then. @throws as `run` */
  async #runGraph(change: Change, graph: BoundGraph, before: CellErrors, errors: CellErrors): Promise<CellErrors> {
    const { layout } = this.#input;
    const { row, shape, onError, signal, timing } = change;
    const others = Object.entries(before).filter(([name]) => !shape.dependent_names.has(name));
    // Where a step reads why a cell has no value, it reads that here.
    row[layout.errors] = JSON.stringify({ ...Object.fromEntries(others), ...errors });
    const found = await measured(timing, "py", runCells(this.#deps.udf(), graph, row, signal), graph.graph.functions);
    if (found === null) return errors;
    if (onError === "abort" || isOfApplication(found)) throw rowError(layout, change.answerer, found);
    return spreadErrors(layout.table, shape.dependent_names, { ...errors, ...ownErrors(found) });
  }

  /** Has the function make the answer of a row whose values are all there. @throws as `run` */
  async #answer({ row, signal, timing }: Change, answerer: ManifestAnswerer): Promise<void> {
    const { layout, functions } = this.#input;
    const graph = planAnswer(layout, functions, answerer, []);
    const found = await measured(timing, "py", runCells(this.#deps.udf(), graph, row, signal), graph.graph.functions);
    if (found !== null) throw rowError(layout, answerer, found);
  }

  /** Errors of dependents that read a cell which failed before and is not computed anew. */
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

  /** The dependents that hang on some of `names`. */
  #readersOf(shape: UpdateShape, names: readonly string[]): ReadonlySet<string> {
    const outside = names.filter((name) => shape.unsure.includes(name));
    if (outside.length === 0) return new Set();
    const { layout, functions } = this.#input;
    const readers = planUpdate(layout, functions, outside).dependent_names;
    return new Set([...shape.dependent_names].filter((name) => readers.has(name)));
  }

  /** A body that changes nothing is answered with the row as it is. */
  async #look(change: Change): Promise<void> {
    const { answerer } = change;
    await this.#readStored(change);
    if (answerer !== null) await this.#answer(change, answerer);
  }

  #shapeOf(sent: readonly string[], answerer: ManifestAnswerer | null = null): UpdateShape {
    const key = [...sent, ...(answerer === null ? [] : ["", answerer.id])].join("\0");
    const kept = this.#shapes.get(key);
    if (kept !== undefined) return kept;
    const { layout, functions, read } = this.#input;
    const planned = planUpdate(layout, functions, sent);
    const isKept = this.#shapes.size < KEPT_SHAPES;
    const known = new Set([...sent, ...layout.table.primary_key, ...planned.dependent_names]);
    const asked = (answerer?.parameters ?? []).filter((name) => !known.has(name));
    // What changes nothing reads what is answered.
    const also = sent.length > 0 ? asked : [...read, ...asked];
    const names = new Set([...planned.reads.map(({ name }) => name), ...also]);
    const shape = { ...planned, is_kept: isKept, reads: layout.slots.filter(({ name }) => names.has(name)) };
    if (isKept) this.#shapes.set(key, shape);
    return shape;
  }
}

function isPending(error: unknown): boolean {
  return error === "pending";
}
