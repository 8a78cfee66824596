import { createHash, randomBytes } from "node:crypto";
import { open, rm } from "node:fs/promises";
import { join } from "node:path";
import { appError } from "@appdb/contract/errors";
import { checkMediaName, hashOfKey, isObjectFolder, isObjectKey, objectKey } from "@appdb/contract/media-uri";
import type { ReadableFile, StoredFile, WritableFile } from "@appdb/contract/routes/media-files";
import { answerError, JSON_HEADERS, type RouteAnswer } from "@appdb/engine/answers/answers";
import { fileAnswer } from "@appdb/engine/answers/file-answer";
import {
  collectMedia,
  type KeptBecause,
  MEDIA_GRACE_MS,
  type Pruned,
  pruneMedia,
  removeUnused,
} from "@appdb/engine/media/collect-media";
import type { ListNames, MediaNames, NamedFile } from "@appdb/engine/media/media-names";
import { type MediaObjects, readLimitedUse } from "@appdb/engine/media/media-objects";
import type { Logger, MediaFiles, SqlPool } from "@appdb/engine/ports";
import { isDiskFull } from "@appdb/system/files/is-disk-full";
import { fileContent } from "../stores/content.ts";
import type { MediaStore } from "../stores/media-store.ts";
import { readHead } from "./file-source.ts";
import { UNKNOWN } from "./media-files.ts";
import { inOtherStore, notFound } from "./missing-files.ts";
import { SNIFFED_BYTES, sniffType } from "./sniff-type.ts";
import { type MeasuredRoom, StoreRooms } from "./store-room.ts";
import type { StorePermit, StoreTokens } from "./store-tokens.ts";

/** Maximum names in a store. */
const MAX_FILES = 1_000_000;
/** An upload asks this often whether there is still room. */
const CHECKED_BYTES = 64_000_000;
/** The end of the names of files on their way. One process at a time puts files for people into a store. */
export const UPLOAD_END = ".part";
/** Content of an address never changes. */
const CACHED = "private, max-age=3600, immutable";

export interface ManagedStoreOptions {
  readonly sql: SqlPool;
  readonly names: MediaNames;
  readonly objects: Pick<MediaObjects, "find" | "record" | "requireWritable">;
  /** The store's name in cells. */
  readonly store_name: string;
  readonly store: MediaStore;
  /** Shows other processes that drafts of this one are in use. */
  readonly mark: Disposable;
  /** For messages: `mediafs://acme:main/home`. */
  readonly uri: string;
  /** A private folder on the disk of the store. */
  readonly uploads_folder: string;
  readonly tokens: StoreTokens;
  /** Bytes that can still be stored; undefined: only the disk sets a limit. */
  room(): Promise<MeasuredRoom | undefined>;
  readonly log: Logger;
}

/** A request to an address of the store. */
export interface StoreRequest {
  readonly method: string;
  /** The query of its address. */
  readonly token: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: AsyncIterable<Uint8Array>;
  readonly id: string;
  readonly signal: AbortSignal;
}

type Wanted = { readonly name: string | null; readonly bytes: number; readonly sha256?: string | undefined };

/** The media store of a database for people: files by names, and addresses that read and take them. */
export class ManagedStore implements AsyncDisposable {
  readonly #options: ManagedStoreOptions;
  readonly #remover: Pick<MediaFiles, "remove">;
  readonly #room: StoreRooms;

  constructor(options: ManagedStoreOptions) {
    this.#options = options;
    const { room, sql, uri } = options;
    this.#room = new StoreRooms({ sql, uri, readDisk: room, full: (reason) => this.#full(reason) });
    this.#remover = { remove: (_name, keys) => options.store.delete(keys) };
  }

  /** Of a folder like `5f` without files by name, lists the objects. @throws database_unavailable */
  async list(of: ListNames) {
    const all = await this.#options.names.list(of);
    return all.items.length > 0 || !isObjectFolder(of.name) ? all : this.#options.names.list({ ...of, objects: true });
  }

