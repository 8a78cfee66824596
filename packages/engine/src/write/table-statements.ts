import type { SqlStep } from "../compute/plan-compute.ts";
import type { Row, RowLayout } from "../compute/row-layout.ts";
import { JSON_TYPE } from "../kinds/kinds.ts";
import { arrayText } from "../kinds/values.ts";
import { arrayParameters, type PlacedSlot } from "../rows/batch-sql.ts";
import { buildCopy, buildInsert, type Prepared } from "./insert-statement.ts";
import type { WriteTarget } from "./write-target.ts";

export interface Statement extends Prepared {
  readonly given: readonly PlacedSlot[];
  readonly returned: readonly PlacedSlot[];
  /** Slots of what is returned behind the identity. */
  readonly made: readonly number[];
}

/** The statements for one state of the table. */
export interface Statements {
  readonly target: WriteTarget;
  /** With SQL steps. */
  readonly computing: Statement;
  /** For rows whose values are all there. */
  readonly given: Statement;
  /** The two for batches with requests whose answers are kept. */
  readonly computing_keeping: Statement;
  readonly given_keeping: Statement;
  /** `given` as COPY, of the same slots. */
  readonly copy: string;
}

export interface TableStatementsInput {
  readonly layout: RowLayout;
  readonly steps: readonly SqlStep[];
  /** Columns whose values somebody will read after the write. */
  readonly read: ReadonlySet<string>;
  /** Some rows may keep the errors of cells that failed. */
  readonly keeps_errors: boolean;
}

/** The statements that write rows of a table. */
export class TableStatements {
  readonly #input: TableStatementsInput;
  #last: Statements | undefined;

  constructor(input: TableStatementsInput) {
    this.#input = input;
  }

  /** Those for one state of the table; the last one asked for is at hand. */
  of(target: WriteTarget): Statements {
    if (this.#last?.target !== target) this.#last = this.#prepare(target);
    return this.#last;
  }

  /** The values of a statement for rows. */
  valuesOf(target: WriteTarget, statement: Statement, rows: readonly Row[]): unknown[] {
    const { layout, keeps_errors: keepsErrors } = this.#input;
    const values: unknown[] = arrayParameters(statement.given, rows);
    if (keepsErrors) values.push(arrayText(JSON_TYPE.kind, rows, layout.errors));
    values.push(target.table_id, target.version);
    if (target.pending.length > 0) values.push(pendingIds(target), JSON.stringify(pendingErrors(target)));
    return values;
  }

  #prepare(target: WriteTarget): Statements {
    const { layout, steps } = this.#input;
    const placed = layout.slots
      .map((slot, at): PlacedSlot => ({ ...slot, at }))
      .filter((slot) => !target.gone.has(slot.name));
    const inSql = new Set(steps.map((step) => step.column));
    const rest = placed.filter((slot) => !inSql.has(slot.name));
    return {
      target,
      computing: this.#statement(target, rest, steps, false),
      given: this.#statement(target, placed, [], false),
      computing_keeping: this.#statement(target, rest, steps, true),
      given_keeping: this.#statement(target, placed, [], true),
      copy: buildCopy(target, placed),
    };
  }

  #statement(
    target: WriteTarget,
    given: readonly PlacedSlot[],
    steps: readonly SqlStep[],
    keepsAnswers: boolean,
  ): Statement {
    const { layout, read } = this.#input;
    const made = layout.slots.flatMap((slot, at) => {
      const isRead = read.has(slot.name) && steps.some((step) => step.column === slot.name);
      return isRead ? [{ ...slot, at }] : [];
    });
    const identity = layout.slots[layout.identity];
    const returned =
      identity !== undefined && (made.length > 0 || target.has_key || keepsAnswers)
        ? [{ ...identity, at: layout.identity }, ...made]
        : [];
    const prepared = buildInsert({
      table: target,
      given,
      steps,
      returning: returned,
      is_pending: target.pending.length > 0,
      has_errors: this.#input.keeps_errors,
      skips_duplicates: target.has_key,
      keeps_answers: keepsAnswers,
    });
    return { ...prepared, given, returned, made: made.map(({ at }) => at) };
  }
}

/** The ids of the columns whose cells are to be computed later, as an array's text. */
export function pendingIds(target: WriteTarget): string {
  return `{${target.pending.map((column) => column.id).join(",")}}`;
}

/** The cell errors that say so. */
export function pendingErrors(target: WriteTarget): Readonly<Record<string, "pending">> {
  return Object.fromEntries(target.pending.map((column) => [column.name, "pending"]));
}
