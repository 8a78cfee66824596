import type { ColumnType } from "@appdb/contract/types";
import type { CatalogTable } from "../../catalog/catalog.ts";
import type { SqlStep } from "../../compute/plan-compute.ts";
import { kindOf } from "../../kinds/kinds.ts";
import { fromTransport, transportType } from "../../kinds/storage-type.ts";
import { quoteIdent, quoteLiteral, quoteTable } from "../../sql/quote.ts";
import type { KeptValue } from "./kept-values.ts";

/**
 * Builders of the statements that compute columns of existing rows. Names with `#` are reserved: no column can have
 * one. A row is written only if it still has the version that was read (`xmin`). A changed one must be read again.
 */

/** Rows with such a cell in one of these columns: one left `pending` by an older service, or any without a value. Or
 *  rows that enter or leave a view. */
export type RowScope =
  | { readonly kind: "pending" | "errors"; readonly columns: readonly string[] }
  | { readonly kind: "moved"; readonly condition: string };

/** Maximum bytes of inputs per batch, except for a single long row. */
const BATCH_BYTES = 4_000_000;

export interface SelectShape {
  readonly table: CatalogTable;
  readonly inputs: readonly { readonly name: string; readonly type: ColumnType }[];
  readonly scope: RowScope | null;
  /** Includes the cell errors, last. */
  readonly has_errors: boolean;
}

/**
 * Selects rows after the cursor ($1, null for the first) in identity order, at most $2, and only those in $3 unless
 * null. The result is one row of columns: identities and xmins as PostgreSQL array texts, which a later statement takes
 * unchanged. Then come each input, and the cell errors if requested, as JSON lists. Thousands of small rows would be
 * much slower in the driver.
 */
export function selectRows({ table, inputs, scope, has_errors: hasErrors }: SelectShape): string {
  const id = quoteIdent(table.identity);
  const names = inputs.map((input) => quoteIdent(input.name));
  const sizes = inputs.flatMap(({ name, type }) => kindOf(type).size?.(quoteIdent(name)) ?? []);
  const columns = [
    `${id} as "#id"`,
    'xmin as "#xmin"',
    ...names.map((name, at) => `${name} as "#${at}"`),
    ...(hasErrors ? ['_errors as "#errors"'] : []),
    ...(sizes.length === 0 ? [] : [`${sizes.join(" + ")} as "#size"`]),
  ];
  const rows = `select ${columns.join(", ")} from ${quoteTable(table)}
    where ($1::uuid is null or ${id} > $1::uuid) and ($3::uuid[] is null or ${id} = any($3::uuid[])) and ${inScope(scope)} order by ${id} limit $2::int`;
  const lists = [
    'array_agg("#id" order by "#id")::text',
    'array_agg("#xmin" order by "#id")::text',
    ...inputs.map((input, at) => `json_agg(${listed(input.type, `"#${at}"`)} order by "#id")`),
    ...(hasErrors ? ['json_agg("#errors"::text order by "#id")'] : []),
  ];
  if (sizes.length === 0) return `select ${lists.join(", ")} from (${rows}) as "#rows"`;
  return `select ${lists.join(", ")} from (
    select *, sum("#size") over (order by "#id" rows unbounded preceding) - "#size" as "#before" from (${rows}) as "#rows"
  ) as "#sized" where "#before" < ${BATCH_BYTES}`;
}

/** An input as an element of a JSON list: the value itself if JSON can represent it exactly, else PostgreSQL's text. */
function listed(type: ColumnType, column: string): string {
  return isListedUnchanged(type) ? column : `${column}::text`;
}

/** Whether a list of such values has the values themselves as elements. */
export function isListedUnchanged(type: ColumnType): boolean {
  return kindOf(type).isJsonValue;
}

/** Settings of a transaction that finds thousands of rows by key: `updateRows` or an undo. PostgreSQL knows the
 *  array's length, and would otherwise scan the whole table for each batch. */
export const BY_KEY = "set local enable_hashjoin = off; set local enable_mergejoin = off";

/** The given rows ($1 identities, $2 xmin) that have changed. */
export function changedRows(table: CatalogTable): string {
  return `select u.id from unnest($1::uuid[], $2::xid[]) as u(id, xmin)
    where not exists (select from ${quoteTable(table)} as t where t.${quoteIdent(table.identity)} = u.id and t.xmin = u.xmin)`;
}

/** Counts the rows of a job. */
export function countRows(table: CatalogTable, scope: RowScope | null): string {
  return `select count(*) from ${quoteTable(table)} where ${inScope(scope)}`;
}

/** SQL over the row's own columns: whether it is one of the job's. */
export function inScope(scope: RowScope | null): string {
  if (scope === null) return "true";
  if (scope.kind === "moved") return scope.condition;
  if (scope.kind === "errors") return `_errors ?| array[${scope.columns.map(quoteLiteral).join(", ")}]::text[]`;
  return `(${scope.columns.map(isPending).join(" or ")})`;
}

