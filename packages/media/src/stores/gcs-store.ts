import type { Bucket, File, FileMetadata } from "@google-cloud/storage";
import { readWhole } from "./content.ts";
import { printStoreAddress, type StoreAddress } from "./media-address.ts";
import { checkKey, type MediaContent, type MediaStore, type PutOptions } from "./media-store.ts";
import type { StoreSettings } from "./settings.ts";
import { credentialsError, NO_ROOM, type StoreFailure, storeError } from "./store-errors.ts";

/** Larger objects go by a resumable upload, in pieces of this size; it is a multiple of 256 KiB. */
const PIECE_BYTES = 16 << 20;
const DELETES_AT_ONCE = 16;
const MAX_PAUSE_S = 1;
const CREDENTIALS = "the secret GOOGLE_CREDENTIALS (the JSON key of a service account)";

const FAILURES: Readonly<Record<number, StoreFailure>> = {
  401: "denied",
  403: "denied",
  404: "no_store",
  [NO_ROOM]: "full",
};
/** Why a request with the status 403 was refused, if not for a missing right. */
const OVER_QUOTA = "quotaExceeded";

/**
 * Opens a bucket of Google Cloud Storage; `STORAGE_EMULATOR_HOST` names another server. The SDK is loaded here.
 * Facts: Cloud Storage JSON API (request preconditions, resumable uploads).
 * @throws media_denied for a key that is not one
 */
export async function openGcsStore(
  place: Extract<StoreAddress, { bucket: string }>,
  { environment }: StoreSettings,
): Promise<MediaStore> {
  const { Storage } = await import("@google-cloud/storage");
  const address = printStoreAddress(place);
  const emulator = environment.STORAGE_EMULATOR_HOST;
  const storage = new Storage({
    ...(emulator === undefined ? {} : { apiEndpoint: emulator }),
    ...credentialsOf(environment, address),
    // a request holds a caller: without a cap the pauses of a missing host add up to 15 seconds
    retryOptions: { autoRetry: true, maxRetries: 3, maxRetryDelay: MAX_PAUSE_S },
  });
  // the SDK reads the variable of this process too, and then leaves out the path of the API
  storage.baseUrl = `${storage.apiEndpoint}/storage/v1`;
  // without a key of its own the machine's account would be asked for each signature
  const hasKey = (environment.GOOGLE_CREDENTIALS ?? environment.GOOGLE_APPLICATION_CREDENTIALS) !== undefined;
  return new GcsStore(storage.bucket(place.bucket), address, place.prefix, hasKey);
}

class GcsStore implements MediaStore {
  readonly address: string;
  readonly #bucket: Bucket;
  readonly #prefix: string;
  readonly #hasKey: boolean;

  constructor(bucket: Bucket, address: string, prefix: string, hasKey: boolean) {
    this.address = address;
    this.#bucket = bucket;
    this.#prefix = prefix === "" ? "" : `${prefix}/`;
    this.#hasKey = hasKey;
  }

