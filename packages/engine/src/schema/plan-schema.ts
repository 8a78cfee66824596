import { appError } from "@appdb/contract/errors";
import type { Manifest, ManifestTable } from "@appdb/contract/manifest";
import type { PlanOp, SchemaPlan, StaleColumn, TablePlan } from "@appdb/contract/plan";
import { withQueries } from "../bound-queries/column-queries.ts";
import type { Catalog, CatalogTable } from "../catalog/catalog.ts";
import { nameHidden, shownColumn } from "../catalog/hidden-columns.ts";
import { type Match, matchNames } from "../catalog/match-names.ts";
import { declaredIndexes, type SchemaOperation } from "../catalog/operations.ts";
import { type RenamedTable, renameCatalogTable } from "../catalog/rename-catalog.ts";
import { busyTables, settled, shadowsOf } from "../catalog/shadow-columns.ts";
import { type CodeDigests, codeDigests, previousCode } from "../jobs/code-digests.ts";
import { folderSchema, recomputeCommand } from "../target.ts";
import type { LoweredManifest } from "../views/lower-views.ts";
import { describeOperation } from "./describe-operation.ts";
import { diffTable, type UnchangedColumns } from "./diff-table.ts";
import { factKey, NO_FACTS, type PlanFacts } from "./facts.ts";
import { refuseFalseFiles } from "./false-files.ts";
import { refuseFalseLiterals } from "./false-literals.ts";
import { refuseWideIndexes } from "./index-columns.ts";
import { withKeptCopies } from "./kept-copies.ts";
import { refuseNeeded } from "./needed-columns.ts";
import {
  isNameOfView,
  opsOfView,
  otherName,
  otherProject,
  planViews,
  resolutionOf,
  tableLine,
  type ViewOperation,
} from "./plan-views.ts";
import { adviseOnRenames } from "./rename-advice.ts";
import { changedValues, tableAfter } from "./table-after.ts";
import { columnsOfUndeclared, describeOfView, isFormOf, ownerOf, ownersOf, withReaders } from "./view-columns.ts";
import { type ChangedTable, followingViews } from "./view-reasons.ts";
import { withOpenRenames } from "./view-renames.ts";

export interface SchemaPlanInput {
  readonly manifest: Manifest;
  readonly catalog: Catalog;
  /** Parsed target: `main`, `main/reports`, `cloud://acme:main`. */
  readonly target: string;
  /** Facts of the rows, once checked. Without them, narrowed columns are assumed to fit. */
  readonly facts?: PlanFacts;
  /** Also recomputes columns whose values come from previous code of a function. */
  readonly recompute?: boolean;
  /** Whether a table's project is not the caller's and still exists. Without it no table has an owner. */
  readonly isOtherProject?: ((project: string) => boolean) | undefined;
}

/** A plan with its operations on tables, and then on views. */
export interface PlannedSchema {
  readonly plan: SchemaPlan;
  readonly operations: readonly SchemaOperation[];
  readonly views: readonly ViewOperation[];
}

/** Compares the application's declarations with the target. Pure: no changes and no I/O.
 *  @throws app_invalid when the manifest declares one table twice, an index over too many columns, or an impossible view */
