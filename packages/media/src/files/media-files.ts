import { createHash, randomBytes } from "node:crypto";
import { constants, createReadStream, createWriteStream } from "node:fs";
import { chmod, copyFile, link, lstat, open, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import { type AppError, appError } from "@appdb/contract/errors";
import { type MediaReference, plainAddress, printReference, readReference } from "@appdb/contract/media";
import { HOME_STORE } from "@appdb/contract/media-place";
import { isObjectKey, objectKey, parseMediaUri } from "@appdb/contract/media-uri";
import type { ColumnType, MediaKind } from "@appdb/contract/types";
import type { NamedFile } from "@appdb/engine/media/media-names";
import type { StoredObject } from "@appdb/engine/media/media-objects";
import type { MediaFile, MediaFiles, UploadedFile } from "@appdb/engine/ports";
import { isDiskFull } from "@appdb/system/files/is-disk-full";
import { removeFolder } from "@appdb/system/files/remove-folder";
import { fileContent } from "../stores/content.ts";
import { parseStoreAddress } from "../stores/media-address.ts";
import type { MediaStore } from "../stores/media-store.ts";
import type { AddressTokens } from "./address-tokens.ts";
import { type DownloadOptions, download } from "./download.ts";
import type { FileCache } from "./file-cache.ts";
import { type FoundType, SNIFFED_BYTES, sniffType } from "./sniff-type.ts";

const READ_BYTES = 1 << 20;
/** What is stored for content of no known type. */
export const UNKNOWN: Pick<FoundType, "type" | "extension"> = { type: "application/octet-stream", extension: "bin" };

export interface MediaFilesOptions {
  /** Opens a store by its name in references: `home`, or an address. The same store for the same name. */
  openStore(name: string): Promise<MediaStore>;
  /** The name of the store of a column's destination. @throws config_invalid */
  nameOf(destination: string): string;
  /** The address of the database's own store for people: `mediafs://acme:main/home`. */
  readonly own_uri: string;
  /** A file of the own store by its name there, or by its key. */
  findOwn(name: string): Promise<Pick<NamedFile, "key" | "bytes"> | undefined>;
  /** The store of given files. */
  readonly input: string;
  /** The store of computed media without a destination of their own. */
  readonly output: string;
  readonly cache: FileCache;
  /** The private folder of uploads. */
  readonly uploads_folder: string;
  /** The folder in which workers see an upload that is not stored, while its request runs. */
  readonly lent_folder: string;
  /** The folder in which workers write what they make: its files are moved from there before they are read. */
  readonly scratch_folder: string;
  readonly downloads: Omit<DownloadOptions, "signal">;
  /** Tokens of addresses; undefined where no service answers them. */
  tokens(): AddressTokens | undefined;
  /** Records an object before it is written (engine, MediaObjects). */
  record(object: StoredObject): Promise<void>;
}

/** A file with what is known of it. */
interface KnownFile extends Pick<MediaReference, "type" | "width" | "height" | "mode" | "name"> {
  readonly path: string;
  readonly bytes?: number;
  readonly sha256?: string;
}

/** Files of media columns on this machine: those of local stores as they are, all others in a cache. */
export class LocalMediaFiles implements MediaFiles {
  readonly #options: MediaFilesOptions;

  constructor(options: MediaFilesOptions) {
    this.#options = options;
  }

  async locate(cell: string, signal?: AbortSignal): Promise<string> {
    const reference = readReference(cell);
    return JSON.stringify({ ...reference, path: await this.#pathOf(reference, signal) });
  }

  async store(made: string, { kind, destination }: ColumnType, signal?: AbortSignal): Promise<string> {
    const file = JSON.parse(made) as KnownFile;
    const path = await this.#take(file.path);
    try {
      const found = sniffType(await readHead(path), basename(file.path));
      if (found === undefined || !fits(found, kind)) throw madeWrongKind(kind, found);
      const { nameOf: nameOfStore, output } = this.#options;
      const storeName = destination === undefined ? output : nameOfStore(destination);
      return await this.#add({ ...file, path }, found, storeName, signal);
    } finally {
      await rm(path, { force: true });
    }
  }

  async receive(file: UploadedFile, kind: MediaKind, signal?: AbortSignal): Promise<string> {
    const { path, name, sha256, bytes } = file;
    const known = { path, sha256, bytes, ...(name === "" ? {} : { name }) };
    return await this.#add(known, await typeOf(file, kind), this.#options.input, signal);
  }

  async takeOwn(uri: string, kind: MediaKind): Promise<string> {
    const { findOwn, own_uri: ownUri } = this.#options;
    const { name, store: storeUri } = parseMediaUri(uri);
    if (storeUri !== ownUri) throw otherStore(uri, ownUri);
    const found = await findOwn(name);
    if (found === undefined) throw notInStore(uri, ownUri);
    const { bytes, key } = found;
    await this.#options.record({ store: HOME_STORE, key, bytes });
    const store = await this.#options.openStore(HOME_STORE);
    if ((await store.head(key)) === undefined) throw notInStore(uri, ownUri);
    const { body } = await store.get(key, { range: { start: 0, end: Math.min(bytes, SNIFFED_BYTES) } });
    const type = sniffType(Buffer.concat(await piecesOf(body)), name);
    if (type === undefined || !fits(type, kind)) throw wrongKindOfOwn(uri, kind, type);
    return printReference({
      store: HOME_STORE,
      key,
      type: type.type,
      bytes,
      name: isObjectKey(name) ? undefined : basename(name),
    });
  }

  async borrow(file: UploadedFile, kind: MediaKind): Promise<string> {
    const { type } = await typeOf(file, kind);
    const name = file.name === "" ? {} : { name: file.name };
    // the form removes both names of the file
    const lent = join(this.#options.lent_folder, basename(file.path));
    await link(file.path, lent).catch(() => copyFile(file.path, lent));
    return printReference({ url: pathToFileURL(lent).href, type, bytes: file.bytes, ...name });
  }

  addressOf(cell: string, base: string): string {
    const reference = readReference(cell);
    const { url } = reference;
    if (url?.startsWith("http") === true) return url;
    const tokens = this.#options.tokens();
    if (tokens === undefined) return plainAddress(cell);
    return `${base}/_media/${tokens.make(reference)}/${encodeURIComponent(nameOf(reference))}`;
  }

  async remove(storeName: string, keys: readonly string[]): Promise<void> {
    await (await this.#options.openStore(storeName)).delete(keys);
  }

  readAddress(token: string): string {
    const tokens = this.#options.tokens();
    if (tokens === undefined) throw new TypeError("No service answers addresses here.");
    return tokens.read(token);
  }

  async open(cell: string, signal?: AbortSignal): Promise<MediaFile> {
    const reference = readReference(cell);
    const shared = { type: reference.type ?? UNKNOWN.type, name: nameOf(reference) };
    const { store: storeName, key } = reference;
    if (storeName !== undefined && key !== undefined) {
      const store = await this.#options.openStore(storeName);
      const found = await store.head(key);
      if (found === undefined) throw notFound(shared.name);
      return {
        ...shared,
        bytes: found.bytes,
        etag: `"${basename(key).slice(0, 32)}"`,
        read: async (start, end, reading) => (await store.get(key, { range: { start, end }, signal: reading })).body,
      };
    }
    const path = await this.#pathOf(reference, signal);
    const { size } = await statOf(path, shared.name);
    const type = reference.type ?? (sniffType(await readHead(path), shared.name) ?? UNKNOWN).type;
    const etag = `"${createHash("sha256").update(`${cell} ${size}`).digest("hex").slice(0, 32)}"`;
    return {
      ...shared,
      type,
      bytes: size,
      etag,
      read: async (start, end) => (end <= start ? Readable.from([]) : createReadStream(path, { start, end: end - 1 })),
    };
  }

  /** Stores a file under the name of its content; gives the cell. */
  async #add(file: KnownFile, found: Pick<FoundType, "type" | "extension">, storeName: string, signal?: AbortSignal) {
    const store = await this.#options.openStore(storeName);
    const sha256 = file.sha256 ?? (await hashOf(file.path, signal));
    const content = await fileContent(file.path);
    const key = objectKey(sha256, found.extension);
    await this.#options.record({ store: storeName, key, bytes: content.bytes });
    await store.put(key, { ...content, is_movable: true }, { content_type: found.type, sha256, signal });
    const { width, height, mode, name } = file;
    return printReference({ store: storeName, key, type: found.type, bytes: content.bytes, width, height, mode, name });
  }

  async #pathOf({ store: storeName, key, url }: MediaReference, signal: AbortSignal | undefined): Promise<string> {
    if (storeName !== undefined && key !== undefined) {
      const store = await this.#options.openStore(storeName);
      return store.pathOf(key) ?? (await this.#fetchObject(store, key, signal));
    }
    if (url === undefined) throw new TypeError("A media reference has neither a store nor an address.");
    if (url.startsWith("file:")) return this.#borrowed(url);
    if (url.startsWith("http:") || url.startsWith("https:")) {
      const { cache, downloads } = this.#options;
      return await cache.get(url, (path) => download(url, path, { ...downloads, signal }));
    }
    const at = url.lastIndexOf("/");
    const store = await this.#options.openStore(url.slice(0, at));
    return await this.#fetchObject(store, url.slice(at + 1), signal);
  }

  /** Only an upload of a running request is named by its path. */
  #borrowed(url: string): string {
    const path = fileURLToPath(url);
    if (dirname(path) !== this.#options.lent_folder) throw notFound(basename(path));
    return path;
  }

  /**
   * Moves a file that a worker has made to where no worker can change it: a link of the worker's is not followed. It
   * becomes another file, because the worker may still have the first one open or by another name.
   * @throws media_invalid
   */
  async #take(path: string): Promise<string> {
    const { scratch_folder: scratch, uploads_folder: uploads } = this.#options;
    const moved = join(uploads, randomBytes(12).toString("hex"));
    const taken = `${moved}-own`;
    try {
      if (dirname(path) !== scratch) throw new Error("it is not in the worker's folder");
      await rename(path, moved);
      if (!(await lstat(moved)).isFile()) throw new Error("it is not a regular file");
      await copyFile(moved, taken, constants.COPYFILE_FICLONE | constants.COPYFILE_EXCL);
      await chmod(taken, 0o600);
      return taken;
    } catch (cause) {
      await rm(taken, { force: true });
      if (isDiskFull(cause)) throw diskFull(cause);
      throw appError("media_invalid", {
        detail: `The file ${basename(path)} of the function cannot be read: ${describe(cause)}.`,
        hint: "Return the path of a file that exists until the row is stored.",
        cause,
      });
    } finally {
      await removeFolder(moved);
    }
  }

  #fetchObject(store: MediaStore, key: string, signal: AbortSignal | undefined): Promise<string> {
    return this.#options.cache.get(`${store.address}/${key}`, async (path) => {
      const { body } = await store.get(key, { signal });
      await pipeline(Readable.from(body), createWriteStream(path, { flags: "wx", mode: 0o600 }));
    });
  }
}