  async put(key: string, content: MediaContent, options: PutOptions): Promise<{ created: boolean }> {
    const file = this.#file(key);
    return this.#run(key, async () => {
      options.signal?.throwIfAborted();
      const settings = {
        contentType: options.content_type,
        validation: "crc32c",
        preconditionOpts: { ifGenerationMatch: 0 },
      } as const;
      try {
        if (content.bytes <= PIECE_BYTES) {
          await file.save(await readWhole(content), { ...settings, resumable: false });
          return { created: true };
        }
        // the condition counts at the end; nothing large is sent for nothing
        if ((await this.head(key)) !== undefined) return { created: false };
        await sendPieces(file, content, settings, options.signal);
        return { created: true };
      } catch (error) {
        if (statusOf(error) === 412) return { created: false };
        throw error;
      }
    });
  }

  async head(key: string) {
    return this.#run(key, async () => {
      try {
        const [metadata] = await this.#file(key).getMetadata();
        return objectOf(key, metadata);
      } catch (error) {
        if (statusOf(error) !== 404 || !(await this.#isThere())) throw error;
        return undefined;
      }
    });
  }

  pathOf(): undefined {
    return undefined;
  }

  async get(key: string, { range, signal }: Parameters<MediaStore["get"]>[1] = {}) {
    const found = await this.head(key);
    if (found === undefined) throw this.#failed("not_found", "no such object", key, undefined);
    const isEmpty = found.bytes === 0 || (range !== undefined && range.end <= range.start);
    const { bytes, version } = found;
    if (isEmpty) return { bytes, version, body: noBytes() };
    const part = range === undefined ? {} : { start: range.start, end: range.end - 1 };
    const stream = this.#file(key).createReadStream({ ...part, validation: range === undefined });
    signal?.addEventListener("abort", () => stream.destroy(signal.reason), { once: true });
    return { bytes, version, body: this.#body(stream, key) };
  }

  async list({ prefix = "", after, limit = 1_000 }: Parameters<MediaStore["list"]>[0] = {}) {
    return this.#run(undefined, async () => {
      const [files, next] = await this.#bucket.getFiles({
        prefix: this.#prefix + prefix,
        maxResults: limit,
        autoPaginate: false,
        ...(after === undefined ? {} : { pageToken: after }),
      });
      const objects = files.map(({ name, metadata }) => objectOf(name.slice(this.#prefix.length), metadata));
      return { objects, next: (next as { pageToken?: string } | null)?.pageToken };
    });
  }

  async delete(keys: readonly string[]): Promise<void> {
    const left = [...keys];
    const lane = async () => {
      for (let key = left.pop(); key !== undefined; key = left.pop()) {
        const file = this.#file(key);
        await this.#run(key, () => file.delete({ ignoreNotFound: true }));
      }
    };
    await Promise.all(Array.from({ length: DELETES_AT_ONCE }, lane));
  }

  async signGet(key: string, { expires_s: expiresS, disposition }: Parameters<MediaStore["signGet"]>[1]) {
    if (!this.#hasKey) return undefined;
    const expires = Date.now() + expiresS * 1_000;
    const [url] = await this.#run(key, () =>
      this.#file(key).getSignedUrl({
        version: "v4",
        action: "read",
        expires,
        ...(disposition === undefined ? {} : { responseDisposition: disposition }),
      }),
    );
    return url;
  }

  async signPut(key: string, options: Parameters<MediaStore["signPut"]>[1]) {
    if (!this.#hasKey) return undefined;
    const expires = Date.now() + options.expires_s * 1_000;
    const [url] = await this.#run(key, () =>
      this.#file(key).getSignedUrl({ version: "v4", action: "write", expires, contentType: options.content_type }),
    );
    return url;
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  #file(key: string): File {
    return this.#bucket.file(this.#prefix + checkKey(key));
  }

  async #isThere(): Promise<boolean> {
    const [isThere] = await this.#bucket.exists();
    return isThere;
  }

  async *#body(stream: AsyncIterable<Uint8Array>, key: string): AsyncGenerator<Uint8Array> {
    try {
      yield* stream;
    } catch (cause) {
      throw this.#toError(cause, key);
    }
  }

  async #run<T>(key: string | undefined, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (cause) {
      throw this.#toError(cause, key);
    }
  }

  #toError(cause: unknown, key: string | undefined): unknown {
    const { name = "Error", message = "" } = cause as Error;
    if (name === "AbortError" || name === "AppError") return cause;
    const status = statusOf(cause);
    if (/credential|invalid_grant|private key|client_email/i.test(message)) {
      return this.#failed("denied", message, key, cause);
    }
    const said = status === undefined ? message : `${status} ${message.slice(0, 200)}`;
    const isOverQuota = (cause as { errors?: { reason?: string }[] }).errors?.[0]?.reason === OVER_QUOTA;
    const failure = isOverQuota ? "full" : (FAILURES[status ?? 0] ?? "unavailable");
    return this.#failed(failure, said, key, cause);
  }

  #failed(failure: StoreFailure, said: string, key: string | undefined, cause: unknown): Error {
    return storeError(failure, { address: this.address, said, credentials: CREDENTIALS, key, cause });
  }
}

async function sendPieces(
  file: File,
  content: MediaContent,
  settings: { readonly contentType: string; readonly validation: "crc32c"; readonly preconditionOpts: object },
  signal: AbortSignal | undefined,
): Promise<void> {
  const { pipeline } = await import("node:stream/promises");
  const upload = file.createWriteStream({ ...settings, resumable: true, chunkSize: PIECE_BYTES });
  await pipeline(content.read(0, content.bytes), upload, signal === undefined ? {} : { signal });
}

function objectOf(
  key: string,
  { size = 0, updated = "", generation = "" }: Pick<FileMetadata, "size" | "updated" | "generation">,
) {
  return { key, bytes: Number(size), modified_ms: Date.parse(updated) || 0, version: String(generation) };
}

/** @returns what the SDK is given; without a key the machine's own account counts, and an emulator wants none */
function credentialsOf(environment: StoreSettings["environment"], address: string): object {
  const text = environment.GOOGLE_CREDENTIALS;
  if (text !== undefined) {
    const credentials = readKey(text, address);
    return { credentials, ...(credentials.project_id === undefined ? {} : { projectId: credentials.project_id }) };
  }
  const file = environment.GOOGLE_APPLICATION_CREDENTIALS;
  if (file !== undefined) return { keyFilename: file };
  return environment.STORAGE_EMULATOR_HOST === undefined ? {} : { projectId: "emulator" };
}

/** @throws media_denied for a text that is not the key of an account */
function readKey(text: string, address: string): { readonly project_id?: string } {
  try {
    const key = JSON.parse(text) as { client_email?: unknown; project_id?: string; type?: unknown } | null;
    if (typeof key?.client_email === "string" || typeof key?.type === "string") return key;
  } catch {
    // its message would show the text
  }
  throw credentialsError(address, "GOOGLE_CREDENTIALS", "is not the JSON key of a service account");
}

async function* noBytes(): AsyncGenerator<Uint8Array> {}

function statusOf(error: unknown): number | undefined {
  const { code } = error as { code?: number | string };
  return typeof code === "number" ? code : undefined;
}
