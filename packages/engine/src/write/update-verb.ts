import type { EngineValue } from "@appdb/contract/types";
import type { Outcome } from "../batching/coalescer.ts";
import type { CellErrors } from "../compute/cell-errors.ts";
import { type RowLayout, type Slot, slotsNamed, storedErrors, storedSlots } from "../compute/row-layout.ts";
import type { IdempotentRequest } from "../idempotency/request-store.ts";
import { JSON_TYPE } from "../kinds/kinds.ts";
import { columnText, fromSqlText } from "../kinds/values.ts";
import type { Prepared } from "../statements/insert-statement.ts";
import { arrayParameters, fillRow } from "../statements/row-parameters.ts";
import { buildReadByKey, buildUpdate } from "../statements/update-statement.ts";
import { rowKeyText } from "./keyed-rows.ts";
import { explainRefusal, isValueRefusal } from "./sql-refusals.ts";
import type { TableVersion } from "./table-version.ts";
import type { TableVersionGuard } from "./table-version-guard.ts";
import type { UpdateShape } from "./update-shape.ts";
import type { WriteDeps, WriteItem, WriteVerb } from "./write-pipeline.ts";

/** A version of an existing row. */
export interface StoredRow {
  readonly xmin: string;
  readonly errors: CellErrors;
  readonly values: readonly EngineValue[];
}

/** A row to change. */
export interface Write extends WriteItem {
  readonly request: IdempotentRequest | undefined;
  readonly shape: UpdateShape;
  /** `computing`: SQL computes what it can. `given`: the row already has all computed values. */
  readonly kind: "computing" | "given";
  /** The version of the row that values were computed from; null when none were. */
  readonly stored: StoredRow | null;
  /** Computed columns that cannot get a value yet. */
  readonly pending: readonly string[];
}

/** `passed_over`: the row is missing, has another version, or an input cell failed. `refused`: SQL cannot make a
 *  value. */
export type Written = "written" | "passed_over" | "refused";

/**
 * Divides a batch into groups that are written in sequence. All updates of a group send the same columns, have distinct
 * rows and are sorted by key. Two updates of one row keep their order.
 */
function writesInOrder(layout: RowLayout, writes: readonly Write[]): readonly (readonly Write[])[] {
  const groups: { readonly like: Write; readonly writes: Map<string, Write> }[] = [];
  const lastOf = new Map<string, number>();
  for (const write of writes) {
    const key = rowKeyText(layout, write.row);
    const after = lastOf.get(key) ?? -1;
    let at = groups.findIndex(({ like }, index) => index > after && isBatchable(like, write));
    if (at < 0) at = groups.push({ like: write, writes: new Map() }) - 1;
    groups[at]?.writes.set(key, write);
    lastOf.set(key, at);
  }
  return groups.map(({ writes: found }) =>
    found.size === 1 ? [...found.values()] : [...found].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, write]) => write),
  );
}

function isBatchable(one: Write, other: Write): boolean {
  return one.shape === other.shape && one.kind === other.kind;
}

interface UpdateStatement extends Prepared {
  readonly inputs: readonly Slot[];
  readonly returned: readonly Slot[];
}

export interface UpdateInput {
  readonly layout: RowLayout;
  /** Columns whose values are read after the update. */
  readonly read: ReadonlySet<string>;
  readonly guard: TableVersionGuard;
}

/** Changes rows by key. Each group sends the same columns and is one statement. */
export function updateVerb(deps: Pick<WriteDeps, "limits">, input: UpdateInput): WriteVerb<Write, Written> {
  const { layout, guard } = input;
  const statementOf = cacheStatements(input);
  const key = slotsNamed(layout, layout.table.primary_key);
  return {
    plan: (writes) => writesInOrder(layout, writes),
    async statement(writes, version, sql) {
      const [first] = writes;
      if (first === undefined) return [];
      const { shape, kind } = first;
      const statement = statementOf(version, shape, kind);
      const rows = writes.map(({ row }) => row);
      const pending = pendingOf(layout, version, shape, writes);
      const values: unknown[] = [
        ...arrayParameters(key, rows),
        ...arrayParameters(statement.inputs, rows),
        ...(checksXmin(shape, kind) ? [`{${writes.map(({ stored }) => stored?.xmin ?? "NULL").join(",")}}`] : []),
        ...(kind === "given" ? [columnText(JSON_TYPE.kind, writes.map(errorsToStore(layout)))] : []),
        version.table_id,
        version.version,
        pending.ids.length === 0 ? null : `{${pending.ids.join(",")}}`,
        pending.everywhere.length === 0 ? null : asPending(pending.everywhere),
      ];
      const { text, name } = statement;
      const result = await sql.query(shape.is_kept ? { text, name, values } : { text, values });
      // No rows may also mean that the version of the table has changed.
      if (result.row_count === 0 && !(await guard.isCurrent(version, sql))) return undefined;
      const outcomes = writes.map(() => PASSED_OVER);
      for (const stored of result.rows) {
        const at = Number(stored[0]) - 1;
        const row = rows[at];
        if (row === undefined) throw new Error("PostgreSQL returned a row that was not sent.");
        fillRow(row, statement.returned, stored, 1);
        outcomes[at] = WRITTEN;
      }
      return outcomes;
    },
    response: ({ request }, written) =>
      written === "written" && request !== undefined ? { ...request, answer: request.respond() } : undefined,
    // Python may be able to make a value that SQL cannot.
    settle: ({ row, shape, kind }, error) =>
      isValueRefusal(error) && kind === "computing" && shape.sql.length > 0
        ? { answer: "refused" }
        : { error: explainRefusal(layout, row, error, deps.limits) },
  };
}

