import type { ColumnType } from "@appdb/contract/types";
import { countTexts, indexedPrefix, keyExpression } from "../catalog/ddl.ts";
import type { SqlStep } from "../compute/plan-compute.ts";
import type { Row, RowLayout, Slot } from "../compute/row-layout.ts";
import { kindOf } from "../kinds/kinds.ts";
import { fromTransport, storageCollation, storageType, transportType } from "../kinds/storage-type.ts";
import { quoteIdent, quoteLiteral, quoteTable } from "../sql/quote.ts";
import { type Prepared, prepare } from "./insert-statement.ts";

/** Builders of the statements that change rows by key. Names with `#` are reserved: no column can have one. */

interface KeyedTable {
  readonly table: { readonly folder: string; readonly name: string };
  /** Column that identifies a row to PostgreSQL. */
  readonly identity: string;
  readonly key: readonly Slot[];
}

export interface UpdateStatementShape extends KeyedTable {
  /** Slots with given new values, in the order of their array parameters. */
  readonly inputs: readonly Slot[];
  /** Columns that this statement computes. */
  readonly steps: readonly SqlStep[];
  /** Stored columns that the steps read. */
  readonly reads: readonly Slot[];
  /** Columns with new values that may have errors: recomputed ones, and given files. Their previous errors are removed. */
  readonly recomputed: readonly string[];
  /** Rows with an error in one of these columns are skipped. */
  readonly unsure: readonly string[];
  /** Rows have the version (xmin) that their values were computed from. They are skipped if it has changed. */
  readonly checks_xmin: boolean;
  /** Rows have the errors of `recomputed`. */
  readonly has_errors: boolean;
  readonly returning: readonly string[];
}

/**
 * Builds one UPDATE of many rows with distinct keys. Parameters: an array per key column and per given slot, one of
 * xmin and one of cell errors if the shape says so. The table's id and version follow, then ids of pending columns
 * (null for none) and their cell errors (null for none). The result has the number, from 1, of each row written. It is
 * empty if the version of the table has changed.
 * Rows are locked in the given order, so that two statements with one order cannot deadlock. The steps read each row as
 * it is when locked.
 */
export function buildUpdate(shape: UpdateStatementShape): Prepared {
  const { table, identity, key, inputs, steps, reads } = shape;
  const next = new Numbers();
  const id = quoteIdent(identity);
  const rowsSql = askedRows(key, inputs, next, [
    ...(shape.checks_xmin ? [{ name: "#xmin", type: "xid" }] : []),
    ...(shape.has_errors ? [{ name: "#errors", type: "jsonb" }] : []),
  ]);
  const conditions = [
    keyCondition(key),
    ...(shape.checks_xmin ? ['"#t".xmin = "#asked"."#xmin"'] : []),
    ...(shape.unsure.length === 0 ? [] : [`("#t"._errors is null or not "#t"._errors ?| ${textArray(shape.unsure)})`]),
  ];
  const stored = [`"#t".${id} as "#id"`, ...reads.map(({ name }) => `"#t".${quoteIdent(name)}`)];
  const [tableId, version, pendingIds, pending] = [next.take(), next.take(), next.take(), next.take()];
  const laterals = steps.map(
    ({ expression, column }, at) => `, lateral (select ${expression} as ${quoteIdent(column)}) as "#step${at}"`,
  );
  const columns = [...inputs.map(({ name }) => name), ...steps.map(({ column }) => column)].map(quoteIdent);
  const previous = `coalesce("#target"._errors, '{}') - ${textArray(shape.recomputed)}`;
  const own = shape.has_errors ? `coalesce("#new"."#errors", '{}')` : "'{}'";
  const noErrors = `"#target"._errors is null and ${pending}::jsonb is null${shape.has_errors ? ' and "#new"."#errors" is null' : ""}`;
  return prepare(
    [
      'with "#locked" as materialized (',
      `  select "#asked".*, "#stored".* from ${rowsSql} as "#asked", lateral (`,
      `    select ${stored.join(", ")} from ${quoteTable(table)} as "#t"`,
      `    where ${conditions.join(" and ")} for no key update of "#t"`,
      '  ) as "#stored"',
      `  where ${isCurrent(tableId, version)}`,
      `    and (${pendingIds}::bigint[] is null or (select appdb.mark_pending(${tableId}::bigint, ${pendingIds}::bigint[])) is not null)`,
      ")",
      `update ${quoteTable(table)} as "#target" set`,
      ...columns.map((column) => `  ${column} = "#new".${column},`),
      `  _errors = case when ${noErrors} then null`,
      `    else nullif((${previous}) || ${own} || coalesce(${pending}::jsonb, '{}'), '{}') end`,
      `from (select "#locked".*${steps.map(({ column }) => `, ${quoteIdent(column)}`).join("")} from "#locked"${laterals.join("")}) as "#new"`,
      `where "#target".${id} = "#new"."#id"`,
      `returning ${['"#new"."#row"', ...shape.returning.map((name) => `"#target".${quoteIdent(name)}`)].join(", ")}`,
    ].join("\n"),
  );
}

/**
 * Reads rows by key. Parameters: an array per key column, then the table's id and version. The result has a row's
 * number from 1, its xmin and its cell errors, then the columns.
 */
