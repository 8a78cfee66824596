import { appError } from "@appdb/contract/errors";
import type { Catalog } from "../catalog/catalog.ts";
import { compileSql } from "../expressions/compile-sql.ts";
import { quoteIdent, quoteTable } from "../sql/quote.ts";
import { BASE_ROW } from "../views/lower-iterators.ts";
import { type ReadSource, readSources } from "./read-sources.ts";

/**
 * The WITH clause that gives a statement of a person its tables and views, with the columns that readers see. All have
 * their path within the database as a name (`"reports/docs"`), those of `folder` also their own name. The clause has
 * only tables whose names the statement contains.
 * @throws table_not_found for a folder without tables
 */
export function nameTables(catalog: Catalog, folder: string, sql: string): string {
  const sources = readSources(catalog);
  const names = new Map<string, ReadSource>(sources);
  const inFolder = [...sources].filter(([path]) => folder !== "" && path.startsWith(`${folder}/`));
  if (folder !== "" && inFolder.length === 0) {
    throw appError("table_not_found", {
      detail: `The folder ${folder.slice(0, 200)} has no tables.`,
      hint: "See the tables of the database: cli ls",
      meta: { folder: folder.slice(0, 200) },
    });
  }
  // a folder's table hides the one of the database
  for (const [path, source] of inFolder) names.set(path.slice(folder.length + 1), source);
  const text = sql.toLowerCase();
  const used = [...names].filter(([name]) => text.includes(name.toLowerCase()));
  if (used.length === 0) return "";
  const parts = used.map(
    ([name, source]) => `${quoteIdent(name)} as not materialized (${visibleRows(source, sources)})`,
  );
  return `with ${parts.join(", ")} `;
}

function visibleRows({ columns, table, view }: ReadSource, sources: ReadonlyMap<string, ReadSource>): string {
  const upOf = new Map(view?.definition.columns.map(({ name, up = 0 }) => [name, up]));
  const values = [...columns].map(([name, { column }]) => {
    return `${quoteIdent(alias(upOf.get(name) ?? 0))}.${quoteIdent(column.name)} as ${quoteIdent(name)}`;
  });
  const ups = Math.max(0, ...upOf.values());
  const joins = (view?.bases ?? []).slice(0, ups).map(({ identity, table: path }, at) => {
    const base = sources.get(path);
    if (base === undefined) throw new TypeError(`The rows of ${path} are missing in the catalog.`);
    const row = `${quoteIdent(alias(at + 1))}.${quoteIdent(identity)}`;
    return ` join ${quoteTable(base.table)} as ${quoteIdent(alias(at + 1))} on ${row} = ${quoteIdent(alias(at))}.${BASE_ROW}`;
  });
  const member = view?.definition.member ?? null;
  const columnSql = ({ name }: { readonly name: string }) => `${quoteIdent(alias(0))}.${quoteIdent(name)}`;
  const condition = member === null ? "true" : compileSql(member, { columnSql });
  if (condition === undefined) throw new TypeError(`The condition of a view over ${table.name} has no SQL.`);
  return `select ${values.join(", ")} from ${quoteTable(table)} as ${quoteIdent(alias(0))}${joins.join("")} where ${condition}`;
}

/** The alias of a table that the rows of another are made of. */
function alias(up: number): string {
  return `#${up}`;
}