export function planSchema(declared: SchemaPlanInput): PlannedSchema {
  refuseDuplicates(declared.manifest);
  refuseWideIndexes(declared.manifest);
  const catalog = settled(declared.catalog);
  const folder = folderSchema(declared.target);
  const copied = withKeptCopies(declared.manifest, { catalog, target: declared.target });
  const manifest = withOpenRenames(copied, { manifest: declared.manifest, catalog, folder });
  refuseFalseFiles(manifest.tables);
  refuseFalseLiterals(declared.manifest.tables);
  const input: LoweredInput = { ...declared, manifest, catalog };
  const existing = input.catalog.tables.filter((table) => table.folder === folder);
  const facts = input.facts ?? NO_FACTS;
  const digests = codeDigests(input.manifest);
  const recompute = input.recompute ?? false;
  const matches = matchNames(existing, withQueries(manifest).tables);
  const busy = busyTables(declared.catalog.tables);
  const planned = matches.map((match) => {
    const plannedTable = planTable(input, match, { facts, digests, recompute });
    if (!busy.has(match.stored?.id ?? 0)) return plannedTable;
    const now = declared.catalog.tables.find(({ id }) => id === match.stored?.id);
    const isOfViews = now === undefined || shadowsOf(now).every(({ column }) => column.is_hidden === true);
    return untilPlaced(plannedTable, isOfViews ? "the rows of its views" : "its columns");
  });
  const matched = new Set(matches.map((match) => match.stored));
  const ofColumns = columnsOfViews(planned);
  const following = followingViews(
    planned.flatMap(({ changed }) => changed ?? []),
    manifest,
  );
  const ofViews = planViews(
    manifest,
    {
      catalog,
      folder,
      target: input.target,
      app_file: input.manifest.app_file,
      isOtherProject: declared.isOtherProject,
    },
    {
      columns: ofColumns,
      following,
      renames: renamesIn(planned.flatMap(({ operations }) => operations)),
    },
  );
  const undeclared = existing.flatMap((table) => (matched.has(table) ? [] : [table.name]));
  const tables = [
    ...planned.map(({ plan }) => {
      const name = plan.path.slice(input.target.length + 1);
      return withColumns(plan, opsOfView(name, plan.ops, { columns: ofColumns, following }));
    }),
    ...ofViews.plans,
  ];
  // One of another kind has a line that says why it stays.
  const named = new Set(tables.map(({ path }) => path.slice(input.target.length + 1)));
  const extras = [...undeclared, ...ofViews.extras].filter((name) => !named.has(name)).sort();
  const plan: SchemaPlan = {
    app_file: input.manifest.app_file,
    target: input.target,
    catalog_version: input.catalog.version,
    tables,
    extras: extras.map((name) => `${input.target}/${name}`),
    ops: [],
    stale: withoutMade(planned.flatMap(({ stale }) => stale)),
    jobs: [],
    status: null,
    in_agreement: tables.every((table) => table.resolution === "up_to_date"),
    summary: {
      up_to_date: count(tables, "up_to_date"),
      create: count(tables, "create"),
      update_additive: count(tables, "update_additive"),
      update_destructive: count(tables, "update_destructive"),
      unsupported: count(tables, "unsupported"),
      extras: extras.length,
      destructive: tables.flatMap((table) => table.ops).filter((op) => op.destructive).length,
    },
  };
  return { plan, operations: planned.flatMap(({ operations }) => operations), views: ofViews.operations };
}

/** A table whose shadows a job computes. Its other columns could change what the shadows are made of. */
function untilPlaced(planned: PlannedTable, what: string): PlannedTable {
  if (planned.operations.length === 0) return planned;
  const { plan, stale } = planned;
  const name = plan.path.slice(plan.path.lastIndexOf("/") + 1);
  const op = tableLine(
    name,
    "unsupported",
    `'${name}' cannot change while a job computes ${what} again. Wait until it has ended, or cancel it with cli jobs cancel`,
  );
  return { ...NOTHING, plan: { ...plan, ops: [op], resolution: "unsupported", destructive: false }, stale };
}

/** An iterator view, with the operations on the column of its base that makes its rows. */
function withColumns(plan: TablePlan, columns: readonly PlanOp[]): TablePlan {
  if (plan.kind !== "view" || columns.length === 0 || ["create", "unsupported"].includes(plan.resolution)) return plan;
  const ops = [...plan.ops, ...columns];
  return { ...plan, ops, resolution: resolutionOf(ops, true), destructive: ops.some((op) => op.destructive) };
}

interface LoweredInput extends SchemaPlanInput {
  readonly manifest: LoweredManifest;
}

/** The new names of renamed columns by their previous ones, by table. */
function renamesIn(operations: readonly SchemaOperation[]): ReadonlyMap<number, ReadonlyMap<string, string>> {
  const found = new Map<number, Map<string, string>>();
  for (const operation of operations) {
    if (operation.kind !== "rename_column") continue;
    const names = found.get(operation.table.id) ?? new Map<string, string>();
    found.set(operation.table.id, names.set(operation.from, operation.column.name));
  }
  return found;
}

/** Operations on columns, by the names of their views. */
function columnsOfViews(
  planned: readonly { readonly ofViews: readonly (readonly [string, PlanOp])[] }[],
): ReadonlyMap<string, readonly PlanOp[]> {
  const found = new Map<string, PlanOp[]>();
  for (const [view, op] of planned.flatMap(({ ofViews }) => ofViews)) found.set(view, [...(found.get(view) ?? []), op]);
  return found;
}

