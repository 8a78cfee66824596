import { appError } from "@appdb/contract/errors";
import type { Manifest, ManifestTable } from "@appdb/contract/manifest";
import type { PlanOp, SchemaPlan, StaleColumn, TablePlan } from "@appdb/contract/plan";
import type { Catalog, CatalogTable } from "../catalog/catalog.ts";
import { withQueries } from "../catalog/column-queries.ts";
import { nameHidden } from "../catalog/hidden-columns.ts";
import { type Match, matchNames } from "../catalog/match-names.ts";
import { declaredIndexes, type SchemaOperation } from "../catalog/operations.ts";
import { type RenamedTable, renameCatalogTable } from "../catalog/rename-catalog.ts";
import { type CodeDigests, codeDigests, previousCode } from "../jobs/code-digests.ts";
import { folderSchema, recomputeCommand } from "../target.ts";
import { describeOperation } from "./describe-operation.ts";
import { diffTable } from "./diff-table.ts";
import { factKey, NO_FACTS, type PlanFacts } from "./facts.ts";
import { adviseOnRenames } from "./rename-advice.ts";
import { changedValues, tableAfter } from "./table-after.ts";

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

/** Compares the application's declarations with the target. Pure: no changes and no I/O.
 *  @throws app_invalid when the manifest declares one table twice */
export function planSchema(input: SchemaPlanInput): { plan: SchemaPlan; operations: readonly SchemaOperation[] } {
  const folder = folderSchema(input.target);
  const existing = input.catalog.tables.filter((table) => table.folder === folder);
  refuseDuplicates(input.manifest);
  const facts = input.facts ?? NO_FACTS;
  const digests = codeDigests(input.manifest);
  const recompute = input.recompute ?? false;
  const matches = matchNames(existing, withQueries(input.manifest).tables);
  const planned = matches.map((match) => planTable(input, match, { facts, digests, recompute }));
  const matched = new Set(matches.map((match) => match.stored));
  const extras = existing.flatMap((table) => (matched.has(table) ? [] : [table.name])).sort();
  const tables = planned.map(({ plan }) => plan);
  const plan: SchemaPlan = {
    app_file: input.manifest.app_file,
    target: input.target,
    catalog_version: input.catalog.version,
    tables,
    extras: extras.map((name) => `${input.target}/${name}`),
    ops: [],
    stale: planned.flatMap(({ stale }) => stale),
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
  return { plan, operations: planned.flatMap(({ operations }) => operations) };
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

function planTable(
  { target, manifest, isOtherProject }: SchemaPlanInput,
  { stored, declared, from, refusal }: Match<CatalogTable, ManifestTable>,
  { facts, digests, recompute }: Surroundings,
): { plan: TablePlan; operations: readonly SchemaOperation[]; stale: readonly StaleColumn[] } {
  const path = `${target}/${declared.name}`;
  if (stored === undefined) {
    const plan = tablePlan(path, declared, [], "create");
    return { plan, operations: [createTable(declared)], stale: [] };
  }
  const renamed = renameCatalogTable(stored, declared, from);
  const stale = staleColumns(renamed.table, digests, (column) => ({
    table: path,
    column,
    command: recomputeCommand(target, manifest.app_file, declared.name, column),
  }));
  const recomputed = new Set(recompute ? stale.map((one) => one.column) : []);
  const named = nameHidden(renamed.table, declared);
  const operations = changeTable(renamed, named, refusal, recomputed).map((operation) =>
    withSeverity(operation, facts),
  );
  const described = operations.flatMap((operation): PlanOp[] =>
    operation.kind === "create_table" || isIndexOperation(operation) ? [] : [describeOperation(operation, facts)],
  );
  const ops = adviseOnRenames(described, operations, stored);
  const changed = changedValues(tableAfter(renamed.table, operations), operations);
  const other = otherProject(stored, isOtherProject);
  const plan = tablePlan(path, declared, ops, resolutionOf(ops));
  return {
    plan: other === undefined ? plan : { ...plan, project: other },
    operations,
    stale: stale.filter((one) => !changed.has(one.column)),
  };
}

/** The owning project of a stored table, when it is not the caller's. */
export function otherProject(
  { project }: CatalogTable,
  isOther: SchemaPlanInput["isOtherProject"],
): string | undefined {
  return project != null && isOther?.(project) === true ? project : undefined;
}

/** A hidden column comes and goes with its index, which the plan shows. */
function isIndexOperation(operation: Exclude<SchemaOperation, { kind: "create_table" }>): boolean {
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
    kind: "table",
    exists: resolution !== "create",
    resolution,
    ops,
    status: null,
    destructive: ops.some((op) => op.destructive),
    error_count: 0,
  };
}

/** Columns of a table with rows, some of which have values from previous code. A filling column uses the new code. */
function staleColumns(
  table: CatalogTable,
  digests: CodeDigests,
  describe: (column: string) => Omit<StaleColumn, "functions">,
): readonly StaleColumn[] {
  if (table.has_rows === false) return [];
  return table.columns.flatMap((column) => {
    const functions = column.primary_key || column.state === "filling" ? [] : previousCode(column, digests);
    if (functions.length === 0) return [];
    return [{ ...describe(column.name), functions: [...functions] }];
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
  recomputed: ReadonlySet<string>,
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
    ...diffTable(table, to, recomputed),
  ];
}

/** The worst operation decides. Unsupported comes first: permission for destruction would not help. */
function resolutionOf(ops: readonly PlanOp[]): TablePlan["resolution"] {
  if (ops.some((op) => op.severity === "unsupported")) return "unsupported";
  if (ops.some((op) => op.severity === "destructive")) return "update_destructive";
  return ops.length === 0 ? "up_to_date" : "update_additive";
}

function count(tables: readonly TablePlan[], resolution: TablePlan["resolution"]): number {
  return tables.filter((table) => table.resolution === resolution).length;
}
