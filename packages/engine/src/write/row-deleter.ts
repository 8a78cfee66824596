import { countTexts, indexedPrefix } from "../catalog/ddl.ts";
import type { Row, RowLayout } from "../compute/row-layout.ts";
import type { IdempotentRequest } from "../idempotency/request-store.ts";
import { kindOf } from "../kinds/kinds.ts";
import { storageCollation, storageType } from "../kinds/storage-type.ts";
import { toSqlText } from "../kinds/values.ts";
import { arrayParameters, type PlacedSlot } from "../rows/batch-sql.ts";
import { matchKey } from "../rows/match-key.ts";
import { quoteIdent, quoteTable } from "../sql/quote.ts";
import { prepare } from "./insert-statement.ts";
import { inKeyOrder, keySlots } from "./keyed-rows.ts";
import { explainRefusal } from "./sql-refusals.ts";
import type { TableVersion } from "./table-version.ts";
import type { TableVersionGuard } from "./table-version-guard.ts";
import { buildDeleteByKey } from "./update-statement.ts";
import { type WriteDeps, type WriteItem, WritePipeline, type WriteVerb } from "./write-pipeline.ts";

export interface RowDeleterInput {
  readonly layout: RowLayout;
  /** Columns whose values a row must all have to be deleted. */
  readonly match: readonly string[];
  readonly guard: TableVersionGuard;
}

/** A row whose values the rows to delete have. Its request, if it has a key, is answered with the number of those. */
export interface Deletion extends WriteItem {
  readonly request?: IdempotentRequest<number> | undefined;
}

/** Deletes rows of one table for one route. Those that are named by their key are deleted together. */
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
   * Deletes the rows that have the values of this one in the columns of the route; null finds rows without a value. Gives
   * their number.
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

/** One statement for many rows. They are locked in the order in which updates lock rows too. */
function deleteByKey({ layout, guard }: RowDeleterInput): DeleteStatement {
  const key = keySlots(layout);
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

/** A statement for each row. */
function deleteMatching({ layout, match, guard }: RowDeleterInput): DeleteStatement {
  const slots = layout.slots.flatMap((slot, at) => (match.includes(slot.name) ? [{ ...slot, at }] : []));
  return {
    plan: (deletions) => deletions.map((deletion) => [deletion]),
    async statement([deletion], version, sql) {
      if (deletion === undefined) return [];
      const { row } = deletion;
      const values = slots.flatMap((slot) => {
        const value = row[slot.at] ?? null;
        return value === null ? [] : [toSqlText(slot.type, value)];
      });
      const prepared = prepare(matchingText(layout, version, slots, row));
      const result = await sql.query({ ...prepared, values: [version.table_id, version.version, ...values] });
      if (result.row_count === 0 && !(await guard.isCurrent(version, sql))) return undefined;
      return [{ answer: result.row_count }];
    },
  };
}

/** A DELETE of the rows that have the values of `row` in some columns. Parameters: the table's id and version, then the
 *  values that are not null. Conditions are written as the indexes are. */
function matchingText(layout: RowLayout, now: TableVersion, match: readonly PlacedSlot[], row: Row): string {
  const { table } = layout;
  const hasKey =
    table.primary_key.length > 0 && table.primary_key.every((name) => match.some((slot) => slot.name === name));
  let parameters = 2;
  const conditions = match.flatMap((slot): string[] => {
    const column = `t.${quoteIdent(slot.name)}`;
    if ((row[slot.at] ?? null) === null) {
      return [`${column} is null`, ...prefixesOf(layout, slot, column).map((held) => `${held} is null`)];
    }
    parameters += 1;
    const asked = `$${parameters}::${storageType(slot.type)}${storageCollation(slot.type)}`;
    const { equals } = kindOf(slot.type);
    if (equals !== null) return [equals(column, asked)];
    if (hasKey && table.primary_key.includes(slot.name)) {
      return [matchKey("t", [{ name: slot.name, type: slot.type, sql: asked }])];
    }
    return [`${column} = ${asked}`, ...prefixConditions(layout, slot, column, asked)];
  });
  return [
    `delete from ${quoteTable(now)} as t`,
    `where (select v.version from appdb.tables v where v.id = $1::bigint) = $2::bigint`,
    `  and ${conditions.join("\n  and ")}`,
  ].join("\n");
}

/** An index holds only the beginning of a text: the same is asked of it. */
function prefixConditions(layout: RowLayout, slot: PlacedSlot, column: string, asked: string): string[] {
  const held = prefixesOf(layout, slot, asked);
  return prefixesOf(layout, slot, column).map((prefix, at) => `${prefix} = ${held[at]}`);
}

/** What the indexes of a text column hold of it, each once. */
function prefixesOf(layout: RowLayout, slot: PlacedSlot, sql: string): string[] {
  if (kindOf(slot.type).index !== "prefix") return [];
  const types = new Map(layout.slots.map(({ name, type }) => [name, type]));
  const lengths = layout.table.indexes
    .filter((index) => index.columns.includes(slot.name))
    .map((index) => countTexts(index.columns, types));
  return [...new Set(lengths)].map((texts) => indexedPrefix(sql, texts));
}
