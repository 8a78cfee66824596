import type { DataColumn, DataTable } from "@appdb/contract/routes/data-api";

/** A column of a table or view, by its path. */
export interface ColumnName {
  readonly table: string;
  readonly column: string;
}

/** `to` is computed from `from`, or shows it. */
export interface Dependency {
  readonly from: ColumnName;
  readonly to: ColumnName;
}

/** Names in an expression: not in texts, not of members, not of functions. */
const NAMES = /'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|(\.\s*)?\b([\p{L}_][\p{L}\p{N}_]*)\b(\s*\()?/gu;

/** The columns that columns depend on: of their own table, and of the table that a view is over. */
export function findDependencies(tables: readonly DataTable[]): readonly Dependency[] {
  const byPath = new Map(tables.map((table) => [table.path, table]));
  return tables.flatMap((table) => {
    const base = table.view_of === null ? undefined : byPath.get(table.view_of);
    return table.columns.flatMap((column) =>
      sourcesOf(column, table, base).map((from) => ({ from, to: { table: table.path, column: column.name } })),
    );
  });
}

function sourcesOf(column: DataColumn, table: DataTable, base: DataTable | undefined): readonly ColumnName[] {
  const same = base?.columns.find(({ name }) => name === column.name);
  // a view shows the columns of its base
  if (base !== undefined && same !== undefined && same.value === column.value) {
    return [{ table: base.path, column: same.name }];
  }
  const names = namesIn(column.value ?? "").filter((name) => name !== column.name || base !== undefined);
  return names.flatMap((name): ColumnName[] => {
    const isOwn = name !== column.name && table.columns.some((one) => one.name === name);
    if (isOwn) return [{ table: table.path, column: name }];
    return base?.columns.some((one) => one.name === name) ? [{ table: base.path, column: name }] : [];
  });
}

/** Names of an expression in Python form, each once. */
export function namesIn(expression: string): readonly string[] {
  const found = new Set<string>();
  for (const [, isMember, name, isCalled] of expression.matchAll(NAMES)) {
    if (name !== undefined && isMember === undefined && isCalled === undefined) found.add(name);
  }
  return [...found];
}

export interface PlacedTable {
  readonly table: DataTable;
  readonly x: number;
  readonly y: number;
  readonly height: number;
}

export interface Picture {
  readonly tables: readonly PlacedTable[];
  readonly width: number;
  readonly height: number;
  /** The middle of a column's line at the left side of its table. */
  placeOf(name: ColumnName): { readonly x: number; readonly y: number } | undefined;
}

export const BOX = { width: 220, head: 30, row: 22, gap_x: 120, gap_y: 24, margin: 40 } as const;

/** Places tables at the left, and views to the right of what they are over. */
export function placeTables(tables: readonly DataTable[]): Picture {
  const byPath = new Map(tables.map((table) => [table.path, table]));
  const depthOf = (table: DataTable, seen: readonly string[] = []): number => {
    const base = table.view_of === null ? undefined : byPath.get(table.view_of);
    return base === undefined || seen.includes(table.path) ? 0 : 1 + depthOf(base, [...seen, table.path]);
  };
  const ends: number[] = [];
  const placed = new Map<string, PlacedTable>();
  for (const table of inOrder(tables)) {
    const depth = depthOf(table);
    const base = table.view_of === null ? undefined : placed.get(table.view_of);
    const y = Math.max(ends[depth] ?? BOX.margin, base?.y ?? BOX.margin);
    const height = BOX.head + table.columns.length * BOX.row + 6;
    placed.set(table.path, { table, x: BOX.margin + depth * (BOX.width + BOX.gap_x), y, height });
    ends[depth] = y + height + BOX.gap_y;
  }
  const all = [...placed.values()];
  return {
    tables: all,
    width: Math.max(0, ...all.map(({ x }) => x + BOX.width)) + BOX.margin,
    height: Math.max(0, ...all.map(({ height, y }) => y + height)) + BOX.margin,
    placeOf: ({ column, table }) => {
      const box = placed.get(table);
      const at = box?.table.columns.findIndex(({ name }) => name === column) ?? -1;
      return box === undefined || at < 0 ? undefined : { x: box.x, y: box.y + BOX.head + (at + 0.5) * BOX.row };
    },
  };
}

/** Each table is followed by the views over it. */
function inOrder(tables: readonly DataTable[]): readonly DataTable[] {
  const paths = new Set(tables.map(({ path }) => path));
  const roots = tables.filter(({ view_of: base }) => base === null || !paths.has(base));
  const below = (table: DataTable): readonly DataTable[] => [
    table,
    ...tables.filter(({ view_of: base }) => base === table.path).flatMap(below),
  ];
  return roots.flatMap(below);
}

/** The line of a dependency: within a table at its left side, and between tables from right to left sides. */
export function pathOf({ from, to }: Dependency, { placeOf }: Picture): string {
  const [start, end] = [placeOf(from), placeOf(to)];
  if (start === undefined || end === undefined) return "";
  if (from.table === to.table) {
    const bend = start.x - 14 - Math.min(22, Math.abs(end.y - start.y) / 8);
    return `M${start.x} ${start.y}C${bend} ${start.y} ${bend} ${end.y} ${end.x} ${end.y}`;
  }
  const right = start.x + BOX.width;
  const middle = (right + end.x) / 2;
  return `M${right} ${start.y}C${middle} ${start.y} ${middle} ${end.y} ${end.x} ${end.y}`;
}
