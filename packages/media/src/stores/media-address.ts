import { appError } from "@appdb/contract/errors";

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

/** The addresses that a hosted database can use; its own of the last form. */
export const HOSTED_STORE_FORMS =
  "s3://bucket/prefix, gs://bucket/prefix, wasbs://container@account.blob.core.windows.net/prefix, mediafs://org:database/home";
export const STORE_FORMS = `file:///folder, ${HOSTED_STORE_FORMS}`;

const PREFIX_PART = /^(?!\.{1,2}$)[A-Za-z0-9._=-]+$/;
const BUCKET = /^[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]$/;
const AZURE = /^(?:wasbs?|abfss?):\/\/([a-z0-9-]{3,63})@([a-z0-9]{3,24})\.(?:blob|dfs)\.core\.windows\.net(?:\/(.*))?$/;
const MEDIAFS = /^mediafs:\/\/([a-z0-9-]+):([a-z0-9_-]+)\/home(?:\/(.*))?$/;
const BUCKETS = /^(s3|gs):\/\/([^/]*)(?:\/(.*))?$/;

/**
 * Parses the address of a place for media.
 * @throws config_invalid with the forms that are known
 */
export function parseStoreAddress(text: string): StoreAddress {
  const [, scheme = "", bucket = "", path] = BUCKETS.exec(text) ?? [];
  if (BUCKET.test(bucket)) return { kind: scheme === "s3" ? "s3" : "gs", bucket, prefix: prefixOf(text, path) };
  const azure = AZURE.exec(text);
  if (azure !== null) {
    return { kind: "azure", account: azure[2], container: azure[1] ?? "", prefix: prefixOf(text, azure[3]) };
  }
  const mediafs = MEDIAFS.exec(text);
  if (mediafs !== null) {
    return { kind: "mediafs", org: mediafs[1] ?? "", database: mediafs[2] ?? "", prefix: prefixOf(text, mediafs[3]) };
  }
  if (text.startsWith("file:///") && URL.canParse(text)) {
    return { kind: "file", path: decodeURIComponent(new URL(text).pathname) };
  }
  throw invalidAddress(text);
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

function prefixOf(text: string, path = ""): string {
  const prefix = path.replace(/\/$/, "");
  if (prefix !== "" && !prefix.split("/").every((part) => PREFIX_PART.test(part))) throw invalidAddress(text);
  return prefix;
}

function invalidAddress(text: string): Error {
  return appError("config_invalid", {
    detail: `${JSON.stringify(text.slice(0, 200))} is not an address for media.`,
    hint: `Use one of ${STORE_FORMS}.`,
  });
}