  /** @throws database_unavailable */
  async usage(name: string) {
    const { names, room, sql } = this.#options;
    const entries: Awaited<ReturnType<MediaNames["list"]>>["items"] = [];
    for (let after: string | null = ""; after !== null; ) {
      const page = await names.list({ name, is_deep: false, objects: false, after, limit: 1_000 });
      entries.push(...page.items);
      after = entries.length < MAX_ENTRIES ? page.next : null;
    }
    const limited = await readLimitedUse(sql);
    const { bytes, objects } = limited ?? (await names.stored());
    const named = { ...(await names.usage(name)), entries, stored: { bytes, objects } };
    if (limited !== undefined)
      return { ...named, room_bytes: limited.limit_bytes - bytes, room_of: "media_gb" as const };
    const ofDisk = await room();
    if (ofDisk === undefined) return { ...named, room_bytes: null, room_of: null };
    return { ...named, room_bytes: ofDisk.bytes, room_of: "disk_gb" as const };
  }

  /**
   * Removes names, and those of a folder. An object is removed only if nothing refers to it.
   * @throws media_in_use
   */
  async remove(given: readonly string[], folder: string | undefined) {
    const { names, sql, store_name: storeName } = this.#options;
    const gone = new Set<string>();
    // an object in use refuses the request before a name is removed
    for (const { key } of await names.find(given.filter(isObjectKey))) {
      const kept = await removeUnused(sql, this.#remover, { store: storeName, key });
      if (kept !== undefined) throw inUse(`${this.#options.uri}/${key}`, kept);
      gone.add(key);
    }
    const removed = await names.remove(
      given.filter((name) => !isObjectKey(name)),
      folder,
    );
    for (const { name } of removed) gone.add(name);
    if (removed.length > 0) await this.#collectNow();
    return { removed: gone.size, missing: given.filter((name) => !gone.has(name)) };
  }

  /** Deletes all objects without a row or a name, or counts them. @throws media_in_use while jobs run */
  async prune(isDry: boolean): Promise<Pruned> {
    const { sql, store_name: storeName, uri } = this.#options;
    const pruned = await pruneMedia(sql, this.#remover, storeName, isDry);
    if (pruned === undefined) throw inUse(uri, { reason: "jobs" });
    return pruned;
  }

  /** Deletes content that lost its last name or row, as `collectMedia` does. @throws database_unavailable */
  async collect(): Promise<number> {
    const { sql, store_name: storeName } = this.#options;
    return await collectMedia(sql, this.#remover, MEDIA_GRACE_MS, storeName);
  }

  async #collectNow(): Promise<void> {
    try {
      await this.collect();
    } catch (error) {
      // the names are gone, and the next collection finds their content
      this.#options.log.warn({ err: error }, "the content of removed files could not be collected");
    }
  }

  /** Makes addresses that files can be read from. @throws media_not_found */
  async read(given: readonly string[], expiresS: number): Promise<ReadableFile[]> {
    const { names, tokens } = this.#options;
    const found = new Map((await names.find(given)).map((file) => [file.name, file]));
    const files: ReadableFile[] = [];
    for (const name of given) {
      const file = found.get(name);
      if (file === undefined) throw await this.#missing(name);
      const { bytes, key } = file;
      const type = await this.#typeOf(file);
      const token = tokens.make({ action: "get", key, type, name: lastOf(name) }, expiresS);
      files.push({ name, key, bytes, type, sha256: hashOfKey(key), address: addressOf(token, name) });
    }
    return files;
  }

  /**
   * Makes addresses that take files. A file whose content the store has gets its name at once.
   * @throws invalid_name, media_store_full
   */
  async write(given: readonly Wanted[], expiresS: number): Promise<WritableFile[]> {
    const { names, objects, tokens } = this.#options;
    await objects.requireWritable();
    const checked = given.map((file) => ({ ...file, name: file.name === null ? null : checkMediaName(file.name) }));
    await this.#requireNames(checked.filter(({ name }) => name !== null).length);
    const before = await names.find(checked.flatMap(({ name }) => name ?? []));
    const keys = new Map(before.map(({ key, name }) => [name, key]));
    const files: WritableFile[] = [];
    let bytes = 0;
    for (const file of checked) {
      const stored = await this.#findStored(file);
      if (stored === undefined) bytes += file.bytes;
      await this.#room.require(bytes);
      const { bytes: size, name, sha256 = null } = file;
      const present = name === null ? undefined : keys.get(name);
      const isNew = name !== null && present === undefined;
      const permit: StorePermit = { action: "put", name, is_new: isNew, bytes: size, sha256 };
      const address = stored === undefined ? addressOf(tokens.make(permit, expiresS), name ?? "file") : null;
      const isSame = stored !== undefined && present === stored.key;
      if (stored !== undefined && !isSame) await this.#give(stored, isNew ? "new" : "any");
      if (stored !== undefined && name !== null) keys.set(name, stored.key);
      files.push({ stored: stored ?? null, is_same: isSame, replaces: present !== undefined && !isSame, address });
    }
    return files;
  }

  /** Answers a request to an address. Never rejects. */
  async handle(request: StoreRequest): Promise<RouteAnswer> {
    try {
      const permit = this.#options.tokens.read(request.token);
      if (permit.action === "get" && (request.method === "GET" || request.method === "HEAD")) {
        return await this.#send(permit, request);
      }
      if (permit.action === "put" && request.method === "PUT") {
        const stored = await this.#take(permit, request);
        return { status: 201, headers: JSON_HEADERS, body: JSON.stringify(stored) };
      }
      throw appError("method_not_allowed", {
        detail: `The address is for ${permit.action.toUpperCase()} and not for ${request.method}.`,
      });
    } catch (error) {
      return answerError(error, request.id, this.#options.log, request.signal);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#options.store[Symbol.asyncDispose]();
    this.#options.mark[Symbol.dispose]();
  }

  async #send({ key, name, type }: StorePermit & { action: "get" }, request: StoreRequest): Promise<RouteAnswer> {
    const { store } = this.#options;
    const found = await store.head(key);
    if (found === undefined) throw notFound(this.#options.uri, name);
    const file = {
      bytes: found.bytes,
      type,
      name,
      is_fixed: true,
      etag: `"${hashOfKey(key).slice(0, 32)}"`,
      read: async (start: number, end: number, signal?: AbortSignal) =>
        (await store.get(key, { range: { start, end }, signal })).body,
    };
    return await fileAnswer(file, request, CACHED);
  }

  async #take(permit: StorePermit & { action: "put" }, request: StoreRequest): Promise<StoredFile> {
    const { name } = permit;
    const { objects, store, store_name: storeName, uploads_folder: uploads } = this.#options;
    const length = request.headers["content-length"];
    if (length !== undefined && Number(length) !== permit.bytes) throw otherBytes(permit.bytes, Number(length));
    await this.#requireNames(name === null ? 0 : 1);
    await objects.requireWritable();
    const path = join(uploads, randomBytes(12).toString("hex") + UPLOAD_END);
    const claim = await this.#room.claim(permit.bytes);
    try {
      const sha256 = await this.#receive(path, permit.bytes, request);
      if (permit.sha256 !== null && sha256 !== permit.sha256) throw otherContent(permit.sha256, sha256);
      const { extension, type } = sniffType(await readHead(path), name ?? "") ?? UNKNOWN;
      const key = objectKey(sha256, extension);
      await objects.record({ store: storeName, key, bytes: permit.bytes });
      claim.recorded();
      const content = { ...(await fileContent(path)), is_movable: true };
      await store.put(key, content, { content_type: type, sha256, signal: request.signal });
      const isUntaken = request.headers["if-none-match"] === "*";
      const place = permit.is_new ? "new" : "any";
      await this.#give({ name, key, type }, isUntaken ? "untaken" : place);
      return { name, key, bytes: permit.bytes, type, sha256 };
    } catch (error) {
      throw isDiskFull(error) ? this.#full("the disk is full", error) : error;
    } finally {
      claim.end();
      await rm(path, { force: true });
    }
  }

  /** Writes a body to a file of its announced length. Returns its SHA-256. */
  async #receive(path: string, bytes: number, { body, signal }: StoreRequest): Promise<string> {
    const hash = createHash("sha256");
    await using file = await open(path, "wx", 0o600);
    let received = 0;
    let checked = 0;
    for await (const piece of body) {
      signal.throwIfAborted();
      received += piece.length;
      if (received > bytes) throw otherBytes(bytes, received);
      if (received - checked >= CHECKED_BYTES) {
        await this.#options.objects.requireWritable();
        const room = await this.#options.room();
        if (room !== undefined && room.bytes <= 0) throw this.#full("the disk is full");
        checked = received;
      }
      hash.update(piece);
      for (let at = 0; at < piece.length; ) at += (await file.write(piece, at)).bytesWritten;
    }
    if (received !== bytes) throw otherBytes(bytes, received);
    return hash.digest("hex");
  }

  /** A file that the store has already; its record keeps it from being collected. */
  async #findStored({ bytes, name, sha256 }: Wanted): Promise<StoredFile | undefined> {
    const { names, objects, store, store_name: storeName } = this.#options;
    const found = sha256 === undefined ? undefined : await names.findContent(sha256);
    if (found === undefined || sha256 === undefined || found.bytes !== bytes) return undefined;
    await objects.record({ store: storeName, key: found.key, bytes });
    if ((await store.head(found.key))?.bytes !== bytes) return undefined;
    const type = await this.#typeOf({ key: found.key, type: "" });
    return { name, key: found.key, bytes, type, sha256 };
  }

  /**
   * Gives content a name. `new` is for a name that was free before: it may have this content now, and no other.
   * @throws media_exists
   */
  async #give({ key, name, type }: Omit<StoredFile, "bytes" | "sha256">, to: "any" | "new" | "untaken") {
    const { names, uri } = this.#options;
    if (name === null || (await names.give({ name, key, type }, to !== "any"))) return;
    if (to === "new" && (await names.find([name])).some((file) => file.key === key)) return;
    throw appError("media_exists", {
      detail: `${uri} has a file ${JSON.stringify(name)} already.`,
      hint:
        to === "new"
          ? "Choose another name, or replace the file: ask for a new address, or run the command again."
          : "Choose another name, or send the request without the header if-none-match.",
    });
  }

