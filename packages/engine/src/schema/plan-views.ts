import type { PlanOp, TablePlan } from "@appdb/contract/plan";
import type { Catalog, CatalogView } from "../catalog/catalog.ts";
import { isSameExpr, isSameJson, isSameText } from "../catalog/compare.ts";
import { matchNames } from "../catalog/match-names.ts";
import { renameInExpr } from "../catalog/rename-catalog.ts";
import type { DeclaredView, LoweredManifest } from "../views/lower-views.ts";

/** The difference between a stored view and its declaration. */
type ViewChange = "name" | "base" | "filter" | "columns" | "comment" | "custom_metadata";

/** An operation on the catalog's views. The columns of a view are operations on its table. */
export type ViewOperation =
  | { readonly kind: "create_view"; readonly to: DeclaredView }
  | {
      readonly kind: "alter_view";
      readonly view: CatalogView;
      readonly to: DeclaredView;
      readonly changes: readonly ViewChange[];
    }
  | { readonly kind: "refuse_view"; readonly to: DeclaredView; readonly reason: string };

/** What the plan of the tables says about their views. */
interface TablesPlanned {
  /** The operations on the columns of each view. */
  readonly columns: ReadonlyMap<string, readonly PlanOp[]>;
  /** The lines of views that only follow other changes. */
  readonly following: ReadonlyMap<string, PlanOp>;
  /** By table: the new names of renamed columns by their previous ones. */
  readonly renames: ReadonlyMap<number, ReadonlyMap<string, string>>;
}

interface Place {
  readonly catalog: Catalog;
  readonly folder: string;
  readonly target: string;
  readonly app_file: string;
  readonly isOtherProject: ((project: string) => boolean) | undefined;
}

/** The owning project of a stored table or view, when it is not the caller's. */
export function otherProject(
  { project }: { readonly project?: string | null },
  isOther: Place["isOtherProject"],
): string | undefined {
  return project != null && isOther?.(project) === true ? project : undefined;
}

/** The next step where a model of another kind has the name. A prune leaves what the file declares, and what another
 *  project owns. */
export function otherName(appFile: string, target: string, project: string | undefined): string {
  if (project !== undefined) {
    return `It belongs to the project ${project}. Give the model another name=, or use a database of your own: cli schema update ${appFile} <name>`;
  }
  const prune = `cli schema prune ${appFile} ${target} --allow-destructive`;
  return `Give the model another name=. Or leave it out of the file, run ${prune}, and declare it then`;
}

/** Plans the views of a folder. */
export function planViews(
  { views }: LoweredManifest,
  place: Place,
  { renames, ...planned }: TablesPlanned,
): { plans: readonly TablePlan[]; operations: readonly ViewOperation[]; extras: readonly string[] } {
  const { catalog, folder, target } = place;
  const stored = catalog.views.filter((view) => view.folder === folder);
  const matches = matchNames(stored, views);
  const plans = matches.map(({ stored: before, declared, from }) => {
    const operation = planView(before, declared, from, { ...place, renames });
    const own = operation === undefined ? [] : describeView(operation);
    const isOther = before === undefined || operation?.kind === "refuse_view";
    const ops = [...own, ...(isOther ? [] : opsOfView(declared.name, own, planned))];
    const plan = viewPlan(`${target}/${declared.name}`, declared, before !== undefined, ops);
    const project = ownerOfName(declared.name, before, place);
    return { operation, plan: project === undefined ? plan : { ...plan, project } };
  });
  const matched = new Set(matches.map((match) => match.stored));
  return {
    plans: plans.map(({ plan }) => plan),
    operations: plans.flatMap(({ operation }) => operation ?? []),
    extras: stored.flatMap((view) => (matched.has(view) ? [] : [view.name])),
  };
}

/** The lines of a view's columns. One that has no other line, and follows other changes, has the line that says so. */
export function opsOfView(
  name: string,
  own: readonly PlanOp[],
  { columns, following }: Omit<TablesPlanned, "renames">,
): readonly PlanOp[] {
  const ofColumns = columns.get(name) ?? [];
  const line = own.length + ofColumns.length === 0 ? following.get(name) : undefined;
  return line === undefined ? ofColumns : [line];
}

/** The line of a table or view as a whole. */
export function tableLine(name: string, severity: PlanOp["severity"], description: string): PlanOp {
  return {
    name,
    op: "alter",
    severity,
    description,
    requires_restart: false,
    status: null,
    target: "table",
    details: {},
    destructive: false,
  };
}

/** The other project whose view a declared one is, or whose table or view has its name. */
function ownerOfName(
  name: string,
  before: CatalogView | undefined,
  { catalog, folder, isOtherProject }: Place,
): string | undefined {
  const table = catalog.tables.find((one) => one.folder === folder && one.name === name);
  return otherProject(table ?? before ?? {}, isOtherProject);
}

/** Whether a stored view has the name of a table, and keeps it. */
export function isNameOfView(
  name: string,
  { views }: LoweredManifest,
  { catalog, folder }: Pick<Place, "catalog" | "folder">,
): boolean {
  const isRenamed = views.some((view) => view.renamed_from === name && view.name !== name);
  return !isRenamed && catalog.views.some((view) => view.folder === folder && view.name === name);
}

