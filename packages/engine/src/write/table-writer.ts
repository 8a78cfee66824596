import type { OnError } from "@appdb/contract/jobs";
import type { CatalogFunction } from "../catalog/catalog.ts";
import { planCompute, planPython } from "../compute/plan-compute.ts";
import { type Generators, makeGenerated, type Row, type RowLayout } from "../compute/row-layout.ts";
import { type BoundGraph, bindGraph, runGraph } from "../compute/run-graph.ts";
import { keptParameters } from "../idempotency/keep-with-insert.ts";
import {
  AnsweredBefore,
  isKeyTaken,
  keepWith,
  type RequestStore,
  type RequestToKeep,
  requestOf,
} from "../idempotency/request-store.ts";
import type { SqlPool, UdfRunner } from "../ports.ts";
import { fillRow, rowBytes } from "../rows/batch-sql.ts";
import { Coalescer, type Outcome } from "../rows/coalescer.ts";
import { FailingRows } from "../rows/failing-rows.ts";
import { BATCHING } from "../rows/limits.ts";
import type { QueryLimits } from "../rows/query-limits.ts";
import { measured, type Timing } from "../timing.ts";
import { isolate } from "./isolate.ts";
import type { MovingTarget } from "./moving-target.ts";
import { explainRefusal, isValueRefusal, uniqueViolation } from "./sql-refusals.ts";
import { type Statements, TableStatements } from "./table-statements.ts";
import type { WriteTarget } from "./write-target.ts";

export interface TableWriterDeps extends Generators {
  readonly sql: SqlPool;
  readonly udf: () => UdfRunner;
  /** Of the pool, for the errors that name it. */
  readonly limits: Pick<QueryLimits, "statement_timeout_ms">;
  readonly requests: RequestStore;
}

export interface TableWriterInput {
  readonly layout: RowLayout;
  readonly functions: ReadonlyMap<string, CatalogFunction>;
  /** Columns whose values somebody will read after the write. */
  readonly read: ReadonlySet<string>;
  readonly target: MovingTarget;
  /** Some rows may keep the errors of cells that failed. */
  readonly keeps_errors: boolean;
}

/** Writes rows of one table for one service: computes what Python computes, and stores what is ready together. */
export class TableWriter {
  readonly #deps: TableWriterDeps;
  readonly #input: TableWriterInput;
  readonly #graph: BoundGraph | null;
  readonly #sqlSteps: ReturnType<typeof planCompute>["sql"];
  readonly #coalescer: Coalescer<Row, void>;
  /** Rows whose values are all there. */
  readonly #given: Coalescer<Row, void>;
  readonly #failing: FailingRows;
  readonly #statements: TableStatements;
  /** The last batch had rows whose requests were answered before: the next is likely to be repeated too. */
  #meetsRepeated = false;

  constructor(deps: TableWriterDeps, input: TableWriterInput) {
    this.#deps = deps;
    this.#input = input;
    const { layout, functions } = input;
    const plan = planCompute(layout.table, functions, layout.computed);
    this.#graph = plan.graph === null ? null : bindGraph(plan.graph, layout.index);
    this.#sqlSteps = plan.sql;
    this.#failing = new FailingRows({ udf: deps.udf, layout, functions, sql: plan.sql.map((step) => step.column) });
    this.#statements = new TableStatements({ ...input, steps: plan.sql });
    const batch = { ...BATCHING, weigh: rowBytes };
    this.#coalescer = new Coalescer({ ...batch, run: (rows) => this.#runBatch(rows, "computing") });
    this.#given = new Coalescer({ ...batch, run: (rows) => this.#runBatch(rows, "given") });
  }

  get uses_python(): boolean {
    return this.#graph !== null;
  }

