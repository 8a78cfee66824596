import type { Catalog, CatalogColumn, CatalogTable, CatalogView } from "../catalog/catalog.ts";
import { compileSql } from "../expressions/compile-sql.ts";
import { quoteIdent, quoteTable } from "../sql/quote.ts";

/** A table as readers of its rows see it. A view has no rows of its own. */
export interface ReadableTable extends CatalogTable {
  readonly view?: {
    /** The table or view that it is over. */
    readonly base: string;
    /** Its condition, in Python form; null for all rows. */
    readonly filter: string | null;
    /** The table with its rows. */
    readonly table: CatalogTable;
    /** SQL of a query that has its columns under their own names, with the identity and cell errors of its table. */
    readonly rows: string;
    /** Names of its columns in the table, where cell errors have them, by its own. */
    readonly stored_as: ReadonlyMap<string, string>;
  };
}

/** The tables and views of a database. A view has the negative id of its own. */
export function readableTables(catalog: Catalog): readonly ReadableTable[] {
  const views = catalog.views.flatMap((view) => {
    const table = catalog.tables.find(({ id }) => id === view.table_id);
    return table === undefined ? [] : [viewTable(view, table)];
  });
  return [...catalog.tables, ...views];
}

/** SQL of a table's or view's rows, for FROM. */
export function rowsSql(table: ReadableTable): string {
  return table.view === undefined ? quoteTable(table) : `(${table.view.rows}) as "#view"`;
}

function viewTable(view: CatalogView, table: CatalogTable): ReadableTable {
  const { base, columns, filter, member } = view.definition;
  const shown = columns.flatMap(({ name, column, up }): (CatalogColumn & { readonly stored: string })[] => {
    const stored = table.columns.find((candidate) => candidate.name === column && candidate.state === "ready");
    return stored === undefined || up !== undefined ? [] : [{ ...stored, name, is_hidden: false, stored: column }];
  });
  const identity = shown.find(({ stored }) => stored === table.identity)?.name ?? "_row";
  const values = [
    ...shown.map(({ name, stored }) => `"#row".${quoteIdent(stored)} as ${quoteIdent(name)}`),
    `"#row"._errors`,
    ...(identity === "_row" ? [`"#row".${quoteIdent(table.identity)} as "_row"`] : []),
  ];
  const columnSql = ({ name }: { readonly name: string }): string => `"#row".${quoteIdent(name)}`;
  const condition = member === null ? "true" : compileSql(member, { columnSql });
  if (condition === undefined) throw new TypeError(`The condition of the view ${view.name} has no SQL.`);
  return {
    ...table,
    id: -view.id,
    name: view.name,
    model: view.model,
    comment: view.comment,
    custom_metadata: view.custom_metadata,
    project: view.project,
    primary_key: table.primary_key.filter((key) => shown.some(({ name }) => name === key)),
    identity,
    columns: shown,
    indexes: [],
    view: {
      base,
      filter,
      table,
      rows: `select ${values.join(", ")} from ${quoteTable(table)} as "#row" where ${condition}`,
      stored_as: new Map(shown.map(({ name, stored }) => [name, stored])),
    },
  };
}
