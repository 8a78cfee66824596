import { AppError, appError } from "@appdb/contract/errors";
import { isMediaUri, type MediaUri, parseMediaUri } from "@appdb/contract/media-uri";
import {
  type CloudAddress,
  printStoreAddress,
  type RemoteAddress,
  readObjectAddress,
  readStoreAddress,
} from "../stores/media-address.ts";
import { copyFirst } from "./missing-files.ts";

/** An object of a store that the database reads. */
export interface SourceObject {
  /** The store's address. */
  readonly store: string;
  readonly key: string;
}

/** How a person adds a store for given addresses. Shows the text to write. */
export type DescribeSetting = (store: string) => string;

/**
 * The stores of clouds and of hosted databases in which a given address may lie. The service reads them with credentials
 * of its own, so that any other store would be open to everyone who may insert a row.
 */
export class MediaSources {
  readonly #stores: readonly RemoteAddress[];
  readonly #describe: DescribeSetting;

  /** `stores`: addresses and names of stores. Folders are left out: no request can name their files. */
  constructor(stores: readonly string[], describe: DescribeSetting) {
    const known = stores.map(readStoreAddress).filter((address) => address !== undefined && address.kind !== "file");
    // The whole bucket comes before its folders, so that one client serves both.
    this.#stores = known.sort((one, other) => one.prefix.length - other.prefix.length);
    this.#describe = describe;
  }

  /** Finds the object of a given address. @throws invalid_request, media_source_not_allowed */
  find(url: string): SourceObject {
    const object = isMediaUri(url) ? readManaged(url) : readObjectAddress(url);
    if (object === undefined) throw invalidAddress(url);
    const { store, key } = object;
    const path = store.prefix === "" ? key : `${store.prefix}/${key}`;
    for (const known of this.#stores) {
      if (!isSamePlace(known, store)) continue;
      const start = known.prefix === "" ? "" : `${known.prefix}/`;
      if (path.startsWith(start)) return { store: printStoreAddress(known), key: path.slice(start.length) };
    }
    throw appError("media_source_not_allowed", {
      detail: `The address ${shorten(url)} is not in a store that this database reads.`,
      hint: isMediaUri(url)
        ? copyFirst(url)
        : `Upload the file, or allow its store: ${this.#describe(printStoreAddress(store))}`,
      meta: { address: shorten(url) },
    });
  }
}

/** A file of a hosted database's store. Its name has any alphabet. */
function readManaged(url: string): { readonly store: RemoteAddress; readonly key: string } | undefined {
  const uri = tryParse(url);
  if (uri === undefined || uri.is_folder || !("organization" in uri.database)) return undefined;
  const { database, name } = uri;
  const { organization: org } = database;
  return { store: { kind: "mediafs", org, database: database.database, prefix: "" }, key: name };
}

function tryParse(url: string): MediaUri | undefined {
  try {
    return parseMediaUri(url);
  } catch (error) {
    if (error instanceof AppError) return undefined;
    throw error;
  }
}

function isSamePlace(one: RemoteAddress, other: RemoteAddress): boolean {
  if (one.kind === "mediafs") {
    return other.kind === "mediafs" && one.org === other.org && one.database === other.database;
  }
  return other.kind !== "mediafs" && isSameBucket(one, other);
}

function isSameBucket(one: CloudAddress, other: CloudAddress): boolean {
  if (one.kind === "azure") {
    return other.kind === "azure" && one.account === other.account && one.container === other.container;
  }
  return one.kind === other.kind && one.bucket === other.bucket;
}

function invalidAddress(url: string): Error {
  return appError("invalid_request", {
    detail: `${JSON.stringify(shorten(url))} is not the address of a file in a store.`,
    hint: "Write s3://bucket/folder/file, gs://bucket/folder/file, wasbs://container@account.blob.core.windows.net/folder/file or mediafs://acme:main/home/folder/file. Names in buckets have letters, digits and . _ = - only. Otherwise upload the file.",
  });
}

function shorten(text: string): string {
  return text.length <= 300 ? text : `${text.slice(0, 300)}...`;
}
