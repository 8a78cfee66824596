import type { Expr } from "@appdb/contract/expressions";
import type { PlanOp } from "@appdb/contract/plan";
import type { Catalog, CatalogTable, CatalogView } from "../catalog/catalog.ts";
import { guardOf } from "../catalog/guards.ts";
import type { SchemaOperation } from "../catalog/operations.ts";
import { conditionColumn, viewColumnName } from "../catalog/sql-names.ts";
import { madeRowsIn } from "../expressions/made-rows.ts";
import { referencedColumns } from "../expressions/needs-python.ts";
import type { LoweredManifest } from "../views/lower-views.ts";
import { describeOperation } from "./describe-operation.ts";
import type { PlanFacts } from "./facts.ts";
import { reasonOfRows } from "./view-reasons.ts";
import { namesAfter } from "./view-renames.ts";

/** The hidden columns of views in the plans of their tables. */

/** The owner of a hidden column and its name in the plan; null for the column that says which rows a view has. */
export interface Owner {
  readonly view: string;
  readonly name: string | null;
}

/** The owners of the hidden columns of a stored table, by their names in the table. `name`: its declared one. */
export function ownersOf(
  table: Pick<CatalogTable, "id" | "name">,
  name: string,
  { tables, views }: LoweredManifest,
  catalog: Catalog,
): ReadonlyMap<string, Owner> {
  const found = new Map<string, Owner>();
  const add = (view: Pick<CatalogView, "name" | "definition">, owner: string): void => {
    found.set(viewColumnName(view.name, null), { view: owner, name: null });
    for (const { name, column } of view.definition.columns) {
      if (column === viewColumnName(view.name, name)) found.set(column, { view: owner, name });
    }
  };
  const addRows = (
    made: {
      readonly name: string;
      readonly rows_of?: { readonly table: string; readonly column: string } | null | undefined;
    },
    of: string,
  ): void => {
    if (made.rows_of?.table !== of) return;
    for (const column of [made.rows_of.column, conditionColumn(made.name)]) {
      found.set(column, { view: made.name, name: null });
    }
  };
  for (const stored of catalog.tables) addRows(stored, table.name);
  for (const declared of tables) addRows(declared, name);
  const stored = catalog.views.filter((view) => view.table_id === table.id);
  const names = namesAfter(stored, views);
  for (const view of stored) add(view, names.get(view.name) ?? view.name);
  for (const view of views) if (view.table === name) add(view, view.name);
  return found;
}

/** The hidden columns of views that the file does not declare: they stay, like its undeclared tables. */
export function columnsOfUndeclared(
  owners: ReadonlyMap<string, Owner>,
  { tables, views }: LoweredManifest,
): ReadonlySet<string> {
  const made = tables.filter((table) => table.rows_of !== undefined);
  const declared = new Set([...views, ...made].flatMap(({ name, renamed_from: former }) => [name, former]));
  return new Set([...owners].flatMap(([column, { view }]) => (declared.has(view) ? [] : [column])));
}

/** Whether a declared view is a stored one, which it may rename. */
export function isFormOf(
  declared: { readonly name: string; readonly renamed_from: string | null },
  { name }: CatalogView,
): boolean {
  return declared.name === name || declared.renamed_from === name;
}

/** What the file does not declare and what stays: hidden columns of a table, and views. */
interface Undeclared {
  readonly columns: ReadonlySet<string>;
  readonly owners: ReadonlyMap<string, Owner>;
  readonly views: readonly CatalogView[];
}

/** A column that an undeclared view reads cannot be dropped. */
export function withReaders(
  operation: SchemaOperation,
  table: CatalogTable,
  { columns, owners, views }: Undeclared,
): SchemaOperation {
  if (operation.kind !== "drop_column") return operation;
  const { name } = operation.column;
  const reads = (expr: Expr | null): boolean => expr !== null && referencedColumns(expr).includes(name);
  const readers = new Set<string>();
  for (const { name: view, table_id: id, definition } of views) {
    if (id === table.id && reads(definition.member)) readers.add(`the condition of the view '${view}'`);
  }
  for (const column of table.columns) {
    const owner = owners.get(column.name);
    if (owner === undefined || !columns.has(column.name) || column.computed === null) continue;
    const { member, value } = guardOf(column.computed.expr);
    const isOfRows = owner.name === null && madeRowsIn(value) === undefined;
    if (reads(member) || (isOfRows && reads(value))) readers.add(`the condition of the view '${owner.view}'`);
    if (isOfRows || !reads(value)) continue;
    readers.add(
      owner.name === null ? `the view '${owner.view}'` : `column '${owner.name}' of the view '${owner.view}'`,
    );
  }
  if (readers.size > 0) return { ...operation, severity: "unsupported", read_by: [...readers] };
  // Such as a stored condition, or the copy of a base's column: it has no values of its own.
  const isDerived = operation.column.is_hidden === true && owners.get(name)?.name == null;
  return isDerived ? { ...operation, severity: "additive" } : operation;
}

/** The view that an operation on a table belongs to, by its column. */
export function ownerOf(
  operation: SchemaOperation,
  owners: ReadonlyMap<string, Owner>,
): (Owner & { column: string }) | undefined {
  const column = columnOf(operation);
  const owner = column === null ? undefined : owners.get(column);
  return owner === undefined || column === null ? undefined : { ...owner, column };
}

function columnOf(operation: SchemaOperation): string | null {
  switch (operation.kind) {
    case "drop_column":
    case "rename_column":
      return operation.column.name;
    case "add_column":
    case "alter_column":
      return operation.to.name;
    case "refuse_rename":
      return operation.name;
    case "drop_index":
    case "add_index":
    case "rename_index":
      return operation.index.columns[0] ?? null;
    case "replace_index":
    case "alter_index":
      return operation.to.columns[0] ?? null;
    default:
      return null;
  }
}

/** An operation on a column of a view, as the view shows it. The condition's own column shows as the view's filter. */
export function describeOfView(
  operation: SchemaOperation,
  owners: ReadonlyMap<string, Owner>,
  facts: PlanFacts,
): (readonly [string, PlanOp])[] {
  const owner = ownerOf(operation, owners);
  if (owner === undefined || operation.kind === "create_table") return [];
  if (owner.name === null && operation.kind !== "alter_column") return [];
  // A renamed view renames its columns and indexes; people see the view's own line.
  if (operation.kind === "rename_index") return [];
  if (operation.kind === "rename_column" && owners.get(operation.from)?.name === owner.name) return [];
  const op = describeOperation(operation, facts);
  const shown = owner.name ?? owner.view;
  if (owner.name === null) {
    const reason = operation.kind === "alter_column" ? reasonOfRows(operation) : "its definition changes";
    const whole = `its rows will be computed again, for every row of its base, because ${reason}; until then it has the previous ones`;
    return [[owner.view, { ...op, name: shown, target: "table", description: whole }]];
  }
  if (operation.kind === "rename_column") {
    const from = owners.get(operation.from)?.name ?? operation.from;
    const details = { ...op.details, renamed_from: from };
    const text = op.description.replace(owner.column, shown).replace(operation.from, from);
    return [[owner.view, { ...op, name: shown, description: text, details }]];
  }
  const description = op.description.replaceAll(owner.column, shown);
  if (op.target !== "index") return [[owner.view, { ...op, name: shown, description }]];
  const inView = (text: string): string => text.replaceAll(`${owner.view}.`, "");
  const name = op.name === null ? null : inView(op.name);
  return [[owner.view, { ...op, name, description: inView(description) }]];
}