function refuseDuplicates(manifest: Manifest): void {
  const seen = new Map<string, ManifestTable>();
  for (const table of manifest.tables) {
    const twin = seen.get(table.name);
    seen.set(table.name, table);
    if (twin === undefined) continue;
    throw appError("app_invalid", {
      detail: `Table '${table.name}' is declared twice: by ${twin.model} (${at(twin)}) and by ${table.model} (${at(table)}).`,
      hint: "Give one of the models another name=.",
      meta: { table: table.name },
    });
  }
}

function at(table: ManifestTable): string {
  return `${table.source.file}:${table.source.line}`;
}

interface Surroundings {
  readonly facts: PlanFacts;
  readonly digests: CodeDigests;
  readonly recompute: boolean;
}

interface PlannedTable {
  readonly plan: TablePlan;
  readonly operations: readonly SchemaOperation[];
  /** Operations on columns of views, with the name of the view. */
  readonly ofViews: readonly (readonly [string, PlanOp])[];
  readonly stale: readonly StaleColumn[];
  readonly changed: ChangedTable | null;
}

/** Without a plan. */
const NOTHING = { operations: [], ofViews: [], stale: [], changed: null } as const;

function planTable(
  input: LoweredInput,
  { stored, declared, from, refusal }: Match<CatalogTable, ManifestTable>,
  { facts, digests, recompute }: Surroundings,
): PlannedTable {
  const { target, manifest, catalog, isOtherProject } = input;
  const path = `${target}/${declared.name}`;
  if (
    (stored === undefined || from !== null) &&
    isNameOfView(declared.name, manifest, { catalog, folder: folderSchema(target) })
  ) {
    return refusedPlan(declared, "a filtered view", input);
  }
  if (stored === undefined) {
    const plan = tablePlan(path, declared, [], "create");
    return { ...NOTHING, plan, operations: [createTable(declared)] };
  }
  if ((stored.rows_of == null) !== (declared.rows_of === undefined)) {
    return refusedPlan(declared, stored.rows_of == null ? "a table" : "a view with an iterator", input);
  }
  const owners = ownersOf(stored, declared.name, manifest, catalog);
  const renamed = renameCatalogTable(stored, declared, from);
  const stale = staleColumns(renamed.table, digests, (column) => {
    const { view = declared.name, name = column } = owners.get(column) ?? {};
    return {
      table: `${target}/${view}`,
      column: name === null ? null : shownColumn(renamed.table, name),
      command: recomputeCommand(target, manifest.app_file, view, name),
    };
  });
  const recomputed = new Set(recompute ? stale.keys() : []);
  const named = nameHidden(renamed.table, declared);
  const undeclared = columnsOfUndeclared(owners, manifest);
  const all = changeTable(renamed, named, refusal, { recomputed, kept: undeclared }).map((operation) =>
    withReaders(withSeverity(operation, facts), renamed.table, {
      columns: undeclared,
      owners,
      views: catalog.views.filter((view) => manifest.views.every((one) => !isFormOf(one, view))),
    }),
  );
  const operations = refuseNeeded(all, renamed.table, { catalog, manifest, owners });
  const own = operations.filter((operation) => ownerOf(operation, owners) === undefined);
  const described = own.flatMap((operation): PlanOp[] =>
    operation.kind === "create_table" || isUnseen(operation) ? [] : [describeOperation(operation, facts)],
  );
  const ofViews = operations.flatMap((operation) => describeOfView(operation, owners, facts));
  const ops = adviseOnRenames(described, own, stored);
  const after = tableAfter(renamed.table, operations);
  const changed = changedValues(after, operations);
  const other = otherProject(stored, isOtherProject);
  const plan = tablePlan(path, declared, ops, resolutionOf(ops, true));
  return {
    plan: other === undefined ? plan : { ...plan, project: other },
    operations,
    ofViews,
    stale: [...stale].flatMap(([column, one]) => (changed.has(column) ? [] : [one])),
    changed: { after, changed, owners },
  };
}

