import type { OnError } from "@appdb/contract/jobs";
import { type Row, type RowLayout, storedErrors } from "../compute/row-layout.ts";
import { isKeyTaken } from "../idempotency/request-store.ts";
import { type SqlConnection, SqlError, type SqlTransaction } from "../ports.ts";
import type { RowBatch } from "../rows/many-rows.ts";
import { withRowLocation } from "../rows/many-rows.ts";
import type { StoredColumns } from "../rows/stored-columns.ts";
import { BinaryCopy, writeMade } from "../statements/copy-binary.ts";
import { MARK_PENDING } from "../statements/insert-statement.ts";
import { copyText } from "../statements/row-parameters.ts";
import type { AwaitedBody } from "./awaited-body.ts";
import { BatchComputer, placeOf } from "./batch-computer.ts";
import type { ComputeStage } from "./compute-stage.ts";
import { explainRefusal, isRolledBack, isRowRefusal, isShapeRefusal, undone } from "./sql-refusals.ts";
import { pendingErrors, pendingIds, type TableStatements } from "./table-statements.ts";
import type { TableVersion } from "./table-version.ts";
import type { TableVersionGuard } from "./table-version-guard.ts";
import type { WriteDeps } from "./write-pipeline.ts";

export interface BulkWriterInput {
  readonly layout: RowLayout;
  readonly on_error: OnError;
  readonly guard: TableVersionGuard;
  /** Both are shared with the table's single-row writes. */
  readonly statements: TableStatements;
  readonly stage: ComputeStage;
}

export interface BulkSteps {
  /** The source of the rows if it arrives while they are written. */
  readonly body: AwaitedBody | undefined;
  /** Receives written rows in their order, with all their values, except of columns. The write may still be rolled
   *  back. */
  afterWrite(batch: RowBatch): Promise<void>;
  /** Runs last before the commit. */
  finish(connection: SqlConnection): Promise<void>;
}

const SAVEPOINT = "many_rows";
/** PostgreSQL may refuse a row after later rows were sent. Batches of so many bytes, and the last three, are kept to name it. */
const KEPT_BYTES = 2_000_000;
const KEPT_BATCHES = { least: 3, most: 8 } as const;

/** The content and the tools of one transaction. */
interface Run {
  readonly connection: SqlTransaction;
  readonly version: TableVersion;
  readonly copy: ReturnType<TableStatements["copy"]>;
  readonly first: IteratorResult<RowBatch>;
  readonly iterator: AsyncIterator<RowBatch>;
  readonly steps: BulkSteps;
  readonly signal: AbortSignal;
}

/** The statements do not match the table version. Nothing was written yet. */
class Moved extends Error {}

/**
 * Writes many rows in one transaction, all or none. It uses one COPY, or one INSERT per batch if SQL computes columns.
 * The next batch is read and computed in Python while one is written. A few batches are in memory at once.
 */
export class BulkWriter {
  readonly #deps: WriteDeps;
  readonly #input: BulkWriterInput;
  readonly #computer: BatchComputer;

  constructor(deps: WriteDeps, input: BulkWriterInput) {
    this.#deps = deps;
    this.#input = input;
    this.#computer = new BatchComputer(deps, input);
  }

  /** Whether rows are stored as they are sent, with values that the engine makes. */
  get stores_given(): boolean {
    return this.#input.stage.rest === null && this.#input.stage.graph === null;
  }

  /** Best number of rows per batch. An INSERT is expensive and a part of a COPY is not; rows in memory are. */
  get batch_rows(): number {
    return this.#input.stage.rest === null ? 500 : 2_000;
  }

