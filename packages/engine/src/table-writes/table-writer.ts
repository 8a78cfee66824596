import { AppError, appError } from "@appdb/contract/errors";
import type { Expr } from "@appdb/contract/expressions";
import type { OnError } from "@appdb/contract/jobs";
import type { Written } from "@appdb/contract/routes/data-writes";
import { computedClosure } from "../compute/plan-compute.ts";
import type { Row, RowLayout } from "../compute/row-layout.ts";
import { explainCondition } from "../conditions/condition-sql.ts";
import { referencedColumns } from "../expressions/needs-python.ts";
import type { SqlTransaction } from "../ports.ts";
import type { RouteContext } from "../routes/route-context.ts";
import { givenInRows } from "../rows/given-media.ts";
import { splitArray } from "../rows/split-array.ts";
import { compileChangeReader, compileMatchReader, compileRowReader } from "../rows/validate-row.ts";
import { FIRST_FETCH, nextFetch } from "../sql/next-fetch.ts";
import { quoteIdent, quoteTable } from "../sql/quote.ts";
import type { ReadableTable } from "../views/view-tables.ts";
import { explainRefusal } from "../write/sql-refusals.ts";
import type { TableVersion } from "../write/table-version.ts";
import { poolOfTransaction } from "../write/transaction-pool.ts";
import { planAssignments } from "./assignments.ts";
import { RowRefusals } from "./row-refusals.ts";

/** Rows whose statements wait at the same time. */
const AT_ONCE = 1_000;
/** Smaller than every identity. */
const FIRST_IDENTITY = "00000000-0000-0000-0000-000000000000";

export interface UpdateRows {
  /** JSON objects with the key and the new values. */
  readonly rows: readonly string[];
  readonly if_not_exists: "error" | "ignore" | "insert";
  readonly on_error: OnError;
}

export interface UpdateWhere {
  /** The table as it is now. */
  readonly table: ReadableTable;
  /** SQL of the condition; undefined for all rows. */
  readonly where: string | undefined;
  readonly set: Readonly<Record<string, Expr>>;
  readonly on_error: OnError;
}

interface Transaction extends ReturnType<RouteContext["writersIn"]> {
  readonly connection: SqlTransaction;
  readonly version: TableVersion;
}

/** An item of a request, with its number from 0. */
interface Numbered<Value> {
  readonly at: number;
  readonly value: Value;
}

/**
 * Changes and deletes rows of one table, each request in one transaction: all of it, or nothing. Dependent columns are
 * computed as by update routes.
 */
export class TableWriter {
  readonly #context: RouteContext;
  readonly #name: string;
  readonly #layout: RowLayout;
  /** Stored columns that a request may change. */
  readonly #inputs: readonly string[];

  constructor(context: RouteContext, name: string) {
    this.#context = context;
    this.#name = name;
    this.#layout = context.layout(name).layout;
    this.#inputs = changeable(this.#layout);
  }

