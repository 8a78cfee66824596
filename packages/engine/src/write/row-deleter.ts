import { createHash } from "node:crypto";
import { countTexts, indexedPrefix } from "../catalog/ddl.ts";
import type { Row, RowLayout } from "../compute/row-layout.ts";
import type { RequestToKeep } from "../idempotency/request-store.ts";
import { kindOf } from "../kinds/kinds.ts";
import { storageCollation, storageType } from "../kinds/storage-type.ts";
import { toSqlText } from "../kinds/values.ts";
import type { SqlConnection } from "../ports.ts";
import { arrayParameters, type PlacedSlot, rowBytes } from "../rows/batch-sql.ts";
import { Coalescer, type Outcome } from "../rows/coalescer.ts";
import { BATCHING } from "../rows/limits.ts";
import { matchKey } from "../rows/match-key.ts";
import { quoteIdent, quoteTable } from "../sql/quote.ts";
import { isolate } from "./isolate.ts";
import { keyOf, keySlots } from "./keyed-rows.ts";
import type { MovingTarget } from "./moving-target.ts";
import { explainRefusal } from "./sql-refusals.ts";
import type { TableWriterDeps } from "./table-writer.ts";
import { buildDeleteByKey } from "./update-statement.ts";
import type { WriteTarget } from "./write-target.ts";

export interface RowDeleterInput {
  readonly layout: RowLayout;
  /** Columns whose values a row must all have to be deleted. */
  readonly match: readonly string[];
  readonly target: MovingTarget;
}

/** Deletes rows of one table for one route. Those that are named by their key are deleted together. */
export class RowDeleter {
  readonly #deps: Pick<TableWriterDeps, "sql" | "limits" | "requests">;
  readonly #input: RowDeleterInput;
  readonly #match: readonly PlacedSlot[];
  readonly #coalescer: Coalescer<Deletion, number> | undefined;

  constructor(deps: Pick<TableWriterDeps, "sql" | "limits" | "requests">, input: RowDeleterInput) {
    this.#deps = deps;
    this.#input = input;
    const { layout, match } = input;
    this.#match = layout.slots.flatMap((slot, at) => (match.includes(slot.name) ? [{ ...slot, at }] : []));
    const { primary_key: primaryKey } = layout.table;
    const isKey = primaryKey.length === match.length && primaryKey.every((name) => match.includes(name));
    if (isKey) {
      this.#coalescer = new Coalescer({
        ...BATCHING,
        weigh: ({ row }) => rowBytes(row),
        run: (deletions) => this.#deleteBatch(deletions),
      });
    }
  }

  /**
   * Deletes the rows that have the values of this one in the columns of the route; null finds rows without a value. Gives
   * their number. `toKeep`: the request whose answer is kept with what it did, by that number.
   * @throws schema_changed, overloaded, query_timeout, database_unavailable, commit_unknown
   */
  async run(row: Row, toKeep?: Deletion["toKeep"]): Promise<number> {
    if (this.#coalescer !== undefined) return this.#coalescer.submit({ row, toKeep });
    try {
      return await this.#input.target.run((target) => this.#deleteMatching(target, { row, toKeep }));
    } catch (error) {
      throw explainRefusal(this.#input.layout, row, error, this.#deps.limits);
    }
  }

  /** Resolves when no delete waits for others. */
  async drain(): Promise<void> {
    await this.#coalescer?.drain();
  }

  async #deleteBatch(deletions: readonly Deletion[]): Promise<readonly Outcome<number>[]> {
    const { layout, target } = this.#input;
    // In the order in which updates lock rows too.
    const sorted = deletions
      .map((deletion) => ({ deletion, key: keyOf(layout, deletion.row) }))
      .sort((a, b) => (a.key < b.key ? -1 : 1));
    const found = await isolate(
      sorted,
      (part) =>
        target.run((now) =>
          this.#deleteByKey(
            now,
            part.map(({ deletion }) => deletion),
          ),
        ),
      ({ deletion }, error) => ({ error: explainRefusal(layout, deletion.row, error, this.#deps.limits) }),
    );
    const outcomes = new Map(sorted.map(({ deletion }, at) => [deletion, found[at]]));
    return deletions.map((deletion) => outcomes.get(deletion) ?? { error: new Error("A row has no outcome.") });
  }

  async #deleteByKey(
    now: WriteTarget,
    deletions: readonly Deletion[],
  ): Promise<readonly Outcome<number>[] | undefined> {
    const { layout, target } = this.#input;
    const key = keySlots(layout);
    const statement = buildDeleteByKey({ table: now, identity: layout.table.identity, key });
    const rows = deletions.map(({ row }) => row);
    const values = [...arrayParameters(key, rows), now.table_id, now.version];
    const counts = await this.#keeping(deletions, async (sql) => {
      const result = await sql.query({ ...statement, values });
      if (result.row_count === 0 && !(await target.isCurrent(now, sql))) return undefined;
      const deleted = new Set(result.rows.map(([at]) => Number(at) - 1));
      return rows.map((_, at) => (deleted.has(at) ? 1 : 0));
    });
    return counts?.map((answer) => ({ answer }));
  }

  async #deleteMatching(now: WriteTarget, deletion: Deletion): Promise<number | undefined> {
    const { row } = deletion;
    const values = this.#match.flatMap((slot) => {
      const value = row[slot.at] ?? null;
      return value === null ? [] : [toSqlText(slot.type, value)];
    });
    const text = deleteMatching(this.#input.layout, now, this.#match, row);
    const name = createHash("sha256").update(text).digest("hex").slice(0, 32);
    const counts = await this.#keeping([deletion], async (sql) => {
      const result = await sql.query({ text, name, values: [now.table_id, now.version, ...values] });
      if (result.row_count === 0 && !(await this.#input.target.isCurrent(now, sql))) return undefined;
      return [result.row_count];
    });
    return counts?.[0];
  }

  /** Deletes, in one transaction with the answers that are to be kept. `work` gives a number for each of `deletions`. */
  async #keeping(
    deletions: readonly Deletion[],
    work: (sql: SqlConnection) => Promise<readonly number[] | undefined>,
  ): Promise<readonly number[] | undefined> {
    const { sql, requests } = this.#deps;
    if (deletions.every(({ toKeep }) => toKeep === undefined)) return work(sql);
    return sql.transaction(async (connection) => {
      const counts = await work(connection);
      const kept = deletions.flatMap(({ toKeep }, at) => {
        const count = counts?.[at];
        return toKeep === undefined || count === undefined ? [] : [toKeep(count)];
      });
      if (kept.length > 0) await requests.keep(connection, kept);
      return counts;
    });
  }
}

/** A row whose values the rows have that go, and who wants to know. */
interface Deletion {
  readonly row: Row;
  readonly toKeep: ((count: number) => RequestToKeep) | undefined;
}

/** A DELETE of the rows that have the values of `row` in some columns. Parameters: the table's id and version, then the
 *  values that are not null. Conditions are written as the indexes are. */
function deleteMatching(layout: RowLayout, now: WriteTarget, match: readonly PlacedSlot[], row: Row): string {
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
