import { createHash, randomBytes } from "node:crypto";
import { closeSync, constants, createReadStream, createWriteStream, fstatSync, openSync } from "node:fs";
import { chmod, copyFile, link, lstat, open, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import { type AppError, appError } from "@appdb/contract/errors";
import { type MediaReference, plainAddress, printReference, readReference } from "@appdb/contract/media";
import type { ColumnType, MediaKind } from "@appdb/contract/types";
import type { StoredObject } from "@appdb/engine/media/media-objects";
import type { MediaFile, MediaFiles, UploadedFile } from "@appdb/engine/ports";
import { readStart, removeFile } from "@appdb/system/files/descriptors";
import { isDiskFull } from "@appdb/system/files/is-disk-full";
import { removeFolder } from "@appdb/system/files/remove-folder";
import { bytesContent, fileContent } from "../stores/content.ts";
import { parseStoreAddress } from "../stores/media-address.ts";
import type { MediaContent, MediaStore } from "../stores/media-store.ts";
import type { AddressTokens } from "./address-tokens.ts";
import { type DownloadOptions, download } from "./download.ts";
import type { FileCache } from "./file-cache.ts";
import { type FoundType, SNIFFED_BYTES, sniffType } from "./sniff-type.ts";

const READ_BYTES = 1 << 20;
/** A file that a worker made is held in memory up to this size. */
const SMALL_BYTES = 128 * 1_024;
const UNKNOWN: Pick<FoundType, "type" | "extension"> = { type: "application/octet-stream", extension: "bin" };

export interface MediaFilesOptions {
  /** Opens a store by its name in references: `home`, or an address. The same store for the same name. */
  openStore(name: string): Promise<MediaStore>;
  /** The name of the store of a column's destination. @throws config_invalid */
  nameOf(destination: string): string;
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
  /** The address of a token below a base. `name`: for people. */
  printAddress(base: string, token: string, name: string): string;
  /** Records an object before it is written (engine, MediaObjects). */
  record(object: StoredObject): Promise<void>;
}

/** The path of a file that a store may take, or the bytes of a small one. */
type Source = string | Uint8Array;

/** A file with what is known of it. */
interface KnownFile extends Pick<MediaReference, "width" | "height" | "mode" | "name"> {
  readonly source: Source;
  readonly sha256?: string;
}

/** A file that a worker made, as it gives it. */
type MadeFile = Omit<KnownFile, "source" | "sha256"> & { readonly path: string };

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
    const { path, ...known } = JSON.parse(made) as MadeFile;
    const source = await this.#take(path);
    try {
      const found = sniffType(await headOf(source), basename(path));
      if (found === undefined || !fits(found, kind)) throw madeWrongKind(kind, found);
      const { nameOf: nameOfStore, output } = this.#options;
      const storeName = destination === undefined ? output : nameOfStore(destination);
      return await this.#add({ ...known, source }, found, storeName, signal);
    } finally {
      if (typeof source === "string") await rm(source, { force: true });
    }
  }

  async receive(file: UploadedFile, kind: MediaKind, signal?: AbortSignal): Promise<string> {
    const { name, sha256 } = file;
    const found = await typeOf(file, kind);
    const known = { source: file.content ?? (await file.path()), sha256, ...(name === "" ? {} : { name }) };
    return await this.#add(known, found, this.#options.input, signal);
  }

  async borrow(file: UploadedFile, kind: MediaKind): Promise<string> {
    const { type } = await typeOf(file, kind);
    const name = file.name === "" ? {} : { name: file.name };
    // the form removes both names of the file
    const path = await file.path();
    const lent = join(this.#options.lent_folder, basename(path));
    await link(path, lent).catch(() => copyFile(path, lent));
    return printReference({ url: pathToFileURL(lent).href, type, bytes: file.bytes, ...name });
  }

  addressOf(cell: string, base: string): string {
    const reference = readReference(cell);
    const { url } = reference;
    if (url?.startsWith("http") === true) return url;
    const tokens = this.#options.tokens();
    if (tokens === undefined) return plainAddress(cell);
    return this.#options.printAddress(base, tokens.make(reference), nameOf(reference));
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
    const { source, width, height, mode, name } = file;
    const sha256 = file.sha256 ?? (await hashOf(source, signal));
    const content = typeof source === "string" ? await movableContent(source) : bytesContent(source);
    const key = `${sha256.slice(0, 2)}/${sha256}.${found.extension}`;
    await this.#options.record({ store: storeName, key, bytes: content.bytes });
    await store.put(key, content, { content_type: found.type, sha256, signal });
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
   * Takes a file that a worker has made: a small one is read, any other moved to where no worker can change it. A link of
   * the worker's is not followed. @throws media_invalid
   */
  async #take(path: string): Promise<Source> {
    try {
      if (dirname(path) !== this.#options.scratch_folder) throw new Error("it is not in the worker's folder");
      return (await takeSmall(path)) ?? (await this.#takeLarge(path));
    } catch (cause) {
      if (isDiskFull(cause)) throw diskFull(cause);
      throw appError("media_invalid", {
        detail: `The file ${basename(path)} of the function cannot be read: ${describe(cause)}.`,
        hint: "Return the path of a file that exists until the row is stored.",
        cause,
      });
    }
  }

  /** It becomes another file, because the worker may still have the first one open or by another name. */
  async #takeLarge(path: string): Promise<string> {
    const moved = join(this.#options.uploads_folder, randomBytes(12).toString("hex"));
    const taken = `${moved}-own`;
    try {
      await rename(path, moved);
      if (!(await lstat(moved)).isFile()) throw new Error("it is not a regular file");
      await copyFile(moved, taken, constants.COPYFILE_FICLONE | constants.COPYFILE_EXCL);
      await chmod(taken, 0o600);
      return taken;
    } catch (cause) {
      await rm(taken, { force: true });
      throw cause;
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
  const found = sniffType(await headOf(file.content ?? (await file.path())), file.name);
  if (found === undefined) throw wrongKind(file, kind, "its type is not known");
  if (!fits(found, kind)) throw wrongKind(file, kind, `it is ${found.type}`);
  return found;
}

/** Whether content is of a kind. Containers of films may hold sound alone; the check of the whole content decides. */
function fits(found: FoundType, kind: ColumnType["kind"]): boolean {
  return found.kind === kind || CONTAINERS[found.kind] === kind;
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

/** Reads a small file and removes its name; undefined for a larger one, which stays. Neither a link nor a pipe is opened. */
async function takeSmall(path: string): Promise<Uint8Array | undefined> {
  const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const found = fstatSync(file);
    if (!found.isFile()) throw new Error("it is not a regular file");
    if (found.size > SMALL_BYTES) return undefined;
    const content = readStart(file, found.size);
    await removeFile(path);
    return content;
  } finally {
    closeSync(file);
  }
}

async function movableContent(path: string): Promise<MediaContent> {
  return { ...(await fileContent(path)), is_movable: true };
}

async function hashOf(source: Source, signal: AbortSignal | undefined): Promise<string> {
  const hash = createHash("sha256");
  if (typeof source !== "string") return hash.update(source).digest("hex");
  const ended = signal === undefined ? {} : { signal };
  for await (const piece of createReadStream(source, { highWaterMark: READ_BYTES, ...ended }))
    hash.update(piece as Buffer);
  return hash.digest("hex");
}

async function headOf(source: Source): Promise<Uint8Array> {
  return typeof source === "string" ? await readHead(source) : source.subarray(0, SNIFFED_BYTES);
}

async function readHead(path: string): Promise<Buffer> {
  await using file = await open(path, "r");
  const { buffer, bytesRead } = await file.read(Buffer.alloc(SNIFFED_BYTES), 0, SNIFFED_BYTES, 0);
  return buffer.subarray(0, bytesRead);
}
