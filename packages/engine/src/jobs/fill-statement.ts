import type { ColumnType } from "@appdb/contract/types";
import type { SqlStep } from "../compute/plan-compute.ts";
import type { CatalogTable } from "../schema/catalog.ts";
import { quoteIdent, quoteLiteral, quoteTable } from "../sql/quote.ts";
import { fromTransport, transportType } from "../sql/storage-type.ts";

/**
 * Builders of the statements that compute columns of rows that are there already. Names with `#` are ours: no column can
 * be called so. A row is written only if it is the version that was read (`xmin`): one that was changed meanwhile has to be
 * read again.
 */

/** Rows behind the cursor ($1, null for the first), in identity order, at most $2; of them those in $3 alone, unless null. */
export function selectRows(
  table: CatalogTable,
  inputs: readonly string[],
  pendingOnly: readonly string[] | null,
): string {
  const id = quoteIdent(table.identity);
  const columns = [`${id}`, "xmin", ...inputs.map(quoteIdent)];
  return `select ${columns.join(", ")} from ${quoteTable(table)}
    where ($1::uuid is null or ${id} > $1::uuid) and ($3::uuid[] is null or ${id} = any($3::uuid[]))${pendingCondition(pendingOnly)} order by ${id} limit $2::int`;
}

/** Counts what a job has before it. */
export function countRows(table: CatalogTable, pendingOnly: readonly string[] | null): string {
  return `select count(*) from ${quoteTable(table)} where true${pendingCondition(pendingOnly)}`;
}

function pendingCondition(columns: readonly string[] | null): string {
  if (columns === null) return "";
  const any = columns.map((name) => `_errors @> ${quoteLiteral(JSON.stringify({ [name]: "pending" }))}::jsonb`);
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
}

/**
 * Writes rows by id: $1 their identities, $2 their xmin, then an array per given column, at last the cell errors that
 * rows get (jsonb, null for none). It gives the identities of the rows that it wrote. Steps see stored columns, given ones and earlier steps under their own names.
 */
export function updateRows({ table, columns, given, steps, reads }: FillShape): string {
  const arrays = given.map((column, at) => `$${at + 3}::${transportType(column.type)}[]`);
  const names = given.map((column) => quoteIdent(column.name));
  const values = given.map((column, at) => `${fromTransport(`u.${names[at]}`, column.type)} as ${names[at]}`);
  const stored = reads.map((name) => `t.${quoteIdent(name)}`);
  const id = quoteIdent(table.identity);
  const row = ['u."#id"', 'u."#xmin"', 'u."#errors"', ...stored, ...values];
  const laterals = steps.map(
    (step, at) => `, lateral (select ${step.expression} as ${quoteIdent(step.column)}) as "#step${at}"`,
  );
  const list = `array[${columns.map(quoteLiteral).join(", ")}]::text[]`;
  return `update ${quoteTable(table)} as "#target" set
    ${columns.map((name) => `${quoteIdent(name)} = "#new".${quoteIdent(name)}`).join(",\n    ")},
    _errors = nullif((coalesce("#target"._errors, '{}') - ${list}) || coalesce("#new"."#errors", '{}'), '{}')
  from (
    select "#row"."#id", "#row"."#xmin", "#row"."#errors"${columns.map((name) => `, ${quoteIdent(name)}`).join("")}
    from (
      select ${row.join(", ")}
      from unnest($1::uuid[], $2::xid[], ${[...arrays, `$${given.length + 3}::jsonb[]`].join(", ")})
        as u(${['"#id"', '"#xmin"', ...names, '"#errors"'].join(", ")})
      join ${quoteTable(table)} as t on t.${id} = u."#id"
    ) as "#row"${laterals.join("")}
  ) as "#new"
  where "#target".${id} = "#new"."#id" and "#target".xmin = "#new"."#xmin"
  returning "#target".${id}`;
}
