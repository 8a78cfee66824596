import { basename } from "node:path";
import { type AppError, appError } from "@appdb/contract/errors";
import { HOME_STORE } from "@appdb/contract/media-place";
import { isObjectKey } from "@appdb/contract/media-uri";
import type { MediaStore } from "../stores/media-store.ts";

/** The stores of a database. */
export interface OwnStores {
  /** Opens a store by its name in references: `home`, or an address. The same store for the same name. */
  openStore(name: string): Promise<MediaStore>;
  /** The names of all stores that files are put into. */
  readonly own_stores: readonly string[];
  /** Whether the database has put files into a store, whose column may have another destination now. */
  hasObjects(store: string): Promise<boolean>;
}

/**
 * Opens the store of a reference, with credentials of the database. Another store, and a name that no content has, are
 * not of a file that the database stored. @throws media_not_found
 */
export async function openOwn(
  { hasObjects, openStore, own_stores: ownStores }: OwnStores,
  name: string,
  key: string,
): Promise<MediaStore> {
  if (!isObjectKey(key)) throw notFound(basename(key));
  if (name !== HOME_STORE && !ownStores.includes(name) && !(await hasObjects(name))) throw notFound(basename(key));
  return await openStore(name);
}

export function notFound(name: string): AppError {
  return appError("media_not_found", {
    detail: `The file ${JSON.stringify(name)} does not exist any more.`,
    hint: "Read the row again for the address of its present file. If that file is lost, upload it again, or run `cli recompute` for a computed column.",
  });
}
