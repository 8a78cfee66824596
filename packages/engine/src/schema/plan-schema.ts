import { appError } from "@appdb/contract/errors";
import type { Manifest, ManifestTable } from "@appdb/contract/manifest";
import type { PlanOp, SchemaPlan, TablePlan } from "@appdb/contract/plan";
import { folderSchema } from "../target.ts";
import type { Catalog, CatalogTable } from "./catalog.ts";
import { describeOperation } from "./describe-operation.ts";
import { diffTable } from "./diff-table.ts";
import { type Facts, factKey, NO_FACTS } from "./facts.ts";
import { type Match, matchNames } from "./match-names.ts";
import { declaredIndexes, type Operation } from "./operations.ts";
import { renameCatalogTable } from "./rename-catalog.ts";

export interface PlanInput {
  readonly manifest: Manifest;
  readonly catalog: Catalog;
  /** Parsed target: `main`, `main/reports`. */
  readonly target: string;
  /** What the rows tell of the plan, once somebody has looked; without it a narrowed column counts as one that fits. */
  readonly facts?: Facts;
}

/** Compares what the application declares with what the target holds. Pure: it changes nothing and asks nobody.
 *  @throws app_invalid when the manifest declares one table twice */
export function planSchema(input: PlanInput): { plan: SchemaPlan; operations: readonly Operation[] } {
  const folder = folderSchema(input.target);
  const existing = input.catalog.tables.filter((table) => table.folder === folder);
  refuseTwins(input.manifest);
  const matches = matchNames(existing, input.manifest.tables);
  const planned = matches.map((match) => planTable(input.target, match, input.facts ?? NO_FACTS));
  const matched = new Set(matches.map((match) => match.stored));
  const extras = existing.flatMap((table) => (matched.has(table) ? [] : [table.name])).sort();
  const tables = planned.map(({ plan }) => plan);
  const plan: SchemaPlan = {
    app_file: input.manifest.app_file,
    target: input.target,
    catalog_version: input.catalog.version,
    tables,
    extras: extras.map((name) => `${input.target}/${name}`),
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

function refuseTwins(manifest: Manifest): void {
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

function planTable(
  target: string,
  { stored, declared, from, refusal }: Match<CatalogTable, ManifestTable>,
  facts: Facts,
): { plan: TablePlan; operations: readonly Operation[] } {
  const operations =
    stored === undefined
      ? [createTable(declared)]
      : changeTable(stored, declared, from, refusal).map((operation) => judged(operation, facts));
  const ops = operations.flatMap((operation): PlanOp[] =>
    operation.kind === "create_table" ? [] : [describeOperation(operation, facts)],
  );
  const plan: TablePlan = {
    path: `${target}/${declared.name}`,
    model_cls: declared.model,
    kind: "table",
    exists: stored !== undefined,
    resolution: stored === undefined ? "create" : resolutionOf(ops),
    ops,
    status: null,
    destructive: ops.some((op) => op.destructive),
  };
  return { plan, operations };
}

/** What the values do not allow is not possible. */
function judged(operation: Operation, facts: Facts): Operation {
  if (operation.kind !== "alter_column" || !facts.misfits.has(factKey(operation.table, operation.to.name))) {
    return operation;
  }
  return { ...operation, severity: "unsupported" };
}

function createTable(to: ManifestTable): Operation {
  return { kind: "create_table", severity: "additive", to, indexes: declaredIndexes(to) };
}

/** Names first: all that comes behind them is told and done under the new ones. */
function changeTable(
  stored: CatalogTable,
  to: ManifestTable,
  from: string | null,
  refusal: string | null,
): readonly Operation[] {
  const renamed = renameCatalogTable(stored, to, from);
  const { table } = renamed;
  const refusals = [...(refusal === null ? [] : [{ name: null, reason: refusal }]), ...renamed.refusals];
  return [
    ...refusals.map(({ name, reason }): Operation => {
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
    ...(from === null ? [] : [{ kind: "rename_table", severity: "additive", table, from } satisfies Operation]),
    ...table.columns.flatMap((column): Operation[] => {
      const move = renamed.columns.find((candidate) => candidate.id === column.id);
      return move === undefined
        ? []
        : [{ kind: "rename_column", severity: "additive", table, column, from: move.from }];
    }),
    ...diffTable(table, to),
  ];
}

/** The worst operation decides; unsupported comes first, so that nobody is led to allow a destruction that cannot happen. */
function resolutionOf(ops: readonly PlanOp[]): TablePlan["resolution"] {
  if (ops.some((op) => op.severity === "unsupported")) return "unsupported";
  if (ops.some((op) => op.severity === "destructive")) return "update_destructive";
  return ops.length === 0 ? "up_to_date" : "update_additive";
}

function count(tables: readonly TablePlan[], resolution: TablePlan["resolution"]): number {
  return tables.filter((table) => table.resolution === resolution).length;
}
