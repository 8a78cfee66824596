import { appError } from "@appdb/contract/errors";
import type { Manifest } from "@appdb/contract/manifest";
import type { Catalog } from "../schema/catalog.ts";
import type { Operation } from "../schema/operations.ts";
import { planSchema } from "../schema/plan-schema.ts";

/**
 * Refuses tables that a service could not write. What a later update only added is no hindrance: a service that starts
 * again after a crash must not fail because the tables are ahead of it.
 * @throws schema_mismatch naming the tables
 */
export function checkTables(input: { readonly manifest: Manifest; readonly target: string }, catalog: Catalog): void {
  const { operations } = planSchema({ ...input, catalog });
  const different = [...new Set(operations.filter(hinders).map(tableOf))];
  if (different.length === 0) return;
  const { app_file } = input.manifest;
  throw appError("schema_mismatch", {
    detail: `${app_file} declares other tables than ${input.target} has: ${different.join(", ")}.`,
    hint: `Bring the tables up to date: cli schema update ${app_file} ${input.target}`,
    meta: { target: input.target, tables: different },
  });
}

/** An operation is what would bring the table to the manifest; `drop` means that the table is ahead of the manifest. */
function hinders(operation: Operation): boolean {
  switch (operation.kind) {
    case "add_column":
      return operation.to.is_hidden !== true;
    case "create_table":
    case "rename_table":
    case "rename_column":
    case "refuse_rename":
      return true;
    case "add_index":
    case "drop_index":
    case "replace_index":
      return false;
    case "drop_column":
      return operation.column.computed === null && !operation.column.nullable;
    case "alter_table":
      return operation.changes.includes("primary_key");
    case "alter_column": {
      const { changes, column } = operation;
      if (changes.some((change) => ["type", "primary_key", "stored_or_computed"].includes(change))) return true;
      return changes.includes("nullability") && column.computed === null && !column.nullable;
    }
  }
}

function tableOf(operation: Operation): string {
  return operation.kind === "create_table" ? operation.to.name : operation.table.name;
}
