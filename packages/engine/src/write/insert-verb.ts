import { responseParameters } from "../idempotency/stored-responses.ts";
import type { NewRow } from "./compute-stage.ts";
import { inKeyOrder } from "./keyed-rows.ts";
import { explainRefusal } from "./sql-refusals.ts";
import type { InsertVariant, TableStatements } from "./table-statements.ts";
import type { TableVersionGuard } from "./table-version-guard.ts";
import type { WriteDeps, WriteVerb } from "./write-pipeline.ts";

export interface InsertInput extends Pick<InsertVariant, "computes"> {
  readonly statements: TableStatements;
  readonly guard: TableVersionGuard;
}

/** Stores new rows with the responses to their requests. */
export function insertVerb(
  deps: Pick<WriteDeps, "limits" | "requests">,
  { statements, guard, computes }: InsertInput,
): WriteVerb<NewRow, void> {
  const { layout } = statements;
  return {
    plan: (writes) => [guard.current.has_key ? inKeyOrder(layout, writes) : writes],
    async statement(writes, version, sql) {
      const storesResponses = writes.some(({ request }) => request !== undefined);
      const statement = statements.insert(version, { computes, stores_responses: storesResponses });
      const rows = writes.map(({ row }) => row);
      const values = statements.valuesOf(version, statement, rows);
      if (storesResponses) {
        const [, ...computed] = statement.returned.map(({ at }) => at);
        const expiresAt = deps.requests.expiry();
        values.push(...responseParameters(writes, { identity: layout.identity, unknown: computed, expiresAt }));
      }
      const result = await sql.query({ text: statement.text, name: statement.name, values });
      if (result.row_count === 0 && !(version.has_key && (await guard.isCurrent(version)))) return undefined;
      return statements.outcomesOf(statement, rows, result);
    },
    settle: ({ row }, error) => ({ error: explainRefusal(layout, row, error, deps.limits) }),
  };
}