  /**
   * Stores a row; afterwards its slots hold all values as they are stored. Either the row is there and this resolves, or
   * it rejects and nothing is stored, commit_unknown alone excepted.
   * @throws function_failed and its kin, unique_violation, invalid_request, schema_changed, disk_full, overloaded,
   *  query_timeout, database_unavailable, commit_unknown, worker_unavailable; AnsweredBefore when the request was
   */
  run(
    row: Row,
    signal?: AbortSignal,
    onError: OnError = "abort",
    request?: RequestToKeep,
    timing?: Timing,
  ): Promise<void> {
    if (request !== undefined) keepWith(row, request);
    makeGenerated(this.#input.layout, this.#deps, row);
    if (onError === "ignore") return this.#runKeeping(row, signal, timing);
    const submit = () => measured(timing, "db", this.#coalescer.submit(row));
    if (this.#graph === null) return submit();
    const { table } = this.#input.layout;
    const { functions } = this.#graph.graph;
    return measured(timing, "py", runGraph(this.#deps.udf(), table, this.#graph, row, signal), functions).then(submit);
  }

  /** Stores a row whatever its computed columns do: a cell that fails is null, its error stands in the layout's `errors`. */
  async #runKeeping(row: Row, signal?: AbortSignal, timing?: Timing): Promise<void> {
    this.#failing.admit(row);
    if (
      this.#graph !== null &&
      !(await measured(timing, "py", this.#failing.run(this.#graph, row, signal), this.#graph.graph.functions))
    ) {
      return this.#storeByPython(row);
    }
    await measured(timing, "db", this.#coalescer.submit(row));
  }

  /** Stores a row whose ids and computed values are in it, as `run` does. @throws as `run` */
  runGiven(row: Row, request?: RequestToKeep): Promise<void> {
    if (request !== undefined) keepWith(row, request);
    return this.#given.submit(row);
  }

  /** The statements, by which many rows at once are written as well. */
  get statements(): TableStatements {
    return this.#statements;
  }

  /** Resolves when no row waits to be stored. */
  async drain(): Promise<void> {
    await Promise.all([this.#coalescer.drain(), this.#given.drain()]);
  }

  #runBatch(rows: readonly Row[], kind: "computing" | "given"): Promise<readonly Outcome<void>[]> {
    return isolate(
      this.#inKeyOrder(rows),
      (part) => this.#store(part, kind),
      (row, error) => this.#alone(row, error, kind),
    ).then((outcomes) => this.#inOrderOf(rows, outcomes));
  }

  /** Two batches that wait for each other's keys would deadlock; in one order they only wait. */
  #inKeyOrder(rows: readonly Row[]): readonly Row[] {
    if (!this.#input.target.current.has_key || rows.length === 1) return rows;
    const { layout } = this.#input;
    const slots = layout.table.primary_key.map((name) => layout.index.get(name) ?? 0);
    const keyed = rows.map((row) => ({ row, key: slots.map((slot) => String(row[slot])).join("\0") }));
    return keyed.sort((a, b) => (a.key < b.key ? -1 : 1)).map(({ row }) => row);
  }

  #inOrderOf(rows: readonly Row[], outcomes: readonly Outcome<void>[]): readonly Outcome<void>[] {
    if (!this.#input.target.current.has_key || rows.length === 1) return outcomes;
    const of = new Map(this.#inKeyOrder(rows).map((row, at) => [row, outcomes[at]]));
    return rows.map((row) => of.get(row) ?? { error: new Error("A row has no outcome.") });
  }

  /** What becomes of a row that PostgreSQL refused by itself. A value that SQL cannot make may be one that Python can. */
  #alone(row: Row, error: unknown, kind: "computing" | "given"): Outcome<void> {
    if (isValueRefusal(error) && kind === "computing" && this.#sqlSteps.length > 0)
      return { later: () => this.#storeByPython(row) };
    return { error: explainRefusal(this.#input.layout, row, error, this.#deps.limits) };
  }

  async #storeByPython(row: Row): Promise<void> {
    const { layout, functions } = this.#input;
    if (this.#failing.has(row)) {
      await this.#failing.complete(row);
    } else {
      const columns = this.#sqlSteps.map((step) => step.column);
      const graph = planPython(layout.table, functions, columns);
      if (graph !== null) await runGraph(this.#deps.udf(), layout.table, bindGraph(graph, layout.index), row);
    }
    try {
      const [outcome] = await this.#store([row], "given");
      if (outcome !== undefined && "error" in outcome) throw outcome.error;
    } catch (error) {
      throw explainRefusal(layout, row, error, this.#deps.limits);
    }
  }

  /** Writes rows in one transaction. @throws SqlError when PostgreSQL refuses, schema_changed */
  async #store(rows: readonly Row[], kind: "computing" | "given"): Promise<readonly Outcome<void>[]> {
    const answered = new Map<Row, Outcome<void>>();
    if (this.#meetsRepeated) await this.#findAnswered(rows, answered);
    const left = () => (answered.size === 0 ? rows : rows.filter((row) => !answered.has(row)));
    const attempt = async (target: WriteTarget) => {
      const statements = this.#statements.of(target);
      const now = left();
      const outcomes = now.length === 0 ? [] : await this.#execute(statements, kind, now);
      return outcomes === undefined ? undefined : merge(rows, now, outcomes, answered);
    };
    return this.#input.target.run(attempt, async (error) => {
      if (!isKeyTaken(error)) return false;
      await this.#findAnswered(left(), answered);
      return true;
    });
  }

  /** Finds the rows whose requests were answered before, and what becomes of them. */
  async #findAnswered(rows: readonly Row[], answered: Map<Row, Outcome<void>>): Promise<void> {
    const asked = rows.flatMap((row) => {
      const request = requestOf(row);
      return request === undefined ? [] : [{ row, request }];
    });
    if (asked.length === 0) return;
    const found = await this.#deps.requests.find(asked.map(({ request }) => request));
    this.#meetsRepeated = found.size > 0;
    for (const { row, request } of asked) {
      const kept = found.get(request.id);
      if (kept !== undefined) answered.set(row, { error: new AnsweredBefore(kept) });
    }
  }

  /** One attempt; undefined when the table has another version by now and nothing was written. */
  async #execute(
    { target, ...statements }: Statements,
    kind: "computing" | "given",
    rows: readonly Row[],
  ): Promise<readonly Outcome<void>[] | undefined> {
    const { identity } = this.#input.layout;
    const keeps = rows.some((row) => requestOf(row) !== undefined);
    const variant = keeps ? (`${kind}_keeping` as const) : kind;
    const statement = statements[variant];
    const values = this.#statements.valuesOf(target, statement, rows);
    if (keeps) values.push(...keptParameters(rows, identity, statement.made, this.#deps.requests.expiry()));
    const result = await this.#deps.sql.query({ text: statement.text, name: statement.name, values });
    const { target: moving } = this.#input;
    if (result.row_count === 0 && !(target.has_key && (await moving.isCurrent(target)))) return undefined;
    if (statement.returned.length === 0) return rows.map(() => ({ answer: undefined }));
    // Rows come back in the order given, short of those whose key exists; the identity proves it.
    let next = 0;
    const outcomes = rows.map((row): Outcome<void> => {
      const stored = result.rows[next];
      if (stored === undefined || stored[0] !== row[identity]) {
        return { error: uniqueViolation(this.#input.layout, row) };
      }
      next += 1;
      fillRow(row, statement.returned, stored, 0);
      return { answer: undefined };
    });
    if (next !== result.row_count) throw new Error("PostgreSQL answered rows in another order than they were sent.");
    return outcomes;
  }
}

/** Outcomes of all rows, in their order, from those that were settled before and those that `left` got. */
function merge(
  rows: readonly Row[],
  left: readonly Row[],
  outcomes: readonly Outcome<void>[],
  settled: ReadonlyMap<Row, Outcome<void>>,
): readonly Outcome<void>[] {
  if (settled.size === 0) return outcomes;
  const of = new Map(left.map((row, at) => [row, outcomes[at]]));
  return rows.map((row) => settled.get(row) ?? of.get(row) ?? { error: new Error("A row has no outcome.") });
}