const WRITTEN: Outcome<Written> = { answer: "written" };
const PASSED_OVER: Outcome<Written> = { answer: "passed_over" };

/** Returns the statement of each shape. Statements of shapes that are not kept are released with their updates. */
function cacheStatements(input: UpdateInput) {
  const cached = new WeakMap<UpdateShape, { version: TableVersion; statements: Map<Write["kind"], UpdateStatement> }>();
  return (version: TableVersion, shape: UpdateShape, kind: Write["kind"]): UpdateStatement => {
    let known = cached.get(shape);
    if (known?.version !== version) known = { version, statements: new Map() };
    cached.set(shape, known);
    const statement = known.statements.get(kind) ?? makeStatement(input, version, shape, kind);
    known.statements.set(kind, statement);
    return statement;
  };
}

function makeStatement(
  { layout, read }: UpdateInput,
  version: TableVersion,
  shape: UpdateShape,
  kind: Write["kind"],
): UpdateStatement {
  const steps = kind === "given" ? [] : shape.sql;
  const bySql = new Set(steps.map((step) => step.column));
  const computed = shape.dependents.filter(({ name }) => !bySql.has(name) && !version.dropped.has(name));
  const inputs = [...shape.sent, ...computed];
  const known = new Set([...inputs.map(({ name }) => name), ...layout.table.primary_key]);
  const returned = storedSlots(layout).filter(({ name }) => read.has(name) && !known.has(name));
  const prepared = buildUpdate({
    table: version,
    identity: layout.table.identity,
    key: slotsNamed(layout, layout.table.primary_key),
    inputs,
    steps,
    reads: kind === "given" ? [] : shape.sql_reads,
    recomputed: [...shape.checked, ...shape.dependents.map(({ name }) => name)],
    unsure: kind === "given" ? [] : shape.unsure,
    checks_xmin: checksXmin(shape, kind),
    has_errors: kind === "given",
    returning: returned.map(({ name }) => name),
  });
  return { ...prepared, inputs, returned };
}

/** A row to read by key, with the columns that its shape reads. */
export type Read = Pick<Write, "row" | "shape">;

/** Reads rows by key. The result is undefined for a missing row. */
export function readVerb(
  deps: Pick<WriteDeps, "limits">,
  { layout, guard }: Pick<UpdateInput, "layout" | "guard">,
): WriteVerb<Read, StoredRow | undefined> {
  const key = slotsNamed(layout, layout.table.primary_key);
  return {
    plan: (reads) => {
      const shapes = new Set(reads.map(({ shape }) => shape));
      return shapes.size === 1 ? [reads] : [...shapes].map((shape) => reads.filter((read) => read.shape === shape));
    },
    async statement(reads, version, sql) {
      const [first] = reads;
      if (first === undefined) return [];
      const { reads: columns, is_kept: isKept } = first.shape;
      const { text, name } = buildReadByKey(
        { table: version, identity: layout.table.identity, key },
        columns.map((column) => column.name),
      );
      const rows = reads.map(({ row }) => row);
      const values = [...arrayParameters(key, rows), version.table_id, version.version];
      const result = await sql.query(isKept ? { text, name, values } : { text, values });
      if (result.row_count === 0 && !(await guard.isCurrent(version))) return undefined;
      const outcomes: { answer: StoredRow | undefined }[] = reads.map(() => ({ answer: undefined }));
      for (const [row, xmin, errors, ...stored] of result.rows) {
        const answer = {
          xmin: xmin ?? "",
          errors: errors == null ? {} : (JSON.parse(errors) as CellErrors),
          values: columns.map(({ type }, at) => (stored[at] == null ? null : fromSqlText(type, stored[at] ?? ""))),
        };
        outcomes[Number(row) - 1] = { answer };
      }
      return outcomes;
    },
    settle: ({ row }, error) => ({ error: explainRefusal(layout, row, error, deps.limits) }),
  };
}

/** Only a row that was read has a known version for its computed values. */
function checksXmin(shape: UpdateShape, kind: Write["kind"]): boolean {
  return kind === "given" || shape.graph !== null;
}

/** Columns for the fill job: `everywhere` for all rows of a group, `ids` includes those of some rows. */
function pendingOf(layout: RowLayout, version: TableVersion, shape: UpdateShape, writes: readonly Write[]) {
  const everywhere = version.pending.filter(
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
    const errors = storedErrors(layout, row);
    if (pending.length === 0) return errors;
    const own = errors === null ? {} : (JSON.parse(errors) as CellErrors);
    return JSON.stringify({ ...own, ...(JSON.parse(asPending(pending)) as object) });
  };
}

function asPending(names: readonly string[]): string {
  return JSON.stringify(Object.fromEntries(names.map((name) => [name, "pending"])));
}
