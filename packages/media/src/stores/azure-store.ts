import { createHash } from "node:crypto";
import type { BlockBlobClient, ContainerClient, RestError } from "@azure/storage-blob";
import { readPart, readWhole, sendParts } from "./content.ts";
import { printStoreAddress, type StoreAddress } from "./media-address.ts";
import { checkKey, type MediaContent, type MediaStore, type PutOptions } from "./media-store.ts";
import type { StoreSettings } from "./settings.ts";
import { NO_ROOM, type StoreFailure, storeError } from "./store-errors.ts";

/** A blob has at most 50,000 blocks. */
const BLOCK_BYTES = 16 << 20;
const MAX_BLOCKS = 50_000;
const DELETE_AT_ONCE = 16;
const CREDENTIALS = "the secret AZURE_STORAGE_CONNECTION_STRING, or AZURE_STORAGE_ACCOUNT and AZURE_STORAGE_KEY";

const FAILURES: Readonly<Record<string, StoreFailure>> = {
  BlobNotFound: "not_found",
  ContainerNotFound: "no_store",
  ContainerBeingDeleted: "no_store",
  AuthenticationFailed: "denied",
  AuthorizationFailure: "denied",
  AuthorizationPermissionMismatch: "denied",
  InsufficientAccountPermissions: "denied",
  InvalidAuthenticationInfo: "denied",
  Md5Mismatch: "invalid",
  ENOTFOUND: "no_store",
};
/** Other failures: there are many codes. */
const OF_STATUS: Readonly<Record<number, StoreFailure>> = { 401: "denied", 403: "denied", [NO_ROOM]: "full" };
/** A blob of the name is there. */
const TAKEN = ["BlobAlreadyExists", "ConditionNotMet"];

type AzurePlace = Extract<StoreAddress, { kind: "azure" }>;

/**
 * Opens a container of Azure Blob Storage. The SDK is loaded here.
 * Facts: Blob service REST API (Put Blob, Put Block List, conditional headers).
 */
export async function openAzureStore(place: AzurePlace, { environment }: StoreSettings): Promise<MediaStore> {
  const sdk = await import("@azure/storage-blob");
  const address = printStoreAddress(place);
  const options = { retryOptions: { maxTries: 4, retryDelayInMs: 200, maxRetryDelayInMs: 5_000 } };
  const text = environment.AZURE_STORAGE_CONNECTION_STRING;
  const account = place.account ?? environment.AZURE_STORAGE_ACCOUNT ?? "";
  const endpoint = environment.AZURE_STORAGE_ENDPOINT ?? `https://${account}.blob.core.windows.net`;
  const key = environment.AZURE_STORAGE_KEY;
  const token = environment.AZURE_STORAGE_SAS_TOKEN?.replace(/^\?/, "");
  try {
    if (text !== undefined) {
      const service = sdk.BlobServiceClient.fromConnectionString(text, options);
      return new AzureStore(sdk, service.getContainerClient(place.container), address, place.prefix);
    }
    const credential = key === undefined ? undefined : new sdk.StorageSharedKeyCredential(account, key);
    const url = token === undefined || key !== undefined ? endpoint : `${endpoint}?${token}`;
    const service = new sdk.BlobServiceClient(url, credential, options);
    return new AzureStore(sdk, service.getContainerClient(place.container), address, place.prefix);
  } catch (cause) {
    throw storeError("denied", { address, said: (cause as Error).message, credentials: CREDENTIALS, cause });
  }
}

class AzureStore implements MediaStore {
  readonly address: string;
  readonly #sdk: typeof import("@azure/storage-blob");
  readonly #container: ContainerClient;
  readonly #prefix: string;

  constructor(sdk: typeof import("@azure/storage-blob"), container: ContainerClient, address: string, prefix: string) {
    this.address = address;
    this.#sdk = sdk;
    this.#container = container;
    this.#prefix = prefix === "" ? "" : `${prefix}/`;
  }

