import { appError } from "@appdb/contract/errors";
import type { Manifest } from "@appdb/contract/manifest";
import type { TableIncompatibility } from "@appdb/contract/routes/pod";
import { displayType } from "@appdb/contract/types";
import type { Catalog } from "../catalog/catalog.ts";
import type { SchemaOperation } from "../catalog/operations.ts";
import { planSchema } from "../schema/plan-schema.ts";

interface TablesOfApplication {
  readonly manifest: Manifest;
  readonly target: string;
}

/**
 * `is_started`: the manifest is of the last update of the service, and not of the file as it is now.
 * Refuses tables that a service could not write. What a later update only added is no hindrance: a service that starts
 * again after a crash must not fail because the tables are ahead of it.
 * @throws schema_mismatch naming the tables
 */
export function checkTables(input: TablesOfApplication & { readonly is_started?: boolean }, catalog: Catalog): void {
  const different = [...new Set(findIncompatibilities(input, catalog).map(({ table }) => table))];
  if (different.length === 0) return;
  const { app_file: appFile } = input.manifest;
  if (input.is_started === true) {
    // what the file declares by now is not known here: the update of the service says it, and whether the tables are behind
    throw appError("schema_mismatch", {
      detail: `The service was started for other tables than ${input.target} has now: ${different.join(", ")}.`,
      hint: `Start it as ${appFile} is now: cli service update ${appFile} ${input.target}`,
      meta: { target: input.target, tables: different },
    });
  }
  throw appError("schema_mismatch", {
    detail: `${appFile} declares other tables than ${input.target} has: ${different.join(", ")}.`,
    hint: `Bring the tables up to date: cli schema update ${appFile} ${input.target}`,
    meta: { target: input.target, tables: different },
  });
}

/** What of the tables as they are keeps an application's services from starting, or from storing rows. Pure. */
export function findIncompatibilities(input: TablesOfApplication, catalog: Catalog): TableIncompatibility[] {
  const { operations } = planSchema({ ...input, catalog });
  return operations.flatMap((operation) => {
    const reason = hindranceOf(operation);
    return reason === undefined ? [] : [{ table: tableOf(operation), reason }];
  });
}

/** An operation is what would bring the table to the manifest; `drop` means that the table is ahead of the manifest. */
function hindranceOf(operation: SchemaOperation): string | undefined {
  switch (operation.kind) {
    case "create_table":
      return `there is no table ${operation.to.name}`;
    case "rename_table":
      return `${operation.table.name} is called ${operation.from}`;
    case "rename_column":
      return `${operation.table.name}.${operation.column.name} is called ${operation.from}`;
    case "refuse_rename":
      return `${operation.table.name}${operation.name === null ? "" : `.${operation.name}`}: ${operation.reason}`;
    case "add_column":
      return operation.to.is_hidden === true ? undefined : `${operation.table.name}.${operation.to.name} is not there`;
    case "add_index":
    case "drop_index":
    case "replace_index":
      return undefined;
    case "drop_column": {
      const { computed, name, nullable, default: given } = operation.column;
      return computed === null && !nullable && given == null ? mustBeGiven(operation.table.name, name) : undefined;
    }
    case "alter_table":
      return operation.changes.includes("primary_key") ? `${operation.table.name} has another key` : undefined;
    case "alter_column":
      return columnHindrance(operation);
  }
}

function columnHindrance({
  changes,
  column,
  table,
  to,
}: SchemaOperation & { kind: "alter_column" }): string | undefined {
  const path = `${table.name}.${column.name}`;
  const shown = (one: typeof column | typeof to) => displayType(one.type, one.nullable);
  if (changes.includes("type")) return `${path} is ${shown(column)} and not ${shown(to)}`;
  if (changes.includes("primary_key")) return `${path} is ${column.primary_key ? "a" : "no"} key`;
  if (changes.includes("stored_or_computed")) return `${path} is ${column.computed === null ? "stored" : "computed"}`;
  const isStrict = changes.includes("nullability") && column.computed === null && !column.nullable;
  return isStrict ? `${path} may not be null` : undefined;
}

function mustBeGiven(table: string, column: string): string {
  return `${table}.${column} is not known to it and must be given`;
}

function tableOf(operation: SchemaOperation): string {
  return operation.kind === "create_table" ? operation.to.name : operation.table.name;
}
