import { appError } from "@appdb/contract/errors";
import type { ManifestRowRoute, ManifestSqlExport, ManifestUpdateRoute } from "@appdb/contract/manifest";
import type { ColumnType } from "@appdb/contract/types";
import type { Slot } from "../compute/row-layout.ts";
import type { ForeignColumn } from "../kinds/kind.ts";
import { kindOf } from "../kinds/kinds.ts";
import type { SqlConnection } from "../ports.ts";

/** A table of the other database, as its catalog describes it. */
export interface ExportTarget {
  /** The table's name in SQL. */
  readonly place: string;
  readonly columns: ReadonlyMap<string, TargetColumn>;
  /** Columns of its primary key. */
  readonly key: readonly string[];
}

interface TargetColumn extends ForeignColumn {
  /** The column is required and has no default. */
  readonly is_required: boolean;
}

const DESCRIBE = `select c.oid::regclass::text, a.attname, format_type(a.atttypid, a.atttypmod), t.typcategory,
    a.attnotnull and not a.atthasdef and a.attidentity = '' and a.attgenerated = '',
    coalesce(a.attnum = any (i.indkey), false)
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
    join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    join pg_type t on t.oid = a.atttypid left join pg_index i on i.indrelid = c.oid and i.indisprimary
  where c.relname = $1 and c.relkind in ('r', 'p', 'v', 'f')
    and case when $2::text is null then pg_table_is_visible(c.oid) else n.nspname = $2::text end
  order by a.attnum`;

/** Reads the description of an export's table in the other database; undefined when the table does not exist. */
export async function describeTarget(sql: SqlConnection, target: ManifestSqlExport): Promise<ExportTarget | undefined> {
  const { rows } = await sql.query({ text: DESCRIBE, values: [target.table, target.db_schema] });
  const position = rows[0]?.[0];
  if (position == null) return undefined;
  return {
    place: position,
    columns: new Map(
      rows.map(([, name, type, category, isRequired]) => [
        name ?? "",
        { type: type ?? "", category: category ?? "", is_required: isRequired === "t" },
      ]),
    ),
    key: rows.flatMap((row) => (row[5] === "t" ? [row[1] ?? ""] : [])),
  };
}

/** @throws export_refused when the route's outputs can never be written to the table */
export function checkTarget(
  route: ManifestRowRoute | ManifestUpdateRoute,
  { table, method }: ManifestSqlExport,
  target: ExportTarget | undefined,
  outputs: readonly Slot[],
): void {
  const refuse = (detail: string, hint: string): void => {
    const { file, line } = route.source;
    throw appError("export_refused", {
      detail: `${file}:${line}: the export of ${route.path}: ${detail}`,
      hint,
      meta: { path: route.path, table },
    });
  };
  if (target === undefined) {
    refuse(`the other database has no table ${table}.`, "Name an existing table.");
    return;
  }
  const names = outputs.map(({ name }) => name);
  for (const { name, type } of outputs) {
    const column = target.columns.get(name);
    if (column === undefined)
      refuse(`${table} has no column ${name}.`, `Remove ${name} from outputs, or add the column.`);
    else if (!acceptsType(column, type)) {
      refuse(`${table}.${name} is ${column.type}, which cannot store ${type.kind}.`, "Change one of the two types.");
    }
  }
  if (method !== "insert") {
    const missing = target.key.filter((name) => !names.includes(name));
    if (target.key.length === 0)
      refuse(`${table} has no primary key, which ${method} needs to find a row.`, "Add a primary key.");
    if (missing.length > 0)
      refuse(
        `the primary key of ${table} contains ${missing.join(", ")}, which the outputs lack.`,
        `Add ${missing.join(", ")} to outputs.`,
      );
    if (method === "update" && names.length === target.key.length) {
      refuse("the outputs contain only the key, so nothing would be updated.", "Add other columns to outputs.");
    }
  }
  if (method === "update") return;
  for (const [name, column] of target.columns) {
    if (column.is_required && !names.includes(name)) {
      refuse(
        `${table}.${name} is required, but not an output.`,
        `Add ${name} to outputs, or give the column a default.`,
      );
    }
  }
}

/** Whether a column can hold values of this type in general. Each value is checked when it is written. */
function acceptsType(column: TargetColumn, type: ColumnType): boolean {
  return column.category === "S" || kindOf(type).fits(column);
}