function planView(
  before: CatalogView | undefined,
  to: DeclaredView,
  from: string | null,
  { renames, ...place }: Place & Pick<TablesPlanned, "renames">,
): ViewOperation | undefined {
  const { app_file: appFile, catalog, folder, target } = place;
  const other = otherName(appFile, target, ownerOfName(to.name, before, place));
  const sameName = catalog.tables.find((table) => table.folder === folder && table.name === to.name);
  if (sameName !== undefined) {
    const kind = sameName.rows_of == null ? "a table" : "a view with an iterator";
    return { kind: "refuse_view", to, reason: `${kind} of the name '${to.name}' exists. ${other}` };
  }
  if (before === undefined) return { kind: "create_view", to };
  const table = catalog.tables.find(({ id }) => id === before.table_id);
  if (table !== undefined && table.name !== to.table && table.renamed_from !== to.table) {
    const isRenamed = catalog.tables.every(({ name }) => name !== to.table);
    if (!isRenamed) return { kind: "refuse_view", to, reason: `it is a view of '${table.name}'. ${other}` };
  }
  const definition = renamedDefinition(before.definition, renames.get(before.table_id));
  const all: readonly [ViewChange, boolean][] = [
    ["name", from !== null],
    ["base", definition.base !== to.definition.base],
    ["filter", !isSameMember(definition.member, to.definition.member)],
    ["columns", !isSameJson([definition.columns, definition.indexes], [to.definition.columns, to.definition.indexes])],
    ["comment", !isSameText(before.comment, to.comment)],
    ["custom_metadata", !isSameJson(before.custom_metadata, to.custom_metadata)],
  ];
  const changes = all.flatMap(([change, differs]) => (differs ? [change] : []));
  return changes.length === 0 ? undefined : { kind: "alter_view", view: before, to, changes };
}

/** A stored view after the renames of the same update. */
function renamedDefinition(
  definition: CatalogView["definition"],
  names: ReadonlyMap<string, string> = new Map(),
): CatalogView["definition"] {
  const { member } = definition;
  return names.size === 0
    ? definition
    : { ...definition, member: member === null ? null : renameInExpr(member, names) };
}

function isSameMember(a: DeclaredView["definition"]["member"], b: DeclaredView["definition"]["member"]): boolean {
  return a === null || b === null ? a === b : isSameExpr(a, b);
}

/** A change of columns shows in the columns' own operations. */
function describeView(operation: ViewOperation): PlanOp[] {
  if (operation.kind === "create_view") return [];
  const { to } = operation;
  const common = {
    name: to.name,
    op: "alter",
    target: "table",
    requires_restart: false,
    status: null,
    destructive: false,
  } as const;
  if (operation.kind === "refuse_view") {
    const description = `the view cannot be made: ${operation.reason}`;
    return [{ ...common, severity: "unsupported", description, details: {} }];
  }
  const { view, changes } = operation;
  const before = view.definition;
  const now = to.definition;
  return changes.flatMap((change): PlanOp[] => {
    const shown = describeChange(change, { before: { ...before, name: view.name }, now });
    return shown === null
      ? []
      : [{ ...common, severity: "additive", description: shown, details: { changes: [change] } }];
  });
}

function describeChange(
  change: ViewChange,
  {
    before,
    now,
  }: {
    readonly before: CatalogView["definition"] & { readonly name: string };
    readonly now: CatalogView["definition"];
  },
): string | null {
  switch (change) {
    case "name":
      return `the view will be renamed from '${before.name}'; its values, indexes and errors stay`;
    case "base":
      return `the view will be over '${now.base}' instead of '${before.base}'`;
    case "filter":
      return now.filter === before.filter
        ? `the rows of its base '${now.base}' will be others, and so will those of the view`
        : `the view will have the rows with ${now.filter ?? "any values"} instead of ${before.filter ?? "any values"}`;
    case "columns":
      return null;
    case "comment":
    case "custom_metadata":
      return `the view's ${change} will be updated`;
  }
}

function viewPlan(path: string, declared: DeclaredView, exists: boolean, ops: readonly PlanOp[]): TablePlan {
  const isRefused = ops.some((op) => op.severity === "unsupported");
  return {
    path,
    model_cls: declared.model,
    kind: "view",
    exists,
    resolution: resolutionOf(ops, exists || isRefused),
    ops: [...ops],
    status: null,
    destructive: ops.some((op) => op.destructive),
    error_count: 0,
  };
}

/** The worst operation decides. Unsupported comes first: permission for destruction would not help. */
export function resolutionOf(ops: readonly PlanOp[], exists: boolean): TablePlan["resolution"] {
  if (!exists) return "create";
  if (ops.some((op) => op.severity === "unsupported")) return "unsupported";
  if (ops.some((op) => op.severity === "destructive")) return "update_destructive";
  return ops.length === 0 ? "up_to_date" : "update_additive";
}
