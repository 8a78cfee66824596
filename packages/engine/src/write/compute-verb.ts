import { AppError, appError } from "@appdb/contract/errors";
import { DONE } from "../batching/coalescer.ts";
import { type RowLayout, slotsNamed, storedSlots } from "../compute/row-layout.ts";
import { buildCompute } from "../statements/insert-statement.ts";
import { arrayParameters, fillRow } from "../statements/row-parameters.ts";
import type { ComputeStage, NewRow } from "./compute-stage.ts";
import { explainRefusal } from "./sql-refusals.ts";
import type { WriteDeps, WriteVerb } from "./write-pipeline.ts";

/** Computes the SQL columns of rows without a table, and stores nothing. Null when SQL computes nothing. */
export function computeVerb(
  deps: Pick<WriteDeps, "sql" | "limits">,
  { layout, stage }: { readonly layout: RowLayout; readonly stage: ComputeStage },
): WriteVerb<NewRow, void> | null {
  if (stage.sql.length === 0) return null;
  const bySql = stage.sql.map((step) => step.column);
  const inputs = storedSlots(layout).filter((slot) => !bySql.includes(slot.name));
  const computedSlots = slotsNamed(layout, bySql);
  const prepared = buildCompute(inputs, stage.sql);
  return {
    plan: (writes) => [writes],
    async statement(writes) {
      const rows = writes.map(({ row }) => row);
      const result = await deps.sql.query({ ...prepared, values: arrayParameters(inputs, rows) });
      for (const computed of result.rows) {
        const row = rows[Number(computed[0]) - 1];
        if (row !== undefined) fillRow(row, computedSlots, computed, 1);
      }
      return rows.map(() => DONE);
    },
    settle({ row }, error) {
      if (!(error instanceof AppError && error.code === "commit_unknown")) {
        return { error: explainRefusal(layout, row, error, deps.limits) };
      }
      // Nothing is stored here, so the outcome is certain even if the connection breaks.
      const unavailable = appError("database_unavailable", {
        detail: "The connection to PostgreSQL broke while the row was being computed.",
        hint: "Send the request again in a moment.",
        cause: error,
      });
      return { error: unavailable };
    },
  };
}