  /**
   * Changes rows by their keys.
   * @throws row_not_found, unique_violation, invalid_request and errors of computed columns, with the numbers of the
   * first rows; other errors as `RowUpdater.run`
   */
  async update(request: UpdateRows, signal: AbortSignal): Promise<Written> {
    const { if_not_exists: ifNotExists, on_error: onError } = request;
    const key = this.#requireKey();
    const changes = await this.#read(
      request.rows,
      compileChangeReader(this.#layout, { key, inputs: this.#inputs }, this.#context.checks),
      ({ row }) => row,
    );
    return await this.#run(this.#layout, signal, async ({ rows, updater }) => {
      const refusals = new RowRefusals("rows");
      const missing: Numbered<string>[] = [];
      await forEach(changes, { signal, refusals }, async ({ at, value }) => {
        try {
          await updater.run({ ...value, onError, answerer: null, request: undefined, signal });
        } catch (error) {
          if (ifNotExists === "error" || !(error instanceof AppError) || error.code !== "row_not_found") throw error;
          missing.push({ at, value: request.rows[at] ?? "" });
        }
      });
      refusals.check();
      const added = ifNotExists === "insert" ? await this.#readNew(missing) : [];
      await forEach(added, { signal, refusals }, ({ value: row }) =>
        rows.run({ row, onError, request: undefined, signal }),
      );
      refusals.check();
      const stored = [...changes.map(({ value }) => value.row), ...added.map(({ value }) => value)];
      return written({
        updated: changes.length - missing.length,
        inserted: added.length,
        errors: this.#failedCells(stored),
      });
    });
  }

  /** Changes the rows of a condition. @throws column_not_found, invalid_request; errors as `RowUpdater.run` */
  async updateWhere(request: UpdateWhere, signal: AbortSignal): Promise<Written> {
    const { on_error: onError, set, table, where } = request;
    const { layout } = keyedByIdentity(this.#layout);
    const { checks } = this.#context;
    const { constants, fill, sent, sql } = planAssignments({ layout, table, inputs: this.#inputs, checks }, set);
    await this.#takeMedia(constants);
    return await this.#run(layout, signal, async ({ connection, updater, version }) => {
      let updated = 0;
      let errors = 0;
      for await (const found of pages(connection, {
        version,
        identity: layout.table.identity,
        where,
        values: sql,
        signal,
      })) {
        const rows = found.map(([identity, ...texts]): Row => {
          const row = constants.slice();
          row[layout.identity] = identity ?? null;
          fill(row, texts);
          return row;
        });
        // one of them says enough: the caller does not know the rows by numbers
        await Promise.all(
          rows.map((row) => updater.run({ row, sent, onError, answerer: null, request: undefined, signal })),
        );
        updated += rows.length;
        errors += this.#failedCells(rows);
      }
      return written({ updated, errors });
    });
  }

  /** Deletes rows by their keys, each a JSON array. @throws invalid_request with the numbers of the first rows */
  async delete(keys: readonly string[], signal: AbortSignal): Promise<Written> {
    const names = this.#requireKey();
    const read = compileMatchReader(this.#layout, names, this.#context.checks);
    const refusals = new RowRefusals("keys");
    const rows: Numbered<Row>[] = [];
    for (const [at, key] of keys.entries()) {
      if (refusals.isFull) break;
      try {
        rows.push({ at, value: read(await keyBody(names, key)) });
      } catch (error) {
        refusals.add(at, error);
      }
    }
    refusals.check();
    return await this.#run(this.#layout, signal, async ({ deleter }) => {
      let deleted = 0;
      await forEach(rows, { signal, refusals }, async ({ value: row }) => {
        const count = await deleter.run({ row });
        deleted += count;
      });
      refusals.check();
      return written({ deleted });
    });
  }

  /** Deletes the rows of a condition. @throws invalid_request */
  async deleteWhere(where: string | undefined, signal: AbortSignal): Promise<Written> {
    return await this.#run(this.#layout, signal, async ({ connection, version }) => {
      let deleted = 0;
      const identity = quoteIdent(this.#layout.table.identity);
      for await (const found of pages(connection, {
        version,
        identity: this.#layout.table.identity,
        where,
        values: [],
        signal,
      })) {
        const ids = `{${found.map(([id]) => id).join(",")}}`;
        const text = `delete from ${quoteTable(version)} where ${identity} = any($1::uuid[])`;
        deleted += (await connection.query({ text, values: [ids] })).row_count;
      }
      return written({ deleted });
    });
  }

  /** @throws invalid_request */
  #requireKey(): readonly string[] {
    const { primary_key: key } = this.#layout.table;
    if (key.length > 0) return key;
    throw appError("invalid_request", {
      detail: `${this.#name} has no primary key, so no key names one of its rows.`,
      hint: "Name the rows by a condition.",
      meta: { table: this.#name },
    });
  }

  /** Reads all rows before anything is written. @throws the errors of the first rows */
  async #read<Value>(
    texts: readonly string[],
    read: (text: string) => Value,
    rowOf: (value: Value) => Row,
  ): Promise<Numbered<Value>[]> {
    return await this.#readNumbered(
      texts.map((value, at) => ({ at, value })),
      read,
      rowOf,
    );
  }

  /** Rows that are inserted because their key does not exist. */
  async #readNew(missing: readonly Numbered<string>[]): Promise<Numbered<Row>[]> {
    const { slots, table } = this.#layout;
    const made = slots.find(({ name, origin }) => table.primary_key.includes(name) && origin !== "input");
    if (made !== undefined && missing.length > 0) {
      throw appError("invalid_request", {
        detail: `${missing.length} rows do not exist, and rows with their keys cannot be inserted: ${made.name} is made for each new row. Nothing was changed.`,
        hint: "Insert the new rows without their keys.",
        meta: { table: this.#name, column: made.name },
      });
    }
    const stored = slots.flatMap(({ name, origin }) => (origin === "input" ? [name] : []));
    const shown = stored.filter((name) =>
      table.columns.some((column) => column.name === name && column.is_hidden !== true),
    );
    const read = compileRowReader(this.#layout, shown, this.#context.checks, this.#context.generators);
    return await this.#readNumbered(
      missing,
      (text) => read(text, "row"),
      (row) => row,
    );
  }

  async #readNumbered<Value>(
    texts: readonly Numbered<string>[],
    read: (text: string) => Value,
    rowOf: (value: Value) => Row,
  ): Promise<Numbered<Value>[]> {
    const refusals = new RowRefusals("rows");
    const found: Numbered<Value>[] = [];
    for (const { at, value: text } of texts) {
      if (refusals.isFull) break;
      try {
        const value = read(text);
        await this.#takeMedia(rowOf(value));
        found.push({ at, value });
      } catch (error) {
        refusals.add(at, error);
      }
    }
    refusals.check();
    return found;
  }

  /** Replaces addresses of the database's own files in a row. @throws media_source_not_allowed */
  async #takeMedia(row: Row): Promise<void> {
    const given = givenInRows(this.#layout, this.#context.deps.media);
    given?.require(row, undefined);
    await given?.take(row);
  }

  /** Runs the work of a request in one transaction, for the current version of the table. */
  async #run(
    layout: RowLayout,
    signal: AbortSignal,
    work: (transaction: Transaction) => Promise<Written>,
  ): Promise<Written> {
    const { admission, deps, limits } = this.#context;
    const { guard } = this.#context.layout(this.#name);
    const attempt = (version: TableVersion) =>
      deps.sql.transaction(async (connection) => {
        if (!(await guard.lock(version, connection))) return undefined;
        const writers = this.#context.writersIn(poolOfTransaction(connection), this.#name, layout);
        const done = await work({ ...writers, connection, version });
        signal.throwIfAborted();
        return done;
      });
    try {
      return await admission.run(signal, () => guard.run(attempt));
    } catch (error) {
      const explained = explainCondition(layout.table, error);
      throw explained === error ? explainRefusal(layout, undefined, error, limits) : explained;
    }
  }

  #failedCells(rows: readonly Row[]): number {
    const { errors } = this.#layout;
    return rows.reduce((sum, row) => {
      const text = row[errors];
      return typeof text === "string" ? sum + Object.keys(JSON.parse(text)).length : sum;
    }, 0);
  }
}

