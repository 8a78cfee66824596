import type { EngineValue } from "@appdb/contract/types";
import type { CellErrors } from "../compute/cell-errors.ts";
import type { Row, RowLayout } from "../compute/row-layout.ts";
import { requestOf } from "../idempotency/request-store.ts";
import { JSON_TYPE } from "../kinds/kinds.ts";
import { columnText, fromSqlText } from "../kinds/values.ts";
import type { SqlConnection } from "../ports.ts";
import { arrayParameters, fillRow, type PlacedSlot } from "../rows/batch-sql.ts";
import type { Outcome } from "../rows/coalescer.ts";
import type { UpdateShape } from "../rows/update-shape.ts";
import type { Prepared } from "./insert-statement.ts";
import { keyOf, keySlots } from "./keyed-rows.ts";
import type { MovingTarget } from "./moving-target.ts";
import type { TableWriterDeps } from "./table-writer.ts";
import { buildReadByKey, buildUpdate } from "./update-statement.ts";
import type { WriteTarget } from "./write-target.ts";

/** A version of a row that is there. */
export interface StoredRow {
  readonly xmin: string;
  readonly errors: CellErrors;
  readonly values: readonly EngineValue[];
}

/** A row to be changed. */
export interface Write {
  readonly row: Row;
  readonly shape: UpdateShape;
  /** Whether SQL computes what it can, or all computed values are in the row already. */
  readonly kind: "computing" | "given";
  /** The version of the row that values were computed from; null when none were. */
  readonly stored: StoredRow | null;
  /** Computed columns that cannot be given a value yet. */
  readonly pending: readonly string[];
}

/** `passed_over`: there is no such row, or it is not the version that values were computed from, or a cell that they hang
 *  on failed. `refused`: SQL cannot make a value. */
export type Written = "written" | "passed_over" | "refused";

/**
 * Divides a batch into groups that are written one after the other: in each all send the same columns, no two are of one
 * row, and rows are in the order of their keys. Two of one row keep their order.
 */
export function writesInOrder(layout: RowLayout, writes: readonly Write[]): readonly (readonly Write[])[] {
  const groups: { readonly like: Write; readonly writes: Map<string, Write> }[] = [];
  const lastOf = new Map<string, number>();
  for (const write of writes) {
    const key = keyOf(layout, write.row);
    const after = lastOf.get(key) ?? -1;
    let at = groups.findIndex(({ like }, index) => index > after && goTogether(like, write));
    if (at < 0) at = groups.push({ like: write, writes: new Map() }) - 1;
    groups[at]?.writes.set(key, write);
    lastOf.set(key, at);
  }
  return groups.map(({ writes: found }) =>
    found.size === 1 ? [...found.values()] : [...found].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, write]) => write),
  );
}

function goTogether(one: Write, other: Write): boolean {
  return one.shape === other.shape && one.kind === other.kind;
}

interface UpdateStatement extends Prepared {
  readonly given: readonly PlacedSlot[];
  readonly returned: readonly PlacedSlot[];
}

export interface UpdateBatchInput {
  readonly layout: RowLayout;
  /** Columns whose values somebody will read after the update. */
  readonly read: ReadonlySet<string>;
  readonly target: MovingTarget;
}

/** Writes groups of changed rows, a statement for each. */
export class UpdateBatch {
  readonly #deps: Pick<TableWriterDeps, "sql" | "requests">;
  readonly #input: UpdateBatchInput;
  /** Shapes that are not kept come and go with their updates. */
  readonly #statements = new WeakMap<WriteTarget, WeakMap<UpdateShape, Map<Write["kind"], UpdateStatement>>>();

  constructor(deps: Pick<TableWriterDeps, "sql" | "requests">, input: UpdateBatchInput) {
    this.#deps = deps;
    this.#input = input;
  }

  /** Writes a group in one transaction; undefined when the table has another version by now. @throws SqlError */
  async execute(target: WriteTarget, writes: readonly Write[]): Promise<readonly Outcome<Written>[] | undefined> {
    const { sql, requests } = this.#deps;
    if (writes.every(({ row }) => requestOf(row) === undefined)) return this.#execute(sql, target, writes);
    return sql.transaction(async (connection) => {
      const outcomes = await this.#execute(connection, target, writes);
      const kept = writes.flatMap(({ row }, at) => {
        const outcome = outcomes?.[at];
        const request = requestOf(row);
        const isWritten = outcome !== undefined && "answer" in outcome && outcome.answer === "written";
        return isWritten && request !== undefined ? [request] : [];
      });
      if (kept.length > 0) await requests.keep(connection, kept);
      return outcomes;
    });
  }