/** The name of a store in references for the address of a destination. @throws config_invalid */
export function storeNameOf(address: string): string {
  parseStoreAddress(address);
  return address.replace(/\/$/, "");
}

/** The type of an upload by its content. @throws media_invalid for another kind than the column's */
async function typeOf(file: UploadedFile, kind: MediaKind): Promise<FoundType> {
  if (file.bytes === 0) throw wrongKind(file, kind, "it is empty");
  const found = sniffType(await readHead(file.path), file.name);
  if (found === undefined) throw wrongKind(file, kind, "its type is not known");
  if (!fits(found, kind)) throw wrongKind(file, kind, `it is ${found.type}`);
  return found;
}

/** Whether content is of a kind. Containers of films may hold sound alone; the check of the whole content decides. */
function fits(found: FoundType, kind: ColumnType["kind"]): boolean {
  return found.kind === kind || CONTAINERS[found.kind] === kind;
}

function otherStore(uri: string, ownUri: string): Error {
  return appError("invalid_request", {
    detail: `${uri} is in the media store of another database.`,
    hint: `Copy the file to this machine, and then into this database's store: cli media cp FILE ${ownUri}/`,
  });
}

function notInStore(uri: string, ownUri: string): Error {
  return appError("invalid_request", {
    detail: `${uri} does not exist.`,
    hint: `List the files of the store: cli media ls -r ${ownUri}`,
  });
}

