import type { Catalog, CatalogColumn, CatalogTable, CatalogView, ViewDefinition } from "../catalog/catalog.ts";
import { viewColumnName } from "../catalog/sql-names.ts";
import { readableMember } from "../catalog/view-members.ts";
import { compileSql } from "../expressions/compile-sql.ts";
import { quoteIdent, quoteLiteral, quoteTable } from "../sql/quote.ts";
import { BASE_ROW } from "./lower-iterators.ts";

/** A table as readers of its rows see it. A filtered view has no rows of its own. */
export interface ReadableTable extends CatalogTable {
  /** Of a filtered view. */
  readonly view?: {
    /** The table or view that it is over. */
    readonly base: string;
    /** Its condition, in Python form; null for all rows. */
    readonly filter: string | null;
    /** The table with its rows. */
    readonly table: CatalogTable;
  };
  /** Of a view of any kind. */
  readonly shown?: {
    /** SQL of a query that has its columns under their own names, with the identity and cell errors of its table. */
    readonly rows: string;
    /** Names of its columns in their tables, where cell errors have them, by its own. */
    readonly stored_as: ReadonlyMap<string, string>;
  };
}

/** The tables and views of a database. A filtered view has the negative id of its own. */
export function readableTables(catalog: Catalog): readonly ReadableTable[] {
  const { tables } = catalog;
  const views = catalog.views.flatMap((view) => {
    const table = tables.find(({ id }) => id === view.table_id);
    return table === undefined ? [] : [viewTable(view, tablesAbove(table, tables))];
  });
  const made = (table: CatalogTable): ReadableTable => (table.rows_of == null ? table : madeTable(table, tables));
  return [...tables.map(made), ...views];
}

/** SQL of a table's or view's rows, for FROM. */
export function rowsSql(table: ReadableTable): string {
  return table.shown === undefined ? quoteTable(table) : `(${table.shown.rows}) as "#view"`;
}

/** The table with a view's rows, and those that these rows are made of, the nearest first. */
type Above = readonly [CatalogTable, ...CatalogTable[]];

function tablesAbove(table: CatalogTable, tables: readonly CatalogTable[]): Above {
  const base = tables.find(({ folder, name }) => folder === table.folder && name === table.rows_of?.table);
  return base === undefined ? [table] : [table, ...tablesAbove(base, tables)];
}

function madeTable(table: CatalogTable, tables: readonly CatalogTable[]): ReadableTable {
  const own = table.columns
    .filter(({ is_hidden: isHidden }) => isHidden !== true)
    .map(({ name }) => ({ name, column: name }));
  const above = tablesAbove(table, tables);
  return { ...table, ...shownRows([...own, ...(table.rows_of?.columns ?? [])], above, "true") };
}

function viewTable(view: CatalogView, above: Above): ReadableTable {
  const [table] = above;
  const { base, columns, filter } = view.definition;
  const member = readableMember(view, table);
  const columnSql = ({ name }: { readonly name: string }): string => ofRow(0, name);
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
    ...shownRows(columns, above, condition),
    indexes: [],
    view: { base, filter, table },
  };
}

interface Placed extends CatalogColumn {
  readonly stored: string;
  readonly up: number;
}

/** The columns of a view, its key first, and SQL of its rows: those of its table, joined to what they are made of. */
function shownRows(
  columns: ViewDefinition["columns"],
  above: Above,
  condition: string,
): Pick<ReadableTable, "columns" | "primary_key" | "identity"> & Required<Pick<ReadableTable, "shown">> {
  const [table] = above;
  const shown = placed(columns, above);
  const key = keyOf(shown, above);
  const identity = shown.find(({ stored, up }) => up === 0 && stored === table.identity)?.name ?? "_row";
  const seen = table.rows_of == null ? shown : keyFirst(shown, key);
  const ups = Math.max(0, ...seen.map(({ up }) => up));
  const values = [
    ...seen.map(({ name, stored, up }) => `${ofRow(up, stored)} as ${quoteIdent(name)}`),
    `${errorsSql(above, ups)} as _errors`,
    ...(identity === "_row" ? [`${ofRow(0, table.identity)} as "_row"`] : []),
  ];
  // A left join that no column needs is left out by PostgreSQL, for example when rows are counted.
  const joins = above.slice(1, ups + 1).map((base, at) => {
    return ` left join ${quoteTable(base)} as ${rowAlias(at + 1)} on ${ofRow(at + 1, base.identity)} = ${ofRow(at, BASE_ROW)}`;
  });
  return {
    primary_key: key,
    identity,
    columns: seen.map((column) => ({ ...column, primary_key: key.includes(column.name) })),
    shown: {
      rows: `select ${values.join(", ")} from ${quoteTable(table)} as ${rowAlias(0)}${joins.join("")} where ${condition}`,
      stored_as: new Map(seen.map(({ name, stored }) => [name, stored])),
    },
  };
}

/** The columns that can be read. Of two with one name, the first one hides the other. */
function placed(columns: ViewDefinition["columns"], above: Above): readonly Placed[] {
  const found = new Map<string, Placed>();
  for (const { name, column, up = 0 } of columns) {
    const stored = above[up]?.columns.find((one) => one.name === column && one.state === "ready");
    if (stored === undefined || found.has(name)) continue;
    found.set(name, { ...stored, name, is_hidden: false, stored: column, up });
  }
  // The number of a row hides that of the row that makes it, which is a part of the key.
  for (const [up, table] of above.entries()) {
    const pos = table.columns.find(({ name }) => name === "pos");
    if (up === 0 || table.rows_of == null || pos === undefined) continue;
    const name = viewColumnName(table.name, pos.name);
    found.set(name, { ...pos, name, is_hidden: false, stored: pos.name, up });
  }
  return [...found.values()];
}

/** The key of the row that makes the others, and their numbers; empty if the view does not show all of it. */
function keyOf(shown: readonly Placed[], above: Above): readonly string[] {
  const parts = above.toReversed().flatMap((table, at) => {
    const up = above.length - 1 - at;
    return (table.rows_of == null ? table.primary_key : ["pos"]).map((name) => ({ name, up }));
  });
  const names = parts.map((part) => shown.find(({ stored, up }) => stored === part.name && up === part.up)?.name);
  const known = names.filter((name) => name !== undefined);
  return known.length === names.length && (above.at(-1)?.primary_key.length ?? 0) > 0 ? known : [];
}

function keyFirst(shown: readonly Placed[], key: readonly string[]): readonly Placed[] {
  const placeOf = ({ name }: Placed): number => (key.includes(name) ? key.indexOf(name) : key.length);
  return shown.toSorted((a, b) => placeOf(a) - placeOf(b));
}

/** The cell errors of a row and of those that it is made of, without those of columns that nearer ones hide. */
function errorsSql(above: Above, ups: number): string {
  if (ups === 0) return `${rowAlias(0)}._errors`;
  const all = above.slice(0, ups + 1).map((_, up) => {
    const nearer = above.slice(0, up).flatMap(({ columns }) => columns.map(({ name }) => quoteLiteral(name)));
    const hidden = nearer.length === 0 ? "" : ` - array[${nearer.join(", ")}]::text[]`;
    return `coalesce(${rowAlias(up)}._errors${hidden}, '{}')`;
  });
  return `nullif(${all.join(" || ")}, '{}')`;
}

function rowAlias(up: number): string {
  return up === 0 ? '"#row"' : `"#row^${up}"`;
}

function ofRow(up: number, name: string): string {
  return `${rowAlias(up)}.${quoteIdent(name)}`;
}
