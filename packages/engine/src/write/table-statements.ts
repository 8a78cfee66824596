import { DONE, type Outcome } from "../batching/coalescer.ts";
import type { SqlStep } from "../compute/plan-compute.ts";
import { type Row, type RowLayout, type Slot, storedErrors, storedSlots } from "../compute/row-layout.ts";
import { JSON_TYPE } from "../kinds/kinds.ts";
import { columnText } from "../kinds/values.ts";
import type { SqlResult } from "../ports.ts";
import { isBinary } from "../statements/copy-binary.ts";
import { buildCopy, buildInsert, type Prepared } from "../statements/insert-statement.ts";
import { arrayParameters, fillRow } from "../statements/row-parameters.ts";
import { uniqueViolation } from "./sql-refusals.ts";
import type { TableVersion } from "./table-version.ts";

export interface InsertStatement extends Prepared {
  readonly inputs: readonly Slot[];
  /** The identity, then the columns that SQL computes. */
  readonly returned: readonly Slot[];
}

/** Options of an INSERT. */
export interface InsertVariant {
  /** SQL computes columns; otherwise all values are given. */
  readonly computes: boolean;
  /** Stores the responses of requests with the rows. */
  readonly stores_responses: boolean;
}

export interface TableStatementsInput {
  readonly layout: RowLayout;
  readonly steps: readonly SqlStep[];
  /** Columns whose values are read after the write. */
  readonly read: ReadonlySet<string>;
  /** Some rows may keep the errors of cells that failed. */
  readonly keeps_errors: boolean;
}

/** The statements that store new rows of a table. Caches the statements of the last requested version. */
export class TableStatements {
  readonly #input: TableStatementsInput;
  readonly #statements = new Map<string, InsertStatement>();
  #version: TableVersion | undefined;

  constructor(input: TableStatementsInput) {
    this.#input = input;
  }

  get layout(): RowLayout {
    return this.#input.layout;
  }

  insert(version: TableVersion, variant: InsertVariant): InsertStatement {
    if (this.#version !== version) this.#statements.clear();
    this.#version = version;
    const key = `${variant.computes} ${variant.stores_responses}`;
    const known = this.#statements.get(key);
    if (known !== undefined) return known;
    const prepared = this.#make(version, variant);
    this.#statements.set(key, prepared);
    return prepared;
  }

  /** A COPY of rows with all values given, and its slots. `binary`: in PostgreSQL's binary format, if it can be. */
  copy(version: TableVersion): {
    readonly text: string;
    readonly binary: string | null;
    readonly inputs: readonly Slot[];
  } {
    const inputs = this.#slotsOf(version);
    const text = buildCopy(version, inputs);
    return { text, binary: isBinary(inputs) ? `${text} with (format binary)` : null, inputs };
  }

  /** The parameter values of a statement for rows. */
  valuesOf(version: TableVersion, statement: InsertStatement, rows: readonly Row[]): unknown[] {
    const { layout, keeps_errors: keepsErrors } = this.#input;
    const values: unknown[] = arrayParameters(statement.inputs, rows);
    if (keepsErrors) {
      values.push(
        columnText(
          JSON_TYPE.kind,
          rows.map((row) => storedErrors(layout, row)),
        ),
      );
    }
    values.push(version.table_id, version.version);
    if (version.pending.length > 0) values.push(pendingIds(version), JSON.stringify(pendingErrors(version)));
    return values;
  }

  /** Copies the result of a statement into the rows. Rows come back in order, without those whose key exists. The
   *  identity is checked. */
  outcomesOf({ returned }: InsertStatement, rows: readonly Row[], result: SqlResult): readonly Outcome<void>[] {
    if (returned.length === 0) return rows.map(() => DONE);
    const { layout } = this.#input;
    let next = 0;
    const outcomes = rows.map((row): Outcome<void> => {
      const stored = result.rows[next];
      if (stored === undefined || stored[0] !== row[layout.identity]) return { error: uniqueViolation(layout, row) };
      next += 1;
      fillRow(row, returned, stored, 0);
      return DONE;
    });
    if (next !== result.row_count)
      throw new Error("PostgreSQL returned rows in a different order than they were sent.");
    return outcomes;
  }

  #slotsOf(version: TableVersion): readonly Slot[] {
    return storedSlots(this.#input.layout).filter(({ name }) => !version.dropped.has(name));
  }

  #make(version: TableVersion, variant: InsertVariant): InsertStatement {
    const { layout, read, keeps_errors: keepsErrors } = this.#input;
    const steps = variant.computes ? this.#input.steps : [];
    const bySql = new Set(steps.map((step) => step.column));
    const inputs = this.#slotsOf(version).filter((slot) => !bySql.has(slot.name));
    const computed = layout.slots.filter(({ name }) => read.has(name) && bySql.has(name));
    const identity = layout.slots[layout.identity];
    const returned =
      identity !== undefined && (computed.length > 0 || version.has_key || variant.stores_responses)
        ? [identity, ...computed]
        : [];
    const prepared = buildInsert({
      table: version,
      inputs,
      steps,
      returning: returned,
      is_pending: version.pending.length > 0,
      has_errors: keepsErrors,
      skips_duplicates: version.has_key,
      stores_responses: variant.stores_responses,
    });
    return { ...prepared, inputs, returned };
  }
}

/** The ids of the columns to compute later, as the text of an array. */
export function pendingIds(version: TableVersion): string {
  return `{${version.pending.map((column) => column.id).join(",")}}`;
}

/** The cell errors of pending columns. */
export function pendingErrors(version: TableVersion): Readonly<Record<string, "pending">> {
  return Object.fromEntries(version.pending.map((column) => [column.name, "pending"]));
}