/** SQL over a row: whether an older service left the cell to a job. Null without any error. */
export function isPending(column: string): string {
  return `_errors @> ${quoteLiteral(JSON.stringify({ [column]: "pending" }))}::jsonb`;
}

export interface FillShape {
  readonly table: CatalogTable;
  /** All written columns; their entries in the cell errors are removed. */
  readonly columns: readonly string[];
  /** Values given as arrays, parameters $3 and up (a text form of the array). */
  readonly inputs: readonly { readonly name: string; readonly type: ColumnType }[];
  readonly steps: readonly SqlStep[];
  /** Stored columns that the steps read. */
  readonly reads: readonly string[];
  readonly kept: readonly KeptValue[];
  /** The quoted undo table and its columns; null keeps no previous values. */
  readonly undo: UndoShape | null;
}

/** Columns are stored there under their ids, because a name may change while a job runs. */
export interface UndoShape {
  /** Quoted. */
  readonly table: string;
  readonly columns: readonly { readonly id: number; readonly name: string }[];
}

/**
 * Writes rows by id. Parameters: $1 identities, $2 xmin (one value if all are equal), then an array per given column.
 * The last one has the cell errors of the rows (jsonb, null for none; null instead of the array if no row has one). It
 * returns no rows; the row count shows whether all were written. Steps see stored columns, given ones and earlier steps
 * under their own names.
 */
export function updateRows(shape: FillShape): string {
  const { table, columns, steps, undo } = shape;
  const id = quoteIdent(table.identity);
  const list = `array[${columns.map(quoteLiteral).join(", ")}]::text[]`;
  const values = columns.map((name) => {
    const [value, keep] = [`"#new".${quoteIdent(name)}`, shape.kept.find((one) => one.name === name)];
    if (keep === undefined) return `${quoteIdent(name)} = ${value}`;
    return `${quoteIdent(name)} = case when ${keep.condition} then "#target".${quoteIdent(keep.from)} else ${value} end`;
  });
  const update = `update ${quoteTable(table)} as "#target" set
    ${values.join(",\n    ")},
    _errors = case when "#target"._errors is null and "#new"."#errors" is null then null
      else nullif((coalesce("#target"._errors, '{}') - ${list}) || coalesce("#new"."#errors", '{}'), '{}') end
  from ${steps.length === 0 ? inputRows(shape) : steppedRows(shape)} as "#new"
  where "#target".${id} = "#new"."#id" and "#target".xmin = coalesce("#new"."#xmin", ($2::xid[])[1])`;
  if (undo === null) return update;
  const old = undo.columns.map(({ id: of, name }) => `, old.${quoteIdent(name)} as "#${of}"`).join("");
  const assignments = undo.columns.map(({ id: of }) => `, "#${of}"`).join("");
  return `with "#written" as (
  ${update}
  returning old.${id} as "#id", old._errors as "#errors"${old}
)
insert into ${undo.table} ("#id", "#xid", "#errors"${assignments})
select "#id", pg_current_xact_id()::xid, "#errors"${assignments} from "#written"`;
}

/** The parameters as rows: `#id`, `#xmin`, the given columns, `#errors`. */
function inputRows({ inputs }: FillShape): string {
  const arrays = inputs.map((column, at) => `$${at + 3}::${transportType(column.type)}[]`);
  const names = inputs.map((column) => quoteIdent(column.name));
  const values = inputs.map((column, at) => `${fromTransport(`u.${names[at]}`, column.type)} as ${names[at]}`);
  return `(
    select ${['"#id"', '"#xmin"', '"#errors"', ...values].join(", ")}
    from unnest($1::uuid[], $2::xid[], ${[...arrays, `$${inputs.length + 3}::jsonb[]`].join(", ")})
      as u(${['"#id"', '"#xmin"', ...names, '"#errors"'].join(", ")})
  )`;
}

/** The same with the results of the steps and the stored columns that they read. */
function steppedRows(shape: FillShape): string {
  const { table, columns, steps, reads } = shape;
  const stored = reads.map((name) => `, t.${quoteIdent(name)}`);
  const laterals = steps.map(
    (step, at) => `, lateral (select ${step.expression} as ${quoteIdent(step.column)}) as "#step${at}"`,
  );
  return `(
    select "#row"."#id", "#row"."#xmin", "#row"."#errors"${columns.map((name) => `, ${quoteIdent(name)}`).join("")}
    from (
      select "#given".*${stored.join("")}
      from ${inputRows(shape)} as "#given"
      join ${quoteTable(table)} as t on t.${quoteIdent(table.identity)} = "#given"."#id"
    ) as "#row"${laterals.join("")}
  )`;
}
