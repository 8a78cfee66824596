import { AppError } from "@appdb/contract/errors";
import type { TableChange } from "@appdb/contract/routes/table-changes";
import type { Catalog } from "../catalog/catalog.ts";
import { loadCatalog } from "../catalog/load-catalog.ts";
import type { SqlConnection } from "../ports.ts";
import { applyOnce } from "../schema/apply-schema.ts";
import type { ChangeInput, Step } from "./change-step.ts";
import { nameOf } from "./dependents.ts";
import { withinDatabase } from "./describe-change.ts";
import { planChange } from "./plan-change.ts";
import { findStored, type Stored } from "./read-declaration.ts";

/** Bytes of a name that stay when it gets another end. PostgreSQL's names have at most 63. */
const KEPT = 40;

type Input = Omit<ChangeInput, "catalog" | "folders" | "change">;

/** Renames a table or view within its folder. */
export async function renameStored(
  sql: SqlConnection,
  input: Input,
  { folder, from, to }: { readonly folder: string; readonly from: string; readonly to: string },
): Promise<void> {
  const catalog = await loadCatalog(sql);
  const step = planRename(input, catalog, { folder, from, to });
  if (step.kind !== "apply") throw new TypeError("A table that has another name is renamed.");
  const { manifest, target } = step;
  const change = { manifest, target, catalog_version: catalog.version, allow_destructive: true };
  await applyOnce(sql, { ...change, runtime_id: null, made_by: null }, null);
}

/**
 * Gives a table or view another name until what replaces it has its rows. Returns the name; undefined for one that only
 * its application file can rename.
 */
export async function setAside(
  sql: SqlConnection,
  input: Input,
  catalog: Catalog,
  stored: Stored,
): Promise<string | undefined> {
  const { folder } = stored.view ?? stored.table;
  const from = nameOf(stored);
  const to = freeName(catalog, folder, `${from.slice(0, KEPT)}_replaced`);
  if (!isRenamable(input, catalog, { folder, from, to })) return undefined;
  await renameStored(sql, input, { folder, from, to });
  return to;
}

function isRenamable(input: Input, catalog: Catalog, names: Parameters<typeof planRename>[2]): boolean {
  try {
    planRename(input, catalog, names);
    return true;
  } catch (error) {
    if (error instanceof AppError && error.code === "schema_unsupported") return false;
    throw error;
  }
}

function planRename(
  input: Input,
  catalog: Catalog,
  { folder, from, to }: { readonly folder: string; readonly from: string; readonly to: string },
): Step {
  const change: TableChange = {
    change: "move_table",
    table: withinDatabase(folder, from),
    to: withinDatabase(folder, to),
  };
  return planChange({ ...input, change, catalog, folders: [] });
}

function freeName(catalog: Catalog, folder: string, name: string): string {
  for (let number = 2, free = name; ; number++) {
    if (findStored(catalog, folder, free) === undefined) return free;
    free = `${name}_${number}`;
  }
}