function written(counts: Partial<Written>): Written {
  return { inserted: 0, updated: 0, deleted: 0, errors: 0, ...counts };
}

/** The stored columns without the key, and without those that it is computed from. */
function changeable({ table }: RowLayout): readonly string[] {
  const fixed = new Set(table.primary_key);
  const expressions = new Map(table.columns.map(({ computed, name }) => [name, computed?.expr]));
  for (const name of computedClosure(table, table.primary_key)) {
    const expr = expressions.get(name);
    for (const read of expr === undefined ? [] : referencedColumns(expr)) fixed.add(read);
  }
  return table.columns.flatMap(({ computed, is_hidden: isHidden, name }) =>
    computed === null && isHidden !== true && !fixed.has(name) ? [name] : [],
  );
}

/** The layout for rows that a condition found: all tables have an identity, not all a key. */
function keyedByIdentity(layout: RowLayout): { readonly layout: RowLayout } {
  return { layout: { ...layout, table: { ...layout.table, primary_key: [layout.table.identity] } } };
}

/** Runs `work` for all items, some at a time. Collects the errors of rows. @throws other errors; the signal's reason */
async function forEach<Value>(
  items: readonly Numbered<Value>[],
  { refusals, signal }: { readonly refusals: RowRefusals; readonly signal: AbortSignal },
  work: (item: Numbered<Value>) => Promise<void>,
): Promise<void> {
  for (let from = 0; from < items.length && !refusals.isFull; from += AT_ONCE) {
    signal.throwIfAborted();
    const part = items.slice(from, from + AT_ONCE);
    const settled = await Promise.allSettled(part.map(work));
    for (const [index, one] of settled.entries()) {
      if (one.status === "rejected") refusals.add(part[index]?.at ?? 0, one.reason);
    }
  }
}

interface PagesInput {
  readonly version: TableVersion;
  readonly identity: string;
  readonly where: string | undefined;
  /** SQL of values to read. */
  readonly values: readonly string[];
  readonly signal: AbortSignal;
}

/** Locks the rows of a condition, some at a time: their identities, then the values. */
async function* pages(connection: SqlTransaction, { identity, signal, values, version, where }: PagesInput) {
  const id = quoteIdent(identity);
  const text = [
    `select ${[id, ...values].join(", ")} from ${quoteTable(version)}`,
    `where ${id} > $1::uuid${where === undefined ? "" : ` and (${where})`}`,
    `order by ${id} limit $2::int for no key update`,
  ].join("\n");
  let size = values.length === 0 ? AT_ONCE : FIRST_FETCH;
  for (let after: string | null = FIRST_IDENTITY; after !== null; ) {
    signal.throwIfAborted();
    const { rows } = await connection.query({ text, values: [after, size] });
    if (rows.length > 0) yield rows;
    after = rows.length < size ? null : (rows.at(-1)?.[0] ?? null);
    size = nextFetch(rows, AT_ONCE);
  }
}

/** The JSON object of a key: its names with the texts of its values. @throws invalid_request */
async function keyBody(names: readonly string[], key: string): Promise<string> {
  const values: string[] = [];
  for await (const texts of splitArray(key)) values.push(...texts);
  if (values.length !== names.length) {
    throw appError("invalid_request", {
      detail: `Expected a value for each of ${names.join(", ")}, got ${values.length} values.`,
      hint: "Give a value for each column of the key, in this order.",
      meta: { columns: names },
    });
  }
  return `{${names.map((name, at) => `${JSON.stringify(name)}:${values[at]}`).join(",")}}`;
}
