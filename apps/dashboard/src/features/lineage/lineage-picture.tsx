import type { Database } from "@appdb/contract/routes/control-databases";
import type { DataTable } from "@appdb/contract/routes/data-api";
import { Link } from "@tanstack/react-router";
import { classNames } from "../../ui/class-names.ts";
import { plural } from "../../ui/format.ts";
import { BOX, type Dependency, type PlacedTable, pathOf, placeTables } from "./lineage.ts";

interface LineagePictureProps {
  readonly database: Database;
  readonly tables: readonly DataTable[];
  readonly dependencies: readonly Dependency[];
}

/** Tables and views as boxes with their columns, and lines from columns to those that read them. */
export function LineagePicture({ database, tables, dependencies }: LineagePictureProps) {
  const picture = placeTables(tables);
  const { height, width } = picture;
  const summary = `${plural(tables.length, "table")}, ${plural(dependencies.length, "dependency", "dependencies")}. The list below has the same.`;
  return (
    <section
      aria-label="Picture of the lineage"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard
      tabIndex={0}
      className="relative overflow-auto rounded-lg border border-line bg-surface"
    >
      <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`}>
        <title>{summary}</title>
        <g>
          {dependencies.map((dependency) => {
            const { from, to } = dependency;
            return (
              <path
                key={JSON.stringify([from.table, from.column, to.table, to.column])}
                d={pathOf(dependency, picture)}
                fill="none"
                strokeWidth={1.5}
                className={from.table === to.table ? "stroke-accent" : "stroke-field"}
              />
            );
          })}
        </g>
        {picture.tables.map((placed) => (
          <TableBox key={placed.table.path} database={database} placed={placed} />
        ))}
      </svg>
    </section>
  );
}

interface TableBoxProps {
  readonly database: Database;
  readonly placed: PlacedTable;
}

/** Characters that fit into a box. */
const FITTING = { name: 26, column: 24 } as const;

function TableBox({ database: { name, organization }, placed: { height, table, x, y } }: TableBoxProps) {
  return (
    <g>
      <rect x={x} y={y} width={BOX.width} height={height} rx={8} className="fill-canvas stroke-line" />
      <Link
        to="/orgs/$org/databases/$db/tables/$table"
        params={{ org: organization, db: name, table: table.path }}
        aria-label={`${table.view_of === null ? "Table" : "View"} ${table.path}`}
      >
        <text x={x + 12} y={y + 20} className="fill-accent text-sm font-semibold underline">
          {shortened(table.path, FITTING.name)}
        </text>
      </Link>
      <g>
        {table.columns.map((column, at) => (
          <text
            key={column.name}
            x={x + 12}
            y={y + BOX.head + at * BOX.row + 15}
            className={classNames("font-mono text-xs", column.is_computed ? "fill-ink" : "fill-muted")}
          >
            {column.is_computed ? "ƒ " : ""}
            {shortened(column.name, FITTING.column)}
            <title>{column.value === null ? column.type : `${column.type} = ${column.value}`}</title>
          </text>
        ))}
      </g>
    </g>
  );
}

function shortened(text: string, max: number): string {
  return text.length > max ? `${text.slice(0, max - 1)}…` : text;
}
