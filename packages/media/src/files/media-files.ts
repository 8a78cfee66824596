import { createHash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { copyFile, link, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import { AppError, appError } from "@appdb/contract/errors";
import {
  type MediaReference,
  plainAddress,
  printReference,
  readDescription,
  readReference,
} from "@appdb/contract/media";
import { isObjectKey, MEDIA_SCHEME, objectKey, parseMediaUri } from "@appdb/contract/media-uri";
import type { ColumnType, MediaKind } from "@appdb/contract/types";
import type { StoredObject } from "@appdb/engine/media/media-objects";
import type { MediaFile, MediaFiles, UploadedFile } from "@appdb/engine/ports";
import { parseStoreAddress } from "../stores/media-address.ts";
import { endAbandoned, type MediaStore } from "../stores/media-store.ts";
import type { AddressTokens } from "./address-tokens.ts";
import { tooLarge } from "./download.ts";
import { type CountBytes, currentDownload, type Downloads } from "./downloads.ts";
import type { FetchCurrent, FileCache } from "./file-cache.ts";
import { contentOf, hashOf, headOf, readHead, type Source } from "./file-source.ts";
import { fits, madeWrongKind, misfit, typeOf, wrongKindOfOwn } from "./fits-kind.ts";
import type { MediaSources } from "./media-sources.ts";
import { copyFirst } from "./missing-files.ts";
import { isOriginal, stampOriginal } from "./originals.ts";
import { notFound, type OwnStores, openOwn } from "./own-stores.ts";
import { type FoundType, SNIFFED_BYTES, sniffType } from "./sniff-type.ts";
import { takeWorkerFile, type WorkerFolders } from "./worker-files.ts";

/** The token of an address that a response had. */
const SIGNED = /^https?:\/\/[^?#]*\/_media\/([A-Za-z0-9_-]+)\//;
/** Addresses that need no credentials of ours. */
const OTHER_SCHEMES = /^(?:https?|file|mediafs):/;
/** What is stored for content of no known type. */
export const UNKNOWN: Pick<FoundType, "type" | "extension"> = { type: "application/octet-stream", extension: "bin" };

export interface MediaFilesOptions extends WorkerFolders, OwnStores {
  /** The name of the store of a column's destination. @throws config_invalid */
  nameOf(destination: string): string;
  /** The address of the database's own store for people: `mediafs://acme:main/home`. */
  readonly own_uri: string;
  /** A file of the own store by its name there, or an object of any store of the database by its key. */
  findOwn(name: string): Promise<StoredObject | undefined>;
  /** The store of given files. */
  readonly input: string;
  /** The store of computed media without a destination of their own. */
  readonly output: string;
  /** The stores in which given addresses may lie. */
  readonly sources: MediaSources;
  readonly cache: FileCache;
  /** The folder in which workers see an upload that is not stored, while its request runs. */
  readonly lent_folder: string;
  readonly downloads: Pick<Downloads, "run" | "within" | "max_bytes">;
  /** Tokens of addresses; undefined where no service answers them. */
  tokens(): AddressTokens | undefined;
  /** The address of a token below a base. `name`: for people. */
  printAddress(base: string, token: string, name: string): string;
  /** Records an object before it is written (engine, MediaObjects). */
  record(object: StoredObject): Promise<void>;
}

/** A file with what is known of it. */
interface KnownFile extends Pick<MediaReference, "width" | "height" | "mode" | "name"> {
  readonly source: Source;
  readonly bytes?: number;
  readonly sha256?: string;
}

/** A file that a worker made, as it gives it. What it says of it is not checked yet. */
type MadeFile = Readonly<Record<string, unknown>> & { readonly path: string };

/** Files of media columns on this machine: those of local stores as they are, all others in a cache. */
export class LocalMediaFiles implements MediaFiles {
  readonly #options: MediaFilesOptions;

  constructor(options: MediaFilesOptions) {
    this.#options = options;
  }

  async locate(cell: string, signal?: AbortSignal, kind?: MediaKind): Promise<string> {
    const reference = readReference(cell);
    const { bytes, key, store } = reference;
    if (store !== undefined && key !== undefined) {
      const path = (await openOwn(this.#options, store, key)).pathOf(key);
      const stamp = path === undefined ? undefined : await stampOriginal(path, nameOf(reference), bytes);
      if (stamp !== undefined) return JSON.stringify({ ...reference, path, stamp });
    }
    return JSON.stringify({ ...reference, path: await this.#pathOf(reference, signal, kind) });
  }

  async isUnchanged(located: string): Promise<boolean> {
    const { stamp } = JSON.parse(located) as { stamp?: Parameters<typeof isOriginal>[0] };
    return stamp === undefined || (await isOriginal(stamp));
  }

  requireSource(cell: string): void {
    const { url } = readReference(cell);
    if (url !== undefined && !OTHER_SCHEMES.test(url)) this.#options.sources.find(url);
  }

  async store(made: string, { kind, destination }: ColumnType, signal?: AbortSignal): Promise<string> {
    const { path, ...said } = JSON.parse(made) as MadeFile;
    const source = await takeWorkerFile(path, this.#options);
    try {
      const head = await headOf(source);
      const found = sniffType(head, basename(path));
      if (found === undefined || !fits(found, kind)) throw madeWrongKind(kind, misfit(found, head));
      return await this.#add({ ...readDescription(said), source }, found, this.#outputOf(destination), signal);
    } finally {
      if (typeof source === "string") await rm(source, { force: true });
    }
  }

  async receive(file: UploadedFile, kind: MediaKind, signal?: AbortSignal): Promise<string> {
    const { bytes, name, sha256 } = file;
    const found = typeOf(file, kind);
    const known = { source: file.content ?? (await file.path()), bytes, sha256, ...(name === "" ? {} : { name }) };
    return await this.#add(known, found, this.#options.input, signal);
  }

  async takeOwn(address: string, kind: MediaKind): Promise<string | undefined> {
    return address.startsWith(MEDIA_SCHEME)
      ? await this.#takeNamed(address, kind)
      : await this.#takeSigned(address, kind);
  }

  /** The object of a signed address. */
  async #takeSigned(address: string, kind: MediaKind): Promise<string | undefined> {
    const cell = this.#cellOfSigned(address);
    if (cell === undefined) return undefined;
    const { key, name, store } = readReference(cell);
    if (key === undefined || store === undefined) return undefined;
    const shown = name ?? basename(key);
    const head = await (await openOwn(this.#options, store, key)).head(key);
    if (head === undefined) throw notFound(shown);
    return await this.#takeObject({ store, key, bytes: head.bytes, name }, kind, (reason) =>
      reason === undefined ? notFound(shown) : wrongKindOfOwn(shown, kind, reason),
    );
  }

  async #takeNamed(uri: string, kind: MediaKind): Promise<string | undefined> {
    const { findOwn, own_uri: ownUri, sources } = this.#options;
    const { database, name, store: storeUri } = parseMediaUri(uri);
    if (storeUri !== ownUri) {
      const isOfClient = "organization" in database && !("organization" in parseMediaUri(ownUri).database);
      if (!isOfClient) throw otherStore(uri);
      sources.find(uri);
      return undefined;
    }
    const named = await findOwn(name);
    if (named === undefined) throw notInStore(uri, ownUri);
    const object = { ...named, name: isObjectKey(name) ? undefined : basename(name) };
    return await this.#takeObject(object, kind, (reason) =>
      reason === undefined ? notInStore(uri, ownUri) : wrongKindOfOwn(uri, kind, reason),
    );
  }

  /** The cell of an object that stays until the row is stored. @throws what `refusal` returns; for none without a reason */
  async #takeObject(
    { bytes, key, name, store: storeName }: StoredObject & Pick<MediaReference, "name">,
    kind: MediaKind,
    refusal: (reason?: string) => Error,
  ): Promise<string> {
    await this.#options.record({ store: storeName, key, bytes });
    const store = await this.#options.openStore(storeName);
    if ((await store.head(key)) === undefined) throw refusal();
    const { body } = await store.get(key, { range: { start: 0, end: Math.min(bytes, SNIFFED_BYTES) } });
    const head = Buffer.concat(await piecesOf(body));
    const found = sniffType(head, name ?? key);
    if (found === undefined || !fits(found, kind)) throw refusal(misfit(found, head));
    return printReference({ store: storeName, key, type: found.type, bytes, name });
  }

  /** The cell of an address that this database has signed; undefined for any other, and for one that has expired. */
  #cellOfSigned(address: string): string | undefined {
    const [, token] = SIGNED.exec(address) ?? [];
    const tokens = this.#options.tokens();
    if (token === undefined || tokens === undefined) return undefined;
    try {
      return tokens.read(token);
    } catch (error) {
      if (error instanceof AppError && error.code === "media_address_invalid") return undefined;
      throw error;
    }
  }

  async borrow(file: UploadedFile, kind: MediaKind): Promise<string> {
    const { type } = typeOf(file, kind);
    const name = file.name === "" ? {} : { name: file.name };
    // the form removes both names of the file
    const path = await file.path();
    const lent = join(this.#options.lent_folder, basename(path));
    await link(path, lent).catch(() => copyFile(path, lent));
    return printReference({ url: pathToFileURL(lent).href, type, bytes: file.bytes, ...name });
  }

  async keep(cell: string, { destination }: ColumnType, signal?: AbortSignal): Promise<string> {
    const { url, width, height, mode, name } = readReference(cell);
    if (url?.startsWith("file:") !== true) return cell;
    const path = this.#borrowed(url);
    const found = sniffType(await readHead(path), basename(path)) ?? UNKNOWN;
    const own = `${path}-own`;
    try {
      await copyFile(path, own);
      return await this.#add({ source: own, width, height, mode, name }, found, this.#outputOf(destination), signal);
    } finally {
      await rm(own, { force: true });
    }
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

  async endAbandoned(): Promise<void> {
    for (const name of new Set(this.#options.own_stores)) await endAbandoned(await this.#options.openStore(name));
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
      const store = await openOwn(this.#options, storeName, key);
      const found = await store.head(key);
      if (found === undefined) throw notFound(shared.name);
      return {
        ...shared,
        is_fixed: true,
        bytes: found.bytes,
        etag: `"${basename(key).slice(0, 32)}"`,
        read: async (start, end, reading) => (await store.get(key, { range: { start, end }, signal: reading })).body,
      };
    }
    const path = await this.#pathOf(reference, signal);
    const { size } = await statOf(path, shared.name);
    const type = reference.type ?? (sniffType(await readHead(path), shared.name) ?? UNKNOWN).type;
    // the path has another name for other content
    const etag = `"${createHash("sha256")
      .update(`${cell} ${size} ${basename(path)}`)
      .digest("hex")
      .slice(0, 32)}"`;
    return {
      ...shared,
      is_fixed: false,
      type,
      bytes: size,
      etag,
      read: async (start, end) => (end <= start ? Readable.from([]) : createReadStream(path, { start, end: end - 1 })),
    };
  }

  /** The name of the store of computed media. */
  #outputOf(destination: string | undefined): string {
    return destination === undefined ? this.#options.output : this.#options.nameOf(destination);
  }

  /** Stores a file under the name of its content; gives the cell. */
  async #add(file: KnownFile, found: Pick<FoundType, "type" | "extension">, storeName: string, signal?: AbortSignal) {
    const store = await this.#options.openStore(storeName);
    const { source, width, height, mode, name } = file;
    const sha256 = file.sha256 ?? (await hashOf(source, signal));
    const content = await contentOf(source, file.bytes);
    const key = objectKey(sha256, found.extension);
    await this.#options.record({ store: storeName, key, bytes: content.bytes });
    await store.put(key, content, { content_type: found.type, sha256, signal });
    return printReference({ store: storeName, key, type: found.type, bytes: content.bytes, width, height, mode, name });
  }

  async #pathOf(
    { store: storeName, key, url }: MediaReference,
    signal: AbortSignal | undefined,
    kind?: MediaKind,
  ): Promise<string> {
    if (storeName !== undefined && key !== undefined) {
      const store = await openOwn(this.#options, storeName, key);
      return store.pathOf(key) ?? (await this.#fetchObject(store, key, signal));
    }
    if (url === undefined) throw new TypeError("A media reference has neither a store nor an address.");
    if (url.startsWith("file:")) return this.#borrowed(url);
    if (url.startsWith("http:") || url.startsWith("https:")) {
      return await currentDownload(this.#options, url, { signal, kind });
    }
    return await this.#currentObject(url, signal);
  }

  /** Only an upload of a running request is named by its path. */
  #borrowed(url: string): string {
    const path = fileURLToPath(url);
    if (dirname(path) !== this.#options.lent_folder) throw notFound(basename(path));
    return path;
  }

  #fetchObject(store: MediaStore, key: string, signal: AbortSignal | undefined): Promise<string> {
    const fill = async (path: string): Promise<void> => {
      const { body } = await store.get(key, { signal });
      await pipeline(Readable.from(body), createWriteStream(path, { flags: "wx", mode: 0o600 }));
    };
    return this.#options.cache.get(`${store.address}/${key}`, fill, signal);
  }

  /** A given object is not ours: its owner may change it. */
  async #currentObject(url: string, signal: AbortSignal | undefined): Promise<string> {
    const { cache, downloads, openStore, sources } = this.#options;
    const { store: storeName, key } = sources.find(url);
    const store = await openStore(storeName);
    const fetch: FetchCurrent = async (path, known) => {
      if (known?.etag !== undefined && (await store.head(key))?.version === known.etag) return undefined;
      return await downloads.within(signal, async (onBytes) => {
        const { body, bytes, version } = await store.get(key, { signal });
        if (bytes > downloads.max_bytes) throw tooLarge(url, downloads.max_bytes);
        const counted = countBytes(body, onBytes);
        await pipeline(Readable.from(counted), createWriteStream(path, { flags: "wx", mode: 0o600 }));
        return { version, etag: version };
      });
    };
    return await cache.current(`${store.address}/${key} current`, fetch, signal);
  }
}

async function* countBytes(body: AsyncIterable<Uint8Array>, onBytes: CountBytes): AsyncGenerator<Uint8Array> {
  for await (const piece of body) {
    await onBytes(piece.length);
    yield piece;
  }
}

/** The name of a store in references for the address of a destination. @throws config_invalid */
export function storeNameOf(address: string): string {
  parseStoreAddress(address);
  return address.replace(/\/$/, "");
}

function otherStore(uri: string): Error {
  return appError("invalid_request", {
    detail: `${uri} is in the media store of another database.`,
    hint: copyFirst(uri),
  });
}

function notInStore(uri: string, ownUri: string): Error {
  const isOfRow = isObjectKey(uri.slice(ownUri.length + 1));
  return appError("invalid_request", {
    detail: `${uri} does not exist.`,
    hint: isOfRow
      ? "It is deleted when no row has referred to it for two days. Insert the file again: its path, or an upload."
      : `List the files of the store: cli media ls -r ${ownUri}`,
  });
}

/** A name for people: the file's own, or the start of its hash. */
function nameOf({ name, key, url }: MediaReference): string {
  if (name !== undefined) return name.toWellFormed();
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

async function piecesOf(body: AsyncIterable<Uint8Array>): Promise<Uint8Array[]> {
  const pieces: Uint8Array[] = [];
  for await (const piece of body) pieces.push(piece);
  return pieces;
}