  async #execute(
    sql: SqlConnection,
    target: WriteTarget,
    writes: readonly Write[],
  ): Promise<readonly Outcome<Written>[] | undefined> {
    const [first] = writes;
    if (first === undefined) return [];
    const { layout } = this.#input;
    const { shape, kind } = first;
    const statement = this.#statementOf(target, shape, kind);
    const rows = writes.map(({ row }) => row);
    const pending = pendingOf(layout, target, shape, writes);
    const values: unknown[] = [
      ...arrayParameters(keySlots(layout), rows),
      ...arrayParameters(statement.given, rows),
      ...(checksXmin(shape, kind) ? [`{${writes.map(({ stored }) => stored?.xmin ?? "NULL").join(",")}}`] : []),
      ...(kind === "given" ? [columnText(JSON_TYPE.kind, writes.map(errorsToStore(layout)))] : []),
      target.table_id,
      target.version,
      pending.ids.length === 0 ? null : `{${pending.ids.join(",")}}`,
      pending.everywhere.length === 0 ? null : asPending(pending.everywhere),
    ];
    const { text, name } = statement;
    const result = await sql.query(shape.is_kept ? { text, name, values } : { text, values });
    // No row at all may also mean that the table has another version by now.
    if (result.row_count === 0 && !(await this.#input.target.isCurrent(target, sql))) return undefined;
    const outcomes = writes.map((): Outcome<Written> => ({ answer: "passed_over" }));
    for (const stored of result.rows) {
      const at = Number(stored[0]) - 1;
      const row = rows[at];
      if (row === undefined) throw new Error("PostgreSQL answered a row that it was not sent.");
      fillRow(row, statement.returned, stored, 1);
      outcomes[at] = { answer: "written" };
    }
    return outcomes;
  }

  #statementOf(target: WriteTarget, shape: UpdateShape, kind: Write["kind"]): UpdateStatement {
    const shapes = this.#statements.get(target) ?? new WeakMap<UpdateShape, Map<Write["kind"], UpdateStatement>>();
    this.#statements.set(target, shapes);
    const kinds = shapes.get(shape) ?? new Map<Write["kind"], UpdateStatement>();
    shapes.set(shape, kinds);
    const known = kinds.get(kind);
    if (known !== undefined) return known;
    const made = this.#makeStatement(target, shape, kind);
    kinds.set(kind, made);
    return made;
  }

  #makeStatement(target: WriteTarget, shape: UpdateShape, kind: Write["kind"]): UpdateStatement {
    const { layout, read } = this.#input;
    const steps = kind === "given" ? [] : shape.sql;
    const bySql = new Set(steps.map((step) => step.column));
    const made = shape.dependents.filter(({ name }) => !bySql.has(name) && !target.gone.has(name));
    const given = [...shape.sent, ...made];
    const known = new Set([...given.map(({ name }) => name), ...layout.table.primary_key]);
    const returned = layout.slots.flatMap((slot, at) =>
      read.has(slot.name) && !known.has(slot.name) ? [{ ...slot, at }] : [],
    );
    const prepared = buildUpdate({
      table: target,
      identity: layout.table.identity,
      key: keySlots(layout),
      given,
      steps,
      reads: kind === "given" ? [] : shape.sql_reads,
      recomputed: shape.dependents.map(({ name }) => name),
      unsure: kind === "given" ? [] : shape.unsure,
      checks_xmin: checksXmin(shape, kind),
      has_errors: kind === "given",
      returning: returned.map(({ name }) => name),
    });
    return { ...prepared, given, returned };
  }
}

/** Reads rows by key: what is there, by place; undefined when the table has another version by now. @throws SqlError */
export async function readByKey(
  sql: SqlConnection,
  { layout, target }: Pick<UpdateBatchInput, "layout" | "target">,
  now: WriteTarget,
  { reads: columns, is_kept: isKept }: Pick<UpdateShape, "reads" | "is_kept">,
  rows: readonly Row[],
): Promise<ReadonlyMap<number, StoredRow> | undefined> {
  const key = keySlots(layout);
  const names = columns.map(({ name }) => name);
  const { text, name } = buildReadByKey({ table: now, identity: layout.table.identity, key }, names);
  const values = [...arrayParameters(key, rows), now.table_id, now.version];
  const result = await sql.query(isKept ? { text, name, values } : { text, values });
  if (result.row_count === 0 && !(await target.isCurrent(now))) return undefined;
  return new Map(
    result.rows.map(([row, xmin, errors, ...stored]) => [
      Number(row) - 1,
      {
        xmin: xmin ?? "",
        errors: errors == null ? {} : (JSON.parse(errors) as CellErrors),
        values: columns.map(({ type }, at) => (stored[at] == null ? null : fromSqlText(type, stored[at] ?? ""))),
      },
    ]),
  );
}

/** What a version was computed from can only be known of a row that was read. */
function checksXmin(shape: UpdateShape, kind: Write["kind"]): boolean {
  return kind === "given" || shape.graph !== null;
}

/** Columns whose cells the fill job is to compute: `everywhere` for all rows of a group, `ids` also for some of them. */
function pendingOf(layout: RowLayout, target: WriteTarget, shape: UpdateShape, writes: readonly Write[]) {
  const everywhere = target.pending.filter(
    ({ name, reads }) =>
      shape.sent.some((slot) => reads.has(slot.name)) || shape.dependents.some((slot) => slot.name === name),
  );
  const ids = new Set(everywhere.map(({ id }) => id));
  for (const { pending } of writes) {
    for (const name of pending) {
      const column = layout.table.columns.find((candidate) => candidate.name === name);
      if (column !== undefined) ids.add(column.id);
    }
  }
  return { everywhere: everywhere.map(({ name }) => name), ids: [...ids] };
}

function errorsToStore(layout: RowLayout): (write: Write) => string | null {
  return ({ row, pending }) => {
    const errors = row[layout.errors];
    if (pending.length === 0) return typeof errors === "string" ? errors : null;
    const own = typeof errors === "string" ? (JSON.parse(errors) as CellErrors) : {};
    return JSON.stringify({ ...own, ...(JSON.parse(asPending(pending)) as object) });
  };
}

function asPending(names: readonly string[]): string {
  return JSON.stringify(Object.fromEntries(names.map((name) => [name, "pending"])));
}
