import { basename } from "node:path/posix";
import { fileURLToPath } from "node:url";
import { appError } from "@appdb/contract/errors";
import type { StoredObject } from "@appdb/engine/media/media-objects";
import { readStoreAddress } from "../stores/media-address.ts";

/** The error of a name that a database's media store does not have. `uri` is the store's. */
export function notFound(uri: string, name: string): Error {
  return appError("media_not_found", {
    detail: `${uri} has no file ${JSON.stringify(name)}.`,
    hint: `List its files: cli media ls -r ${uri}`,
    meta: { store: uri, name },
  });
}

/** The error of a row's file in another store of the database. Its address has the form of one in the database's own. */
export function inOtherStore(uri: string, { key, store }: Pick<StoredObject, "key" | "store">): Error {
  return appError("media_not_found", {
    detail: `${uri}/${key} is a row's file in the store ${store}, and not in ${uri}.`,
    hint: stepFor(`${store}/${key}`, readStoreAddress(store)?.kind),
    meta: { store, name: key },
  });
}

function stepFor(address: string, kind: string | undefined): string {
  if (kind === "file") return `Copy it on the machine of the database: cp ${shellWord(fileURLToPath(address))} FILE`;
  if (kind === "mediafs") return `Copy it from there: cli media cp ${shellWord(address)} FILE`;
  return `Copy ${address} with a program of its cloud, or read the row's file in Python: table.collect()`;
}

/** The next step for a row that names a file of another database's store. */
export function copyFirst(uri: string): string {
  return `Copy the file (cli media cp ${shellWord(uri)} copies/), and give the path of the copy: copies/${basename(uri)}`;
}

function shellWord(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}