export function buildReadByKey({ table, key }: KeyedTable, columns: readonly string[]): Prepared {
  const next = new Numbers();
  const rowsSql = askedRows(key, [], next, []);
  const values = ['"#t".xmin', '"#t"._errors', ...columns.map((name) => `"#t".${quoteIdent(name)}`)];
  return prepare(
    [
      `select "#asked"."#row", "#stored".* from ${rowsSql} as "#asked", lateral (`,
      `  select ${values.join(", ")} from ${quoteTable(table)} as "#t" where ${keyCondition(key)}`,
      '  offset 0) as "#stored"',
      `where ${isCurrent(next.take(), next.take())}`,
    ].join("\n"),
  );
}

/**
 * Deletes rows by key, in the given order. Parameters as in `buildReadByKey`. The result has the number, from 1, of
 * each deleted row. A key given twice has one number in the result.
 */
export function buildDeleteByKey({ table, identity, key }: KeyedTable): Prepared {
  const next = new Numbers();
  const id = quoteIdent(identity);
  const rowsSql = askedRows(key, [], next, []);
  return prepare(
    [
      'with "#locked" as materialized (',
      `  select "#asked"."#row", "#stored".* from ${rowsSql} as "#asked", lateral (`,
      `    select "#t".${id} as "#id" from ${quoteTable(table)} as "#t" where ${keyCondition(key)} for update of "#t"`,
      '  ) as "#stored"',
      `  where ${isCurrent(next.take(), next.take())}`,
      ")",
      `delete from ${quoteTable(table)} as "#target" using "#locked"`,
      `where "#target".${id} = "#locked"."#id"`,
      'returning "#locked"."#row"',
    ].join("\n"),
  );
}

/**
 * Deletes the rows that have the values of `row` in the slots `match`; null matches rows without a value. Parameters:
 * the table's id and version, then the values that are not null. Conditions have the same form as the indexes.
 */
export function buildDeleteMatching(
  place: KeyedTable["table"],
  { layout, match, row }: { readonly layout: RowLayout; readonly match: readonly Slot[]; readonly row: Row },
): Prepared {
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
    const parameter = `$${parameters}::${storageType(slot.type)}${storageCollation(slot.type)}`;
    const { equals } = kindOf(slot.type);
    if (equals !== null) return [equals(column, parameter)];
    if (hasKey && table.primary_key.includes(slot.name)) {
      return [matchKeyColumn(column, slot.type, parameter)];
    }
    return [`${column} = ${parameter}`, ...prefixConditions(layout, slot, column, parameter)];
  });
  const where = [isCurrent("$1", "$2"), ...conditions].join("\n  and ");
  return prepare(`delete from ${quoteTable(place)} as t\nwhere ${where}`);
}

/** An index holds only a prefix of a text, so the condition compares the same prefix. */
function prefixConditions(layout: RowLayout, slot: Slot, column: string, parameter: string): string[] {
  const prefixes = prefixesOf(layout, slot, parameter);
  return prefixesOf(layout, slot, column).map((prefix, at) => `${prefix} = ${prefixes[at]}`);
}

/** The distinct prefixes that the indexes of a text column hold. */
function prefixesOf(layout: RowLayout, slot: Slot, sql: string): string[] {
  if (kindOf(slot.type).index !== "prefix") return [];
  const types = new Map(layout.slots.map(({ name, type }) => [name, type]));
  const lengths = layout.table.indexes
    .filter((index) => index.columns.includes(slot.name))
    .map((index) => countTexts(index.columns, types));
  return [...new Set(lengths)].map((texts) => indexedPrefix(sql, texts));
}

class Numbers {
  #last = 0;

  take(): string {
    this.#last += 1;
    return `$${this.#last}`;
  }
}

interface Extra {
  readonly name: string;
  readonly type: string;
}

/**
 * The parameters as rows: `#key0` and up, the given columns, the extra ones, `#row`. The inner selects hide the arrays'
 * lengths from the planner. Otherwise it would scan the whole table for many rows instead of looking up each row.
 */
function askedRows(key: readonly Slot[], inputs: readonly Slot[], next: Numbers, extra: readonly Extra[]): string {
  const columns = [...key.map((slot, at) => ({ ...slot, name: `#key${at}` })), ...inputs];
  const arrays = [
    ...columns.map(({ type }) => `(select ${next.take()}::${transportType(type)}[])`),
    ...extra.map(({ type }) => `(select ${next.take()}::${type}[])`),
  ];
  const names = [...columns, ...extra].map(({ name }) => quoteIdent(name));
  const values = columns.map(({ name, type }) => `${fromTransport(quoteIdent(name), type)} as ${quoteIdent(name)}`);
  const others = [...extra.map(({ name }) => quoteIdent(name)), '"#row"'];
  const source = `unnest(${arrays.join(", ")}) with ordinality as u(${[...names, '"#row"'].join(", ")})`;
  return `(select ${[...values, ...others].join(", ")} from ${source})`;
}

function keyCondition(key: readonly Slot[]): string {
  return key
    .map(({ name, type }, at) => matchKeyColumn(`"#t".${quoteIdent(name)}`, type, `"#asked"."#key${at}"`))
    .join(" and ");
}

/** Compares a key column in a form that its unique index supports: the index holds hashes of texts. */
function matchKeyColumn(column: string, type: ColumnType, parameter: string): string {
  const indexed = keyExpression(column, type);
  return indexed === column
    ? `${column} = ${parameter}`
    : `${indexed} = ${keyExpression(parameter, type)} and ${column} = ${parameter}`;
}

function isCurrent(tableId: string, version: string): string {
  return `(select v.version from appdb.tables v where v.id = ${tableId}::bigint) = ${version}::bigint`;
}

function textArray(names: readonly string[]): string {
  return `array[${names.map(quoteLiteral).join(", ")}]::text[]`;
}
