import type { CatalogColumn, CatalogTable } from "../catalog/catalog.ts";
import type { SchemaOperation } from "../catalog/operations.ts";
import { ERRORS_INPUT } from "../compute/cell-errors.ts";
import type { SqlStep } from "../compute/plan-compute.ts";
import { fromTransport, storageType, transportType } from "../kinds/storage-type.ts";
import { VALUE } from "../kinds/type-change.ts";
import { quoteIdent, quoteTable } from "../sql/quote.ts";
import type { RowKey } from "../views/row-keys.ts";

/** Builders of the statements that read a sample of a table in its current and its future form. Names with `#` are
 *  reserved. */

/** The current source of a future column's value: SQL over the table's alias `t`. */
export type ColumnSources = ReadonlyMap<string, string>;

/** For stored columns and remaining computed ones; columns that an update adds are null. */
export function sourcesOf(
  before: CatalogTable,
  after: CatalogTable,
  operations: readonly SchemaOperation[],
): ColumnSources {
  const conversions = new Map(
    operations.flatMap((operation) =>
      operation.kind === "alter_column" && operation.using !== null
        ? [[operation.to.name, operation.using] as const]
        : [],
    ),
  );
  return new Map([
    [ERRORS_INPUT, "t._errors"],
    ...after.columns.map((column): [string, string] => {
      const stored = before.columns.find((candidate) => candidate.id === column.id);
      if (stored === undefined) return [column.name, `null::${storageType(column.type)}`];
      const value = `t.${quoteIdent(stored.name)}`;
      return [column.name, conversions.get(column.name)?.replaceAll(VALUE, () => value) ?? value];
    }),
  ]);
}

/** The first rows after $1 (null for the start), at most $2: identity, key, old values, then the inputs. */
export function selectSample(
  before: CatalogTable,
  read: {
    readonly key: RowKey;
    readonly columns: readonly Pick<CatalogColumn, "name">[];
    readonly inputs: readonly string[];
    /** SQL over a row. */
    readonly scope: string;
  },
  sources: ColumnSources,
): string {
  const id = `t.${quoteIdent(before.identity)}`;
  const values = [
    id,
    ...read.key.values,
    ...read.columns.map((column) => `t.${quoteIdent(column.name)}`),
    ...read.inputs.map((name) => sources.get(name) ?? "null"),
  ];
  return `select ${values.join(", ")} from ${quoteTable(before)} as t
    where (${read.scope}) and ($1::uuid is null or ${id} > $1::uuid) order by ${id} limit $2::int`;
}

/** The results of the steps for rows. Parameters: $1 identities, then an array per given column. Identity first,
 *  then a value per step. */
export function computeSample(
  before: CatalogTable,
  inputs: readonly Pick<CatalogColumn, "name" | "type">[],
  steps: readonly SqlStep[],
  reads: readonly string[],
  sources: ColumnSources,
): string {
  const arrays = inputs.map((column, at) => `, $${at + 2}::${transportType(column.type)}[]`);
  const values = inputs.map(
    (column, at) => `, ${fromTransport(`u."#${at}"`, column.type)} as ${quoteIdent(column.name)}`,
  );
  const stored = reads.map((name) => `, ${sources.get(name) ?? "null"} as ${quoteIdent(name)}`);
  const laterals = steps.map(
    (step, at) => `, lateral (select ${step.expression} as ${quoteIdent(step.column)}) as "#step${at}"`,
  );
  const columns = steps.map((step) => `, ${quoteIdent(step.column)}`);
  return `select "#row"."#id"${columns.join("")} from (
      select u."#id"${stored.join("")}${values.join("")}
      from unnest($1::uuid[]${arrays.join("")}) as u("#id"${inputs.map((_, at) => `, "#${at}"`).join("")})
      join ${quoteTable(before)} as t on t.${quoteIdent(before.identity)} = u."#id"
    ) as "#row"${laterals.join("")}`;
}