/** The plan of a model whose name a stored model of another kind has: these cannot become each other. */
function refusedPlan(declared: ManifestTable, is: string, input: LoweredInput): PlannedTable {
  const { manifest, target, catalog, isOtherProject } = input;
  const { name, rows_of: rowsOf } = declared;
  const folder = folderSchema(target);
  const stored = [...catalog.tables, ...catalog.views].find((one) => one.folder === folder && one.name === name);
  const project = otherProject(stored ?? {}, isOtherProject);
  const becomes = rowsOf === undefined ? "a table" : "a view with an iterator";
  const reason = `'${name}' is ${is} and cannot become ${becomes}. ${otherName(manifest.app_file, target, project)}`;
  const plan = tablePlan(`${target}/${name}`, declared, [tableLine(name, "unsupported", reason)], "unsupported");
  return { ...NOTHING, plan: project === undefined ? plan : { ...plan, project } };
}

/** A hidden column comes and goes with its index, which the plan shows. An index is renamed with its view. */
function isUnseen(operation: Exclude<SchemaOperation, { kind: "create_table" }>): boolean {
  if (operation.kind === "rename_index") return true;
  if (operation.kind === "add_column") return operation.to.is_hidden === true;
  return operation.kind === "drop_column" && operation.column.is_hidden === true;
}

function tablePlan(
  path: string,
  declared: ManifestTable,
  ops: PlanOp[],
  resolution: TablePlan["resolution"],
): TablePlan {
  return {
    path,
    model_cls: declared.model,
    kind: declared.rows_of === undefined ? "table" : "view",
    exists: resolution !== "create",
    resolution,
    ops,
    status: null,
    destructive: ops.some((op) => op.destructive),
    error_count: 0,
  };
}

/** Columns of a table with rows, by their names in it, some of which have values from previous code.
 *  A column that a job computes will have the code of the job. */
function staleColumns(
  table: CatalogTable,
  digests: CodeDigests,
  describe: (column: string) => Omit<StaleColumn, "functions">,
): ReadonlyMap<string, StaleColumn> {
  if (table.has_rows === false) return new Map();
  return new Map(
    table.columns.flatMap((column) => {
      const functions = column.primary_key ? [] : previousCode(column, digests);
      if (functions.length === 0) return [];
      return [[column.name, { ...describe(column.name), functions: [...functions] }]];
    }),
  );
}

/** Without columns of views whose rows are made again because of the same functions. */
function withoutMade(stale: readonly StaleColumn[]): StaleColumn[] {
  const rows = new Map(stale.flatMap(({ table, column, functions }) => (column === null ? [[table, functions]] : [])));
  return stale.filter(({ table, column, functions }) => {
    const made = rows.get(table);
    return column === null || made === undefined || functions.some((id) => !made.includes(id));
  });
}

/** An operation that existing values forbid becomes unsupported. */
function withSeverity(operation: SchemaOperation, facts: PlanFacts): SchemaOperation {
  if (operation.kind !== "alter_column" || !facts.misfits.has(factKey(operation.table, operation.to.name))) {
    return operation;
  }
  return { ...operation, severity: "unsupported" };
}

function createTable(to: ManifestTable): SchemaOperation {
  return { kind: "create_table", severity: "additive", to, indexes: declaredIndexes(to) };
}

/** Renames come first; later operations use the new names. */
function changeTable(
  renamed: RenamedTable,
  to: ManifestTable,
  refusal: string | null,
  unchanged: UnchangedColumns,
): readonly SchemaOperation[] {
  const { table, from } = renamed;
  const refusals = [...(refusal === null ? [] : [{ name: null, reason: refusal }]), ...renamed.refusals];
  return [
    ...refusals.map(({ name, reason }): SchemaOperation => {
      const declared = name === null ? to : to.columns.find((column) => column.name === name);
      return {
        kind: "refuse_rename",
        severity: "unsupported",
        table,
        name,
        from: declared?.renamed_from ?? "",
        reason,
      };
    }),
    ...(from === null ? [] : [{ kind: "rename_table", severity: "additive", table, from } satisfies SchemaOperation]),
    ...table.columns.flatMap((column): SchemaOperation[] => {
      const move = renamed.columns.find((candidate) => candidate.id === column.id);
      return move === undefined
        ? []
        : [{ kind: "rename_column", severity: "additive", table, column, from: move.from }];
    }),
    ...table.indexes.flatMap((index): SchemaOperation[] => {
      const was = renamed.indexes.get(index.id);
      return was === undefined ? [] : [{ kind: "rename_index", severity: "additive", table, index, from: was }];
    }),
    ...diffTable(table, to, unchanged),
  ];
}

function count(tables: readonly TablePlan[], resolution: TablePlan["resolution"]): number {
  return tables.filter((table) => table.resolution === resolution).length;
}