  async put(key: string, content: MediaContent, options: PutOptions): Promise<{ created: boolean }> {
    const blob = this.#blob(key);
    return this.#run(key, async () => {
      const settings = {
        conditions: { ifNoneMatch: "*" },
        blobHTTPHeaders: { blobContentType: options.content_type },
        ...abort(options.signal),
      };
      try {
        if (content.bytes <= BLOCK_BYTES) {
          const bytes = await readWhole(content);
          const blobHTTPHeaders = { ...settings.blobHTTPHeaders, blobContentMD5: md5(bytes) };
          await blob.upload(bytes, bytes.length, { ...settings, blobHTTPHeaders });
        } else {
          // the condition counts at the end; nothing large is sent for nothing
          if ((await this.head(key)) !== undefined) return { created: false };
          await blob.commitBlockList(await stageBlocks(blob, content, options.signal), settings);
        }
        return { created: true };
      } catch (error) {
        if (TAKEN.includes(codeOf(error))) return { created: false };
        throw error;
      }
    });
  }

  async head(key: string) {
    return this.#run(key, async () => {
      try {
        const found = await this.#blob(key).getProperties();
        const { contentLength: bytes = 0, etag, lastModified } = found;
        return { key, bytes, modified_ms: lastModified?.getTime() ?? 0, version: versionOf(etag) };
      } catch (error) {
        if ((error as RestError).statusCode !== 404 || !(await this.#container.exists())) throw error;
        return undefined;
      }
    });
  }

  pathOf(): undefined {
    return undefined;
  }

  async get(key: string, { range, signal }: Parameters<MediaStore["get"]>[1] = {}) {
    const isEmpty = range !== undefined && range.end <= range.start;
    return this.#run(key, async () => {
      if (isEmpty) {
        const { contentLength: bytes = 0, etag } = await this.#blob(key).getProperties();
        return { bytes, version: versionOf(etag), body: noBytes() };
      }
      const found = await this.#blob(key).download(
        range?.start ?? 0,
        range === undefined ? undefined : range.end - range.start,
        abort(signal),
      );
      const bytes = Number(found.contentRange?.split("/")[1] ?? found.contentLength ?? 0);
      return {
        bytes,
        version: versionOf(found.etag),
        body: found.readableStreamBody as unknown as AsyncIterable<Uint8Array>,
      };
    });
  }

  async list({ prefix = "", after, limit = 1_000 }: Parameters<MediaStore["list"]>[0] = {}) {
    return this.#run(undefined, async () => {
      const pages = this.#container
        .listBlobsFlat({ prefix: this.#prefix + prefix })
        .byPage({ maxPageSize: limit, ...(after === undefined ? {} : { continuationToken: after }) });
      const { value } = await pages.next();
      const items = value?.segment.blobItems ?? [];
      const objects = items.map(({ name, properties }: BlobItem) => ({
        key: name.slice(this.#prefix.length),
        bytes: properties.contentLength ?? 0,
        modified_ms: properties.lastModified.getTime(),
        version: versionOf(properties.etag),
      }));
      const next = value?.continuationToken;
      return { objects, next: next === "" ? undefined : next };
    });
  }

  async delete(keys: readonly string[]): Promise<void> {
    const left = [...keys];
    const lane = async () => {
      for (let key = left.pop(); key !== undefined; key = left.pop()) {
        const blob = this.#blob(key);
        await this.#run(key, () => blob.deleteIfExists());
      }
    };
    await Promise.all(Array.from({ length: DELETE_AT_ONCE }, lane));
  }

  async signGet(key: string, { expires_s: expiresS, disposition }: Parameters<MediaStore["signGet"]>[1]) {
    const options = disposition === undefined ? {} : { contentDisposition: disposition };
    return this.#sign(key, "r", expiresS, options);
  }

  async signPut(key: string, { expires_s: expiresS }: Parameters<MediaStore["signPut"]>[1]) {
    return this.#sign(key, "cw", expiresS, {});
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  #blob(key: string): BlockBlobClient {
    return this.#container.getBlockBlobClient(this.#prefix + checkKey(key));
  }

  /** Undefined with a SAS token: only a key signs. */
  async #sign(key: string, rights: string, expiresS: number, options: object): Promise<string | undefined> {
    if (!(this.#container.credential instanceof this.#sdk.StorageSharedKeyCredential)) return undefined;
    const permissions = this.#sdk.BlobSASPermissions.parse(rights);
    const expiresOn = new Date(Date.now() + expiresS * 1_000);
    return this.#run(key, () => this.#blob(key).generateSasUrl({ permissions, expiresOn, ...options }));
  }

  async #run<T>(key: string | undefined, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (cause) {
      const { name = "Error", statusCode } = cause as RestError;
      if (name === "AbortError" || name === "AppError") throw cause;
      const code = codeOf(cause);
      const failure = FAILURES[code] ?? OF_STATUS[statusCode ?? 0] ?? "unavailable";
      const said = code === "" ? (cause as Error).message.split("\n", 1)[0] : code;
      throw storeError(failure, { address: this.address, said: said ?? "", credentials: CREDENTIALS, key, cause });
    }
  }
}

interface BlobItem {
  readonly name: string;
  readonly properties: { readonly contentLength?: number; readonly lastModified: Date; readonly etag?: string };
}

async function stageBlocks(
  blob: BlockBlobClient,
  content: MediaContent,
  signal: AbortSignal | undefined,
): Promise<string[]> {
  const blockBytes = Math.max(BLOCK_BYTES, Math.ceil(content.bytes / MAX_BLOCKS));
  return sendParts(content, blockBytes, async (start, end, index) => {
    const id = Buffer.from(String(index).padStart(6, "0")).toString("base64");
    const bytes = await readPart(content, start, end);
    await blob.stageBlock(id, bytes, bytes.length, { ...abort(signal), transactionalContentMD5: md5(bytes) });
    return id;
  });
}

/** Lists have tags without quotes. */
function versionOf(etag = ""): string {
  return etag.replaceAll('"', "");
}

function md5(bytes: Uint8Array): Uint8Array {
  return createHash("md5").update(bytes).digest();
}

function abort(signal: AbortSignal | undefined): { abortSignal?: AbortSignal } {
  return signal === undefined ? {} : { abortSignal: signal };
}

async function* noBytes(): AsyncGenerator<Uint8Array> {}

function codeOf(error: unknown): string {
  const { code, details } = error as RestError & { details?: { errorCode?: string } };
  return details?.errorCode ?? code ?? "";
}
