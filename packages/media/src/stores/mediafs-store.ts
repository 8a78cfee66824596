import { Readable } from "node:stream";
import type { AnswerOf, CallOptions, InputOf } from "@appdb/contract/clients/client";
import { AppError } from "@appdb/contract/errors";
import { isObjectKey } from "@appdb/contract/media-uri";
import { MAX_REMOVED, type MediaEntry, type ReadableFile } from "@appdb/contract/routes/media-files";
import type { POD_API } from "@appdb/contract/routes/pod-api";
import { openContent, putContent, type Transfer } from "@appdb/system/network/transfer-file";
import { printStoreAddress, type StoreAddress } from "./media-address.ts";
import { checkKey, type MediaBody, type MediaContent, type MediaStore, type PutOptions } from "./media-store.ts";
import { type StoreFailure, storeError } from "./store-errors.ts";

const EXPIRES_S = 3_600;
/** An address is used for so long; what is being read with it then ends in time. */
const USED_MS = 3_000_000;
const MAX_ADDRESSES = 10_000;
/** A request waits for its file, so that it does not try for long. */
const PAUSES_S = [0.2, 1, 3];
const CREDENTIALS = "the sign-in (cli login) or SERVICE_API_KEY";

type Routes = Pick<typeof POD_API, "mediaList" | "mediaRemove" | "mediaRead" | "mediaWrite">;

/** The routes of a database's managed store, as a client of its control plane or daemon reaches them. */
export interface ManagedRoutes {
  call<Name extends keyof Routes>(
    name: Name,
    input: InputOf<Routes[Name]>,
    options: Pick<CallOptions, "signal">,
  ): Promise<AnswerOf<Routes[Name]>>;
  /** The complete address of a file. */
  resolve(address: string): string;
}

/** Opens a folder of a managed store: its objects are named files there. No request is sent yet. */
export function openMediafsStore(place: Extract<StoreAddress, { kind: "mediafs" }>, routes: ManagedRoutes): MediaStore {
  return new MediafsStore(place, routes);
}

/**
 * A name keeps its content from being collected, and only who gave a name removes it. So objects are names in a folder,
 * and content that other rows or names refer to stays when one is deleted.
 */
class MediafsStore implements MediaStore {
  readonly address: string;
  readonly #routes: ManagedRoutes;
  readonly #folder: string;
  /** Puts by their names: a second one of a name waits for the first, and then finds it. */
  readonly #puts = new Map<string, Promise<unknown>>();
  readonly #addresses = new Map<string, { readonly file: ReadableFile; readonly until: number }>();

  constructor(place: Extract<StoreAddress, { kind: "mediafs" }>, routes: ManagedRoutes) {
    this.address = printStoreAddress(place);
    this.#routes = routes;
    this.#folder = place.prefix === "" ? "" : `${place.prefix}/`;
  }

  async put(key: string, content: MediaContent, options: PutOptions): Promise<{ created: boolean }> {
    const name = this.#folder + checkKey(key);
    for (let running = this.#puts.get(name); running !== undefined; running = this.#puts.get(name)) {
      await running.catch(() => undefined);
    }
    const putting = this.#run(key, options.signal, () => this.#put(key, content, options));
    this.#puts.set(name, putting);
    try {
      return await putting;
    } finally {
      this.#puts.delete(name);
    }
  }