  /**
   * Stores all rows and returns their number, or throws and has stored none. Only commit_unknown leaves this open. An
   * error caused by a row names the row.
   * @throws as `RowRunner.run`; any error of `batches` and `steps`; the signal's reason
   */
  async store(batches: AsyncIterable<RowBatch>, steps: BulkSteps, signal: AbortSignal): Promise<number> {
    const iterator = batches[Symbol.asyncIterator]();
    const { guard, statements, stage } = this.#input;
    try {
      // Take the connection only when there is something to write.
      const first = await iterator.next();
      return await guard.run(async (version) => {
        const progress = { has_begun: false };
        try {
          return await this.#deps.sql.transaction(async (connection) => {
            using _held = steps.body?.holdTransaction(connection.process);
            await this.#begin(connection, version);
            progress.has_begun = true;
            const run: Run = { connection, version, copy: statements.copy(version), first, iterator, steps, signal };
            const count = await (stage.rest === null ? this.#copyAll(run) : this.#writeAll(run));
            signal.throwIfAborted();
            await steps.finish(connection);
            return count;
          });
        } catch (error) {
          if (error instanceof Moved) return undefined;
          throw this.#explain(error, progress.has_begun);
        }
      });
    } finally {
      await iterator.return?.();
    }
  }

  /** SQL computes nothing: all rows go into one COPY, which returns no rows. */
  async #copyAll(run: Run): Promise<number> {
    const { connection, first, iterator, steps, signal } = run;
    // The COPY lasts as long as the client sends. The lock timeout for a key in another transaction stays the same.
    const { statement_timeout_ms: statementTimeoutMs } = this.#deps.limits;
    await connection.query({
      text: `set local statement_timeout = 0; set local lock_timeout = ${statementTimeoutMs}`,
    });
    const sent: { readonly first: number; readonly batch: RowBatch }[] = [];
    let sentBytes = 0;
    let count = 0;
    // the first batch says whether rows come as columns
    const isBinary = first.done !== true && first.value.columns !== undefined && run.copy.binary !== null;
    const copy = isBinary ? new BinaryCopy(run.copy.inputs) : undefined;
    const pieces = async function* (this: BulkWriter): AsyncGenerator<string | Buffer> {
      for (let step = first; step.done !== true; step = await iterator.next()) {
        const batch = step.value;
        sent.push({ first: count, batch });
        sentBytes += batch.bytes;
        while (sent.length > (sentBytes > KEPT_BYTES ? KEPT_BATCHES.least : KEPT_BATCHES.most)) {
          sentBytes -= sent.shift()?.batch.bytes ?? 0;
        }
        count += batch.count;
        if (copy !== undefined && batch.columns !== undefined) {
          yield this.#copyColumns(run, copy, batch.count, batch.columns);
        } else {
          await this.#computer.compute(batch, signal);
          const errorsOf = this.#errorsOf(run);
          const { rows } = batch;
          yield copy === undefined ? copyText(run.copy.inputs, rows, errorsOf) : copy.ofRows(rows, errorsOf);
        }
        await steps.afterWrite(batch);
      }
      if (copy !== undefined) yield copy.end();
    };
    try {
      await connection.copy((isBinary ? run.copy.binary : null) ?? run.copy.text, pieces.call(this));
    } catch (error) {
      if (!isRowRefusal(error) || error.line === undefined) throw error;
      const at = error.line - 1;
      const known = sent.find(({ first: from, batch }) => at >= from && at < from + batch.count);
      const row = known?.batch.rows[at - known.first];
      const place = known?.batch.locationOf(at - known.first) ?? { row: at, name: `Row ${at + 1}` };
      throw withRowLocation(explainRefusal(this.#input.layout, row, error, this.#deps.limits), place);
    }
    await connection.query({
      text: `set local statement_timeout = ${statementTimeoutMs}; set local lock_timeout = 0`,
    });
    return count;
  }

  /** The next batch is read and computed while one is written. */
  async #writeAll(run: Run): Promise<number> {
    const { first, iterator, steps, signal } = run;
    let count = 0;
    let last: RowBatch | undefined;
    let writing = Promise.resolve();
    try {
      for (let step = first; step.done !== true; step = await iterator.next()) {
        const batch = step.value;
        const failed = await this.#computer.compute(batch, signal);
        await writing;
        writing = this.#write(run, batch, failed);
        // The promise is awaited above or below. Until then it has no handler.
        writing.catch(() => undefined);
        if (last !== undefined) await steps.afterWrite(last);
        last = batch;
        count += last.count;
      }
      await writing;
      if (last !== undefined) await steps.afterWrite(last);
      return count;
    } finally {
      // Statements in flight end before the transaction does.
      await writing.catch(() => undefined);
    }
  }

  /** Locks the version of the table until the end of the transaction. @throws Moved; SqlError when the table is
   *  missing */
  async #begin(connection: SqlConnection, version: TableVersion): Promise<void> {
    if (!(await this.#input.guard.lock(version, connection))) throw new Moved();
    if (version.pending.length === 0) return;
    await connection.query({ text: MARK_PENDING, values: [version.table_id, pendingIds(version)] });
  }

  async #write(run: Run, batch: RowBatch, failed: ReadonlySet<Row>): Promise<void> {
    const computing = failed.size === 0 ? batch.rows : batch.rows.filter((row) => !failed.has(row));
    if (computing.length > 0) await this.#insert(run, batch, computing);
    if (failed.size > 0) await this.#copy(run, batch, [...failed]);
  }

  /** Python may be able to compute a value that SQL cannot. COPY reports which row is refused. */
  async #insert(run: Run, batch: RowBatch, rows: readonly Row[]): Promise<void> {
    const { connection } = run;
    await connection.query({ text: `savepoint ${SAVEPOINT}` });
    try {
      await this.#execute(run, batch, rows);
      await connection.query({ text: `release savepoint ${SAVEPOINT}` });
      return;
    } catch (error) {
      if (!isRowRefusal(error)) throw error;
    }
    await connection.query({ text: `rollback to savepoint ${SAVEPOINT}` });
    await this.#computer.computeRest(batch, rows, run.signal);
    await this.#copy(run, batch, rows);
  }

  async #execute({ connection, version }: Run, batch: RowBatch, rows: readonly Row[]): Promise<void> {
    const { statements } = this.#input;
    const statement = statements.insert(version, { computes: true, stores_responses: false });
    const values = statements.valuesOf(version, statement, rows);
    const result = await connection.query({ text: statement.text, name: statement.name, values });
    for (const [at, outcome] of statements.outcomesOf(statement, rows, result).entries()) {
      if ("error" in outcome) throw withRowLocation(outcome.error, placeOf(batch, rows[at]));
    }
  }

  async #copy(run: Run, batch: RowBatch, rows: readonly Row[]): Promise<void> {
    try {
      await run.connection.copy(run.copy.text, [copyText(run.copy.inputs, rows, this.#errorsOf(run))]);
    } catch (error) {
      const row = error instanceof SqlError && error.line !== undefined ? rows[error.line - 1] : undefined;
      if (row === undefined || !isRowRefusal(error)) throw error;
      throw withRowLocation(explainRefusal(this.#input.layout, row, error, this.#deps.limits), placeOf(batch, row));
    }
  }

  /** The engine makes the values that the columns lack; other jobs compute the rest. */
  #copyColumns({ version }: Run, copy: BinaryCopy, rows: number, columns: StoredColumns): Buffer {
    const pending = version.pending.length === 0 ? null : JSON.stringify(pendingErrors(version));
    return copy.ofColumns({ columns, rows }, (slot) => writeMade(slot, this.#deps), pending);
  }

  /** The text of a row's cell errors. */
  #errorsOf({ version }: Run): (row: Row) => string | null {
    const { layout, on_error: onError } = this.#input;
    const pending = version.pending.length === 0 ? null : pendingErrors(version);
    const fixed = pending === null ? null : JSON.stringify(pending);
    return (row) => {
      const own = onError === "ignore" ? storedErrors(layout, row) : null;
      return own === null ? fixed : JSON.stringify({ ...JSON.parse(own), ...pending });
    };
  }

  /** A started run cannot start over: the rows it read are gone. */
  #explain(error: unknown, hasBegun: boolean): unknown {
    // Another process has meanwhile answered the same request.
    if (isKeyTaken(error) || (isShapeRefusal(error) && !hasBegun)) return error;
    if (isRolledBack(error)) return undone(this.#input.layout.table.name, error);
    if (isShapeRefusal(error)) return new Error("The statement does not match its table.", { cause: error });
    return explainRefusal(this.#input.layout, undefined, error, this.#deps.limits);
  }
}
