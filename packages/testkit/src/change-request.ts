import type { ManifestTable } from "@appdb/contract/manifest";
import { type TableChange, tableChangeSchema } from "@appdb/contract/routes/table-changes";
import type { ChangeRequest } from "@appdb/engine/table-changes/change-table";
import { aFunction } from "./manifest-builder.ts";

/** A request of a program to create a table or view of `main`, whose columns may call the function `app:bad`. */
export function aCreation(definition: ManifestTable, ifExists = "error"): ChangeRequest {
  const asked = { change: "create_table", table: definition.name, definition, if_exists: ifExists };
  return {
    change: tableChangeSchema.parse(asked) as TableChange,
    database: "main",
    functions: [aFunction("app:bad", "string")],
    resource_pools: [],
    runtime_id: "runtime-1",
    on_error: "abort",
    dry_run: false,
  };
}