  /** The type that a name has, or that the content of an object shows. */
  async #typeOf({ key, type }: Pick<NamedFile, "key" | "type">): Promise<string> {
    if (type !== "") return type;
    const { store } = this.#options;
    const found = await store.head(key);
    if (found === undefined) return UNKNOWN.type;
    const { body } = await store.get(key, { range: { start: 0, end: Math.min(found.bytes, SNIFFED_BYTES) } });
    const pieces: Uint8Array[] = [];
    for await (const piece of body) pieces.push(piece);
    return (sniffType(Buffer.concat(pieces), key) ?? UNKNOWN).type;
  }

  /** @throws media_store_full */
  async #requireNames(count: number): Promise<void> {
    if (count === 0 || (await this.#options.names.count()) + count <= MAX_FILES) return;
    throw this.#full(`it has ${MAX_FILES} files, which is the maximum`);
  }

  #full(reason: string, cause?: unknown): Error {
    const { uri } = this.#options;
    return appError("media_store_full", {
      detail: `The media store ${uri} has no room: ${reason}.`,
      hint: `See what uses it: cli media du ${uri}. Remove files, or raise disk_gb. Nothing was stored.`,
      meta: { store: uri },
      cause,
    });
  }

  /** The error of a name that the store does not have. A row's file may be in another store of the database. */
  async #missing(name: string): Promise<Error> {
    const { objects, store_name: own, uri } = this.#options;
    const found = isObjectKey(name) ? await objects.find(name) : undefined;
    return found === undefined || found.store === own ? notFound(uri, name) : inOtherStore(uri, found);
  }
}

