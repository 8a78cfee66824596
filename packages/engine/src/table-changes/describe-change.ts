import type { PlanOp, SchemaPlan, TablePlan } from "@appdb/contract/plan";
import type { Catalog } from "../catalog/catalog.ts";
import type { Stored } from "./read-declaration.ts";

/** The plans of changes, in the form of an update's. */

interface Described {
  readonly database: string;
  readonly dry_run: boolean;
}

/** A path within the database. */
export function withinDatabase(folder: string, name: string): string {
  return folder === "public" ? name : `${folder}/${name}`;
}

export function planOf(
  { database, dry_run: isDry }: Described,
  { version }: Catalog,
  { ops = [], tables = [] }: { readonly ops?: readonly PlanOp[]; readonly tables?: readonly TablePlan[] },
): SchemaPlan {
  const isNothing = ops.length + tables.length === 0;
  return {
    app_file: "",
    target: database,
    catalog_version: version,
    tables: [...tables],
    extras: [],
    ops: [...ops],
    stale: [],
    jobs: [],
    status: isNothing && !isDry ? "skipped" : null,
    in_agreement: isNothing,
    summary: {
      up_to_date: 0,
      create: 0,
      update_additive: tables.filter(({ destructive }) => !destructive).length,
      update_destructive: tables.filter(({ destructive }) => destructive).length,
      unsupported: 0,
      extras: 0,
      destructive: tables.filter(({ destructive }) => destructive).length,
    },
  };
}

export function tablePlan({ table, view }: Stored, path: string, op: PlanOp): TablePlan {
  return {
    path,
    model_cls: (view ?? table).model,
    kind: view === undefined && table.rows_of == null ? "table" : "view",
    exists: true,
    resolution: op.destructive ? "update_destructive" : "update_additive",
    ops: [op],
    status: null,
    destructive: op.destructive,
    error_count: 0,
  };
}

export function folderOp({ database }: Described, folder: string, op: "add" | "drop"): PlanOp {
  const description = op === "add" ? "the folder will be created" : "the folder will be dropped";
  return opOf(`${database}/${folder}`, op, "folder", { description, details: {} });
}

export function opOf(
  name: string,
  op: PlanOp["op"],
  target: PlanOp["target"],
  { description, details }: Pick<PlanOp, "description" | "details">,
): PlanOp {
  return {
    name,
    op,
    severity: "additive",
    description,
    requires_restart: false,
    status: null,
    target,
    details,
    destructive: false,
  };
}

export function onlyChanged(plan: SchemaPlan): SchemaPlan {
  return {
    ...plan,
    tables: plan.tables.filter(({ resolution }) => resolution !== "up_to_date"),
    extras: [],
    stale: [],
  };
}
