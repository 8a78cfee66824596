import { AppError, appError } from "@appdb/contract/errors";
import { DONE } from "../batching/coalescer.ts";
import { type Row, type RowLayout, slotsNamed, storedSlots } from "../compute/row-layout.ts";
import { buildCompute } from "../statements/insert-statement.ts";
import { arrayParameters, fillRow } from "../statements/row-parameters.ts";
import type { ComputeStage, NewRow } from "./compute-stage.ts";
import { explainRefusal } from "./sql-refusals.ts";
import type { WriteDeps, WriteVerb } from "./write-pipeline.ts";

interface ComputeInput {
  readonly layout: RowLayout;
  readonly stage: ComputeStage;
}

/** Computes the SQL columns of rows without a table, and stores nothing. Null when SQL computes nothing. */
export function computeVerb(
  deps: Pick<WriteDeps, "sql" | "limits">,
  input: ComputeInput,
): WriteVerb<NewRow, void> | null {
  const compute = sqlComputer(deps, { ...input, is_prepared: true });
  if (compute === null) return null;
  return {
    plan: (writes) => [writes],
    async statement(writes) {
      await compute(writes.map(({ row }) => row));
      return writes.map(() => DONE);
    },
    settle: ({ row }, error) => ({ error: computeRefusal(input.layout, row, error, deps.limits) }),
  };
}

/**
 * Fills the SQL columns of rows by one statement; null when SQL computes nothing. `is_prepared`: connections keep the
 * statement. Callers who choose the columns would fill PostgreSQL's memory with statements.
 */
export function sqlComputer(
  { sql }: Pick<WriteDeps, "sql">,
  { layout, stage, is_prepared: isPrepared }: ComputeInput & { readonly is_prepared: boolean },
): ((rows: readonly Row[]) => Promise<void>) | null {
  if (stage.sql.length === 0) return null;
  const bySql = stage.sql.map((step) => step.column);
  const inputs = storedSlots(layout).filter((slot) => !bySql.includes(slot.name));
  const computedSlots = slotsNamed(layout, bySql);
  const { name, text } = buildCompute(inputs, stage.sql);
  const statement = isPrepared ? { name, text } : { text };
  return async (rows) => {
    const result = await sql.query({ ...statement, values: arrayParameters(inputs, rows) });
    for (const computed of result.rows) {
      const row = rows[Number(computed[0]) - 1];
      if (row !== undefined) fillRow(row, computedSlots, computed, 1);
    }
  };
}

/** The error of rows that PostgreSQL did not compute. */
export function computeRefusal(
  layout: RowLayout,
  row: Row | undefined,
  error: unknown,
  limits: WriteDeps["limits"],
): unknown {
  if (!(error instanceof AppError && error.code === "commit_unknown")) {
    return explainRefusal(layout, row, error, limits);
  }
  // Nothing is stored here, so the outcome is certain even if the connection breaks.
  return appError("database_unavailable", {
    detail: "The connection to PostgreSQL broke while the row was being computed.",
    hint: "Send the request again in a moment.",
    cause: error,
  });
}
