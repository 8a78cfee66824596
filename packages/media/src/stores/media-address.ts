import { appError } from "@appdb/contract/errors";
import { isKey } from "./media-store.ts";

/** Where media are stored. `prefix` has no slash at its ends. */
export type StoreAddress =
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "s3" | "gs"; readonly bucket: string; readonly prefix: string }
  | {
      readonly kind: "azure";
      readonly account: string | undefined;
      readonly container: string;
      readonly prefix: string;
    }
  | { readonly kind: "mediafs"; readonly org: string; readonly database: string; readonly prefix: string };

/** Addresses of stores of clouds. */
export const SOURCE_FORMS =
  "s3://bucket/prefix, gs://bucket/prefix, wasbs://container@account.blob.core.windows.net/prefix";
/** The addresses that a hosted database can use; its own of the last form. */
export const HOSTED_STORE_FORMS = `${SOURCE_FORMS}, mediafs://org:database/home`;
export const STORE_FORMS = `file:///folder, ${HOSTED_STORE_FORMS}`;

const PREFIX_PART = /^(?!\.{1,2}$)[A-Za-z0-9._=-]+$/;
const BUCKET = /^[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]$/;
const AZURE = /^(?:wasbs?|abfss?):\/\/([a-z0-9-]{3,63})@([a-z0-9]{3,24})\.(?:blob|dfs)\.core\.windows\.net(?:\/(.*))?$/;
const MEDIAFS = /^mediafs:\/\/([a-z0-9-]+):([a-z0-9_-]+)\/home(?:\/(.*))?$/;
const BUCKETS = /^(s3|gs):\/\/([^/]*)(?:\/(.*))?$/;

/** A place of a cloud, for which credentials are needed. */
export type CloudAddress = Extract<StoreAddress, { readonly kind: "s3" | "gs" | "azure" }>;

/** A place that is read with a credential: of a cloud, or the media store of a hosted database. */
export type RemoteAddress = Exclude<StoreAddress, { readonly kind: "file" }>;

/** An object by its place, which has the folders in its prefix, and its last name. */
export interface ObjectAddress {
  readonly store: CloudAddress;
  readonly key: string;
}

/**
 * Parses the address of a place for media.
 * @throws config_invalid with the forms that are known
 */
export function parseStoreAddress(text: string): StoreAddress {
  const address = readStoreAddress(text);
  if (address !== undefined) return address;
  throw appError("config_invalid", {
    detail: `${JSON.stringify(text.slice(0, 200))} is not an address for media.`,
    hint: `Use one of ${STORE_FORMS}.`,
  });
}

/** The same; undefined for a text of another form. */
export function readStoreAddress(text: string): StoreAddress | undefined {
  const [, scheme = "", bucket = "", path] = BUCKETS.exec(text) ?? [];
  if (BUCKET.test(bucket)) {
    const prefix = readPrefix(path);
    return prefix === undefined ? undefined : { kind: scheme === "s3" ? "s3" : "gs", bucket, prefix };
  }
  const azure = AZURE.exec(text);
  if (azure !== null) {
    const prefix = readPrefix(azure[3]);
    return prefix === undefined ? undefined : { kind: "azure", account: azure[2], container: azure[1] ?? "", prefix };
  }
  const mediafs = MEDIAFS.exec(text);
  if (mediafs !== null) {
    const [, org = "", database = "", folders] = mediafs;
    const prefix = readPrefix(folders);
    return prefix === undefined ? undefined : { kind: "mediafs", org, database, prefix };
  }
  return text.startsWith("file:///") ? readFolder(text) : undefined;
}

/** Reads the address of an object of a cloud. Each object has one spelling: no `//`, `.`, `..`, `%`, `?` or `#`. */
export function readObjectAddress(text: string): ObjectAddress | undefined {
  const at = text.lastIndexOf("/");
  const [folder, key] = [text.slice(0, at), text.slice(at + 1)];
  const store = folder.endsWith("/") ? undefined : readStoreAddress(folder);
  return store !== undefined && isCloud(store) && isKey(key) ? { store, key } : undefined;
}

export function isCloud(address: StoreAddress): address is CloudAddress {
  return address.kind !== "file" && address.kind !== "mediafs";
}

/** Prints the address of a place for media, without credentials. */
export function printStoreAddress(address: StoreAddress): string {
  if (address.kind === "file") return `file://${encodeURI(address.path)}`;
  const end = address.prefix === "" ? "" : `/${address.prefix}`;
  if (address.kind === "mediafs") return `mediafs://${address.org}:${address.database}/home${end}`;
  if (address.kind === "azure") {
    return `wasbs://${address.container}@${address.account ?? "account"}.blob.core.windows.net${end}`;
  }
  return `${address.kind}://${address.bucket}${end}`;
}

/** The folders of a place; undefined for names that stores would not take as they are. */
function readPrefix(path = ""): string | undefined {
  const prefix = path.replace(/\/$/, "");
  return prefix === "" || prefix.split("/").every((part) => PREFIX_PART.test(part)) ? prefix : undefined;
}

function readFolder(text: string): StoreAddress | undefined {
  try {
    return { kind: "file", path: decodeURIComponent(new URL(text).pathname) };
  } catch {
    // neither a URL nor encoded text: not an address
    return undefined;
  }
}