/** Maximum entries of a folder whose sizes are listed. */
const MAX_ENTRIES = 10_000;

type Why = { readonly [Reason in KeptBecause["reason"]]: (kept: KeptBecause & { reason: Reason }) => [string, string] };

const WHY: Why = {
  row: ({ column, table }) => [
    `a row of ${table} refers to it in ${column}`,
    "Delete the row: its files are deleted two days after they were given last.",
  ],
  name: ({ name }) => [`it is the file ${JSON.stringify(name)}`, "Remove this name. Its content follows."],
  recent: () => ["it was given within the last hour, and a row may follow", "Try again in an hour."],
  jobs: () => ["jobs are running that could need it", "Try again when they have ended: cli jobs list"],
};

function inUse(uri: string, kept: KeptBecause): Error {
  const [reason, hint] = WHY[kept.reason](kept as never);
  return appError("media_in_use", { detail: `${uri} stays: ${reason}.`, hint, meta: { uri } });
}

function lastOf(name: string): string {
  return name.slice(name.lastIndexOf("/") + 1);
}

/** An address, below the store's. The token is its query, which logs leave out. */
function addressOf(token: string, name: string): string {
  return `/${encodeURIComponent(lastOf(name))}?${token}`;
}

function otherBytes(announced: number, received: number): Error {
  return appError("media_invalid", {
    detail: `The address takes a file of ${announced} bytes; ${received} were sent.`,
    hint: "Ask for an address with the number of bytes that the file has now.",
  });
}

function otherContent(announced: string, received: string): Error {
  return appError("media_invalid", {
    detail: `The address takes the content with the SHA-256 ${announced}; ${received} was sent.`,
    hint: "The file changed while it was sent. Ask for an address for its present content.",
  });
}
