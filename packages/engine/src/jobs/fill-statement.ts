import type { ColumnType } from "@appdb/contract/types";
import type { CatalogTable } from "../catalog/catalog.ts";
import type { SqlStep } from "../compute/plan-compute.ts";
import { kindOf } from "../kinds/kinds.ts";
import { fromTransport, transportType } from "../kinds/storage-type.ts";
import { quoteIdent, quoteLiteral, quoteTable } from "../sql/quote.ts";

/**
 * Builders of the statements that compute columns of rows that are there already. Names with `#` are ours: no column can
 * be called so. A row is written only if it is the version that was read (`xmin`): one that was changed meanwhile has to be
 * read again.
 */

/** Rows with such a cell in one of these columns: one that an older service left `pending`, or any without a value. */
export interface RowScope {
  readonly kind: "pending" | "errors";
  readonly columns: readonly string[];
}

/** A batch holds no more of its inputs than this, one long row excepted. */
const BATCH_BYTES = 16_000_000;

export interface SelectShape {
  readonly table: CatalogTable;
  readonly inputs: readonly { readonly name: string; readonly type: ColumnType }[];
  readonly scope: RowScope | null;
  /** Also the cell errors, last. */
  readonly has_errors: boolean;
}

/**
 * Rows behind the cursor ($1, null for the first), in identity order, at most $2; of them those in $3 alone, unless null.
 * All of them come as one row of columns: the identities and the xmin as PostgreSQL's text of arrays, which a later
 * statement takes as they are, then each input, and the cell errors if they are asked for, as a JSON list. The driver takes
 * much longer over thousands of small rows.
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
    where ($1::uuid is null or ${id} > $1::uuid) and ($3::uuid[] is null or ${id} = any($3::uuid[]))${condition(scope)} order by ${id} limit $2::int`;
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

/** An input as an element of a JSON list: itself where JSON has its like to the last digit, else PostgreSQL's text of it. */
function listed(type: ColumnType, column: string): string {
  return isListedAsItIs(type) ? column : `${column}::text`;
}

/** Whether the elements of a list of such values are the values themselves. */
export function isListedAsItIs(type: ColumnType): boolean {
  return kindOf(type).isJsonValue;
}

/** Settings of a transaction that runs `updateRows` or puts rows back: thousands of rows are found by their key. PostgreSQL knows
 *  how many come in an array, and for so many would go through the whole table, again for each batch. */
export const BY_KEY = "set local enable_hashjoin = off; set local enable_mergejoin = off";

/** Those among rows ($1 identities, $2 xmin) that are not any more what they were. */
export function changedRows(table: CatalogTable): string {
  return `select u.id from unnest($1::uuid[], $2::xid[]) as u(id, xmin)
    where not exists (select from ${quoteTable(table)} as t where t.${quoteIdent(table.identity)} = u.id and t.xmin = u.xmin)`;
}

/** Counts what a job has before it. */
export function countRows(table: CatalogTable, scope: RowScope | null): string {
  return `select count(*) from ${quoteTable(table)} where true${condition(scope)}`;
}

function condition(scope: RowScope | null): string {
  if (scope === null) return "";
  if (scope.kind === "errors") return ` and _errors ?| array[${scope.columns.map(quoteLiteral).join(", ")}]::text[]`;
  const any = scope.columns.map((name) => `_errors @> ${quoteLiteral(JSON.stringify({ [name]: "pending" }))}::jsonb`);
  return ` and (${any.join(" or ")})`;
}

export interface FillShape {
  readonly table: CatalogTable;
  /** All columns that are written; their entries in the cell errors go. */
  readonly columns: readonly string[];
  /** Values that come as arrays, parameters $3 and up (a text form of the array). */
  readonly given: readonly { readonly name: string; readonly type: ColumnType }[];
  readonly steps: readonly SqlStep[];
  /** Stored columns that the steps read. */
  readonly reads: readonly string[];
  /** Where former values of which columns are kept, as a quoted table; null keeps none. */
  readonly undo: UndoShape | null;
}

/** Columns stand there under their ids: a name may change while a job runs. */
export interface UndoShape {
  /** Quoted. */
  readonly table: string;
  readonly columns: readonly { readonly id: number; readonly name: string }[];
}

/**
 * Writes rows by id: $1 their identities, $2 their xmin (one alone for all), then an array per given column, at last the cell errors that
 * rows get (jsonb, null for none; null instead of the array when no row has one). It gives no rows: their count tells
 * whether all were written. Steps see stored columns, given ones and earlier steps under their own names.
 */
export function updateRows(shape: FillShape): string {
  const { table, columns, steps, undo } = shape;
  const id = quoteIdent(table.identity);
  const list = `array[${columns.map(quoteLiteral).join(", ")}]::text[]`;
  const update = `update ${quoteTable(table)} as "#target" set
    ${columns.map((name) => `${quoteIdent(name)} = "#new".${quoteIdent(name)}`).join(",\n    ")},
    _errors = case when "#target"._errors is null and "#new"."#errors" is null then null
      else nullif((coalesce("#target"._errors, '{}') - ${list}) || coalesce("#new"."#errors", '{}'), '{}') end
  from ${steps.length === 0 ? givenRows(shape) : steppedRows(shape)} as "#new"
  where "#target".${id} = "#new"."#id" and "#target".xmin = coalesce("#new"."#xmin", ($2::xid[])[1])`;
  if (undo === null) return update;
  const old = undo.columns.map(({ id: of, name }) => `, old.${quoteIdent(name)} as "#${of}"`).join("");
  const kept = undo.columns.map(({ id: of }) => `, "#${of}"`).join("");
  return `with "#written" as (
  ${update}
  returning old.${id} as "#id", old._errors as "#errors"${old}
)
insert into ${undo.table} ("#id", "#xid", "#errors"${kept})
select "#id", pg_current_xact_id()::xid, "#errors"${kept} from "#written"`;
}

/** The parameters as rows: `#id`, `#xmin`, the given columns, `#errors`. */
function givenRows({ given }: FillShape): string {
  const arrays = given.map((column, at) => `$${at + 3}::${transportType(column.type)}[]`);
  const names = given.map((column) => quoteIdent(column.name));
  const values = given.map((column, at) => `${fromTransport(`u.${names[at]}`, column.type)} as ${names[at]}`);
  return `(
    select ${['"#id"', '"#xmin"', '"#errors"', ...values].join(", ")}
    from unnest($1::uuid[], $2::xid[], ${[...arrays, `$${given.length + 3}::jsonb[]`].join(", ")})
      as u(${['"#id"', '"#xmin"', ...names, '"#errors"'].join(", ")})
  )`;
}

/** The same with what the steps make of them and of the stored columns that they read. */
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
      from ${givenRows(shape)} as "#given"
      join ${quoteTable(table)} as t on t.${quoteIdent(table.identity)} = "#given"."#id"
    ) as "#row"${laterals.join("")}
  )`;
}
