import type { Manifest } from "@appdb/contract/manifest";
import type { TableChange } from "@appdb/contract/routes/table-changes";
import type { Catalog, CatalogTable } from "../catalog/catalog.ts";
import type { Stored } from "./read-declaration.ts";

/** What a change does. Pure plans carry no effects of their own. */
export type Step =
  | { readonly kind: "nothing" }
  /** Tables that become those of the manifest, after the drop of others. */
  | {
      readonly kind: "apply";
      readonly target: string;
      readonly manifest: Manifest;
      readonly replaced: readonly Stored[];
      /** One new table, known ones with changes, or those of a program's models, new and known. */
      readonly of: "new" | "known" | "models";
    }
  | { readonly kind: "drop"; readonly dropped: readonly Stored[]; readonly folders: readonly string[] }
  | {
      readonly kind: "move";
      readonly table: CatalogTable;
      readonly replaced: readonly Stored[];
      readonly to: { readonly folder: string; readonly name: string };
    }
  | { readonly kind: "create_folder"; readonly folder: string }
  | ({ readonly kind: "move_folder" } & FolderMove);

/** A folder that gets another path, with its tables, views and folders. */
export interface FolderMove {
  readonly folder: string;
  readonly to: string;
  /** The folder and those below it. */
  readonly inside: readonly string[];
  readonly moved: readonly Stored[];
}

export interface ChangeInput {
  readonly change: TableChange;
  /** Prefix of the paths of the database's tables: `main`, `cloud://acme:main`. */
  readonly database: string;
  readonly catalog: Catalog;
  readonly folders: readonly string[];
  readonly functions: Manifest["functions"];
  readonly resource_pools: Manifest["resource_pools"];
}

/** A kind of change. */
export type Of<Kind extends TableChange["change"]> = Extract<TableChange, { readonly change: Kind }>;