  async head(key: string) {
    const name = this.#folder + key;
    return await this.#run(key, undefined, async () => {
      const query = { name, deep: "1", objects: isObjectKey(name) ? "1" : "0", limit: 1 } as const;
      const { items } = await this.#routes.call("mediaList", { query }, {});
      const [found] = items;
      return found?.name === name && !found.is_folder ? this.#toObject(found) : undefined;
    });
  }

  pathOf(): undefined {
    return undefined;
  }

  async get(key: string, { range, signal }: Parameters<MediaStore["get"]>[1] = {}): Promise<MediaBody> {
    const name = this.#folder + key;
    return await this.#run(key, signal, async () => {
      const known = this.#addresses.get(name);
      if (known !== undefined && known.until > Date.now()) {
        try {
          return await this.#open(known.file, range, signal);
        } catch (error) {
          // its file may have been put again, or the server signs in another way now
          if (!(error instanceof AppError) || signal?.aborted === true) throw error;
          this.#addresses.delete(name);
        }
      }
      return await this.#open(await this.#readable(name, signal), range, signal);
    });
  }

  async list({ prefix = "", after, limit = 1_000 }: Parameters<MediaStore["list"]>[0] = {}) {
    return await this.#run(undefined, undefined, async () => {
      const folder = this.#folder + prefix.slice(0, prefix.lastIndexOf("/") + 1);
      const query = { name: folder.replace(/\/$/, ""), deep: "1", limit, cursor: after } as const;
      const { items, next } = await this.#routes.call("mediaList", { query }, {});
      const objects = items.map((item) => this.#toObject(item)).filter((object) => object.key.startsWith(prefix));
      return { objects, next: next ?? undefined };
    });
  }

  async delete(keys: readonly string[]): Promise<void> {
    const names = keys.map((key) => this.#folder + checkKey(key));
    for (let at = 0; at < names.length; at += MAX_REMOVED) {
      const body = { names: names.slice(at, at + MAX_REMOVED) };
      await this.#run(undefined, undefined, () => this.#routes.call("mediaRemove", { body }, {}));
    }
    for (const name of names) this.#addresses.delete(name);
  }

  async signGet(): Promise<undefined> {
    return undefined;
  }

  async signPut(): Promise<undefined> {
    return undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#addresses.clear();
  }

  async #put(key: string, content: MediaContent, { sha256, signal }: PutOptions): Promise<{ created: boolean }> {
    const name = this.#folder + key;
    // the server would give the name other content that it has
    if (!isNamedBy(key, sha256) && (await this.head(key)) !== undefined) return { created: false };
    const { bytes } = content;
    const body = { files: [{ name, bytes, ...(sha256 === undefined ? {} : { sha256 }) }], expires_s: EXPIRES_S };
    const { files } = await this.#routes.call("mediaWrite", { body }, { signal });
    const [file] = files;
    if (file?.address == null) return { created: file?.is_same !== true };
    try {
      const sent = { bytes, read: () => content.read(0, bytes) };
      await putContent(this.#routes.resolve(file.address), sent, transferOf(signal), { "if-none-match": "*" });
      return { created: true };
    } catch (error) {
      if (error instanceof AppError && error.code === "media_exists") return { created: false };
      throw error;
    }
  }

  async #readable(name: string, signal: AbortSignal | undefined): Promise<ReadableFile> {
    const body = { names: [name], expires_s: EXPIRES_S };
    const { files } = await this.#routes.call("mediaRead", { body }, { signal });
    const file = files[0] as ReadableFile;
    // any other name can get other content
    if (!isNamedBy(name, file.sha256)) return file;
    if (this.#addresses.size >= MAX_ADDRESSES) this.#addresses.clear();
    this.#addresses.set(name, { file, until: Date.now() + USED_MS });
    return file;
  }

  async #open(
    { address, bytes, sha256: version }: ReadableFile,
    range: { readonly start: number; readonly end: number } | undefined,
    signal: AbortSignal | undefined,
  ): Promise<MediaBody> {
    if (range !== undefined && range.end <= range.start) return { bytes, version, body: Readable.from([]) };
    const body = await openContent(this.#routes.resolve(address), range, transferOf(signal));
    return { bytes, version, body };
  }

  #toObject({ bytes, name, sha256, updated_at: updatedAt }: MediaEntry) {
    const key = name.slice(this.#folder.length);
    return { key, bytes, modified_ms: Date.parse(updatedAt), version: sha256 ?? "" };
  }

  async #run<T>(key: string | undefined, signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (cause) {
      signal?.throwIfAborted();
      if (!(cause instanceof AppError)) throw cause;
      const failure = failureOf(cause);
      if (failure === undefined) throw cause;
      const said = cause.message.replace(/\.$/, "");
      throw storeError(failure, { address: this.address, said, credentials: CREDENTIALS, key, cause });
    }
  }
}

/** The failure of a store; undefined for an error that says all of it. */
function failureOf({ code, status }: AppError): StoreFailure | undefined {
  if (code === "media_not_found") return "not_found";
  if (code.startsWith("media_") || code === "invalid_name") return undefined;
  if (code === "not_signed_in" || status === 401 || status === 403) return "denied";
  return status === 404 ? "no_store" : "unavailable";
}

function isNamedBy(key: string, sha256: string | undefined): boolean {
  return sha256 !== undefined && key.includes(sha256);
}

function transferOf(signal: AbortSignal | undefined): Transfer {
  return { signal: signal ?? new AbortController().signal, pauses_s: PAUSES_S };
}