function wrongKindOfOwn(uri: string, kind: MediaKind, found: FoundType | undefined): Error {
  return appError("media_invalid", {
    detail: `${uri} is not valid ${kind} content: ${found === undefined ? "its type is not known" : `it is ${found.type}`}.`,
    hint: "Give a file with the content of this kind. Its name does not matter.",
  });
}

/** What else a file of a kind can be. */
const CONTAINERS: Partial<Record<MediaKind, MediaKind>> = { video: "audio" };

function madeWrongKind(kind: ColumnType["kind"], found: FoundType | undefined): Error {
  return appError("media_invalid", {
    detail: `The file that the function returned is not valid ${kind} content: ${found === undefined ? "its type is not known" : `it is ${found.type}`}.`,
    hint: "Return a file of the column's type.",
  });
}

function wrongKind({ field, name }: UploadedFile, kind: MediaKind, reason: string): Error {
  const shown = name === "" ? "The file" : `The file ${JSON.stringify(name)}`;
  return appError("media_invalid", {
    detail: `${shown} for "${field}" is not valid ${kind} content: ${reason}.`,
    hint: `Send a file with the content of this kind. Its name and its content type do not matter.`,
    errors: [{ pointer: `/${field}`, detail: `This file is not valid ${kind} content.` }],
  });
}

