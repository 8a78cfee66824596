import { appError } from "@appdb/contract/errors";
import type { Manifest } from "@appdb/contract/manifest";
import type { TableIncompatibility } from "@appdb/contract/routes/pod";
import { displayType } from "@appdb/contract/types";
import type { Catalog } from "../catalog/catalog.ts";
import type { SchemaOperation } from "../catalog/operations.ts";
import { columnPath } from "../catalog/sql-names.ts";
import { planSchema } from "../schema/plan-schema.ts";
import { TRY_AGAIN } from "../write/table-version.ts";

interface TablesOfApplication {
  readonly manifest: Manifest;
  readonly target: string;
}

/**
 * Refuses tables that a service could not write. Additions by a later update are allowed: a service that restarts after
 * a crash must not fail because of them. `is_started`: the manifest is of the service's last update, not of the current
 * file. `onStale`: of writes of people, who have no service.
 * @throws schema_mismatch naming the tables
 */
export function checkTables(
  input: TablesOfApplication & { readonly is_started?: boolean; readonly onStale?: (() => void) | undefined },
  catalog: Catalog,
): void {
  const different = [...new Set(findIncompatibilities(input, catalog).map(({ table }) => table))];
  if (different.length === 0) return;
  const { app_file: appFile } = input.manifest;
  if (input.onStale !== undefined) {
    input.onStale();
    throw appError("schema_mismatch", {
      detail: `The tables of ${input.target} are not as they were when they were opened: ${different.join(", ")}.`,
      hint: `${TRY_AGAIN} If that fails, too: cli schema update ${appFile === "" ? "<app file>" : appFile} ${input.target}`,
      meta: { target: input.target, tables: different },
    });
  }
  if (input.is_started === true) {
    // The current file is unknown here. The update of the service reports whether its tables are outdated.
    throw appError("schema_mismatch", {
      detail: `The tables of ${input.target} have changed since the service was started: ${different.join(", ")}.`,
      hint: `Update the service from the current ${appFile}: cli service update ${appFile} ${input.target}`,
      meta: { target: input.target, tables: different },
    });
  }
  throw appError("schema_mismatch", {
    detail: `The tables of ${input.target} differ from those that ${appFile} declares: ${different.join(", ")}.`,
    hint: `Update the tables: cli schema update ${appFile} ${input.target}`,
    meta: { target: input.target, tables: different },
  });
}

/** Finds differences in the current tables that prevent services from starting or storing rows. Pure. */
export function findIncompatibilities(input: TablesOfApplication, catalog: Catalog): TableIncompatibility[] {
  const { operations } = planSchema({ ...input, catalog });
  return operations.flatMap((operation) => {
    const reason = hindranceOf(operation);
    return reason === undefined ? [] : [{ table: tableOf(operation), reason }];
  });
}

/** An operation would change the table to match the manifest. `drop` means that the table is newer than the
 *  manifest. */
function hindranceOf(operation: SchemaOperation): string | undefined {
  switch (operation.kind) {
    case "create_table":
      return `table ${operation.to.name} is missing`;
    case "rename_table":
      return `${operation.table.name} is still named ${operation.from}`;
    case "rename_column":
      return `${operation.table.name}.${operation.column.name} is still named ${operation.from}`;
    case "refuse_rename":
      return `${operation.table.name}${operation.name === null ? "" : `.${operation.name}`}: ${operation.reason}`;
    case "add_column":
      return operation.to.is_hidden === true ? undefined : `${operation.table.name}.${operation.to.name} is missing`;
    case "add_index":
    case "drop_index":
    case "rename_index":
    case "replace_index":
    case "alter_index":
      return undefined;
    case "drop_column": {
      const { computed, name, nullable, default: defaultValue } = operation.column;
      return computed === null && !nullable && defaultValue == null
        ? describeRequired(operation.table.name, name)
        : undefined;
    }
    case "alter_table":
      return operation.changes.includes("primary_key") ? `${operation.table.name} has another primary key` : undefined;
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
  const path = columnPath(table.name, column.name);
  const shown = (one: typeof column | typeof to) => displayType(one.type, one.nullable);
  if (changes.includes("type")) return `${path} is ${shown(column)} and not ${shown(to)}`;
  if (changes.includes("primary_key")) return `${path} is ${column.primary_key ? "" : "not "}part of the primary key`;
  if (changes.includes("stored_or_computed")) return `${path} is ${column.computed === null ? "stored" : "computed"}`;
  const isStrict = changes.includes("nullability") && column.computed === null && !column.nullable;
  return isStrict ? `${path} may not be null` : undefined;
}

function describeRequired(table: string, column: string): string {
  return `${table}.${column} is unknown to it and required`;
}

function tableOf(operation: SchemaOperation): string {
  return operation.kind === "create_table" ? operation.to.name : operation.table.name;
}
