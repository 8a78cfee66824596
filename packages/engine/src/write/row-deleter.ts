import { type RowLayout, slotsNamed } from "../compute/row-layout.ts";
import type { IdempotentRequest } from "../idempotency/request-store.ts";
import { toSqlText } from "../kinds/values.ts";
import { arrayParameters } from "../statements/row-parameters.ts";
import { buildDeleteByKey, buildDeleteMatching } from "../statements/update-statement.ts";
import { inKeyOrder } from "./keyed-rows.ts";
import { explainRefusal } from "./sql-refusals.ts";
import type { TableVersionGuard } from "./table-version-guard.ts";
import { type WriteDeps, type WriteItem, WritePipeline, type WriteVerb } from "./write-pipeline.ts";

export interface RowDeleterInput {
  readonly layout: RowLayout;
  /** A row is deleted if it has the given values in all these columns. */
  readonly match: readonly string[];
  readonly guard: TableVersionGuard;
}

/** The values that select the rows to delete. A request with an idempotency key gets the number of deleted rows. */
export interface Deletion extends WriteItem {
  readonly request?: IdempotentRequest<number> | undefined;
}

/** Deletes rows of one table for one route. Deletes by key are batched. */
export class RowDeleter {
  readonly #pipeline: WritePipeline<Deletion, number>;
  readonly #isByKey: boolean;

  constructor(deps: Pick<WriteDeps, "sql" | "limits" | "requests">, input: RowDeleterInput) {
    const { layout, match, guard } = input;
    const { primary_key: primaryKey } = layout.table;
    this.#isByKey = primaryKey.length === match.length && primaryKey.every((name) => match.includes(name));
    this.#pipeline = new WritePipeline(deps, guard, {
      ...(this.#isByKey ? deleteByKey(input) : deleteMatching(input)),
      response: ({ request }, count) => request && { ...request, answer: request.respond(count) },
      settle: ({ row }, error) => ({ error: explainRefusal(layout, row, error, deps.limits) }),
    });
  }

  /**
   * Deletes the rows with these values in the columns of the route; null matches rows without a value. Returns their
   * number.
   * @throws schema_changed, overloaded, query_timeout, database_unavailable, commit_unknown
   */
  run(deletion: Deletion): Promise<number> {
    return this.#isByKey ? this.#pipeline.submit(deletion) : this.#pipeline.runAlone(deletion);
  }

  /** Resolves when no delete waits for others. */
  drain(): Promise<void> {
    return this.#pipeline.drain();
  }
}

type DeleteStatement = Pick<WriteVerb<Deletion, number>, "plan" | "statement">;

/** One statement for many rows. It locks rows in the same order as updates. */
function deleteByKey({ layout, guard }: RowDeleterInput): DeleteStatement {
  const key = slotsNamed(layout, layout.table.primary_key);
  return {
    plan: (deletions) => [inKeyOrder(layout, deletions)],
    async statement(deletions, version, sql) {
      const prepared = buildDeleteByKey({ table: version, identity: layout.table.identity, key });
      const rows = deletions.map(({ row }) => row);
      const values = [...arrayParameters(key, rows), version.table_id, version.version];
      const result = await sql.query({ ...prepared, values });
      if (result.row_count === 0 && !(await guard.isCurrent(version, sql))) return undefined;
      const deleted = new Set(result.rows.map(([at]) => Number(at) - 1));
      return rows.map((_, at) => ({ answer: deleted.has(at) ? 1 : 0 }));
    },
  };
}

/** One statement per row. */
function deleteMatching({ layout, match, guard }: RowDeleterInput): DeleteStatement {
  const slots = layout.slots.filter(({ name }) => match.includes(name));
  return {
    plan: (deletions) => deletions.map((deletion) => [deletion]),
    async statement([deletion], version, sql) {
      if (deletion === undefined) return [];
      const { row } = deletion;
      const values = slots.flatMap((slot) => {
        const value = row[slot.at] ?? null;
        return value === null ? [] : [toSqlText(slot.type, value)];
      });
      const prepared = buildDeleteMatching(version, { layout, match: slots, row });
      const result = await sql.query({ ...prepared, values: [version.table_id, version.version, ...values] });
      if (result.row_count === 0 && !(await guard.isCurrent(version, sql))) return undefined;
      return [{ answer: result.row_count }];
    },
  };
}