function describe(cause: unknown): string {
  const { code, message } = cause as NodeJS.ErrnoException;
  return code ?? message;
}

function diskFull(cause: unknown): AppError {
  return appError("disk_full", {
    detail: "The disk has no room for the file that a function has made.",
    hint: "Free space on the disk, and send the request again.",
    cause,
  });
}

function notFound(name: string): AppError {
  return appError("media_not_found", {
    detail: `The file ${JSON.stringify(name)} does not exist any more.`,
    hint: "Read the row again: its response has the address of its present file.",
  });
}

/** A name for people: the file's own, or the start of its hash. */
function nameOf({ name, key, url }: MediaReference): string {
  if (name !== undefined) return name;
  const last = basename(key ?? url?.split(/[?#]/, 1)[0] ?? "");
  return key === undefined ? last || "file" : last.replace(/^([0-9a-f]{12})[0-9a-f]{52}/, "$1");
}

async function statOf(path: string, name: string) {
  try {
    return await stat(path);
  } catch {
    throw notFound(name);
  }
}

async function hashOf(path: string, signal: AbortSignal | undefined): Promise<string> {
  const hash = createHash("sha256");
  const ended = signal === undefined ? {} : { signal };
  for await (const piece of createReadStream(path, { highWaterMark: READ_BYTES, ...ended }))
    hash.update(piece as Buffer);
  return hash.digest("hex");
}

/** The first bytes of a file, which tell its type. */
export async function readHead(path: string): Promise<Buffer> {
  await using file = await open(path, "r");
  const { buffer, bytesRead } = await file.read(Buffer.alloc(SNIFFED_BYTES), 0, SNIFFED_BYTES, 0);
  return buffer.subarray(0, bytesRead);
}

async function piecesOf(body: AsyncIterable<Uint8Array>): Promise<Uint8Array[]> {
  const pieces: Uint8Array[] = [];
  for await (const piece of body) pieces.push(piece);
  return pieces;
}
