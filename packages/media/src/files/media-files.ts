import { createHash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { open, rm } from "node:fs/promises";
import { basename, relative } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { appError } from "@appdb/contract/errors";
import { type MediaReference, printReference, readReference } from "@appdb/contract/media";
import type { MediaFiles } from "@appdb/engine/ports";
import { fileContent } from "../stores/content.ts";
import { parseStoreAddress } from "../stores/media-address.ts";
import type { MediaStore } from "../stores/media-store.ts";
import { type DownloadOptions, download } from "./download.ts";
import type { FileCache } from "./file-cache.ts";
import { SNIFFED_BYTES, sniffType } from "./sniff-type.ts";

const READ_BYTES = 1 << 20;
const UNKNOWN = { type: "application/octet-stream", extension: "bin" };

export interface MediaFilesOptions {
  /** Opens a store by its name in references: `home`, or an address. The same store for the same name. */
  openStore(name: string): Promise<MediaStore>;
  /** The store of computed media without a destination of their own. */
  readonly output: string;
  readonly cache: FileCache;
  /** Where workers write what they make. Files of it are moved, all others copied. */
  readonly scratch_folder: string;
  readonly downloads: Omit<DownloadOptions, "signal">;
}

/** What a worker gives: a file, and what it knows of it. */
interface MadeFile extends Pick<MediaReference, "type" | "width" | "height" | "mode"> {
  readonly path: string;
}

/** Files of media columns on this machine: those of local stores as they are, all others in a cache. */
export class LocalMediaFiles implements MediaFiles {
  readonly #options: MediaFilesOptions;

  constructor(options: MediaFilesOptions) {
    this.#options = options;
  }

  async locate(cell: string, signal?: AbortSignal): Promise<string> {
    const reference = readReference(cell);
    const path = await this.#pathOf(reference, signal);
    return JSON.stringify({ ...reference, path });
  }

  async store(made: string, destination: string | null, signal?: AbortSignal): Promise<string> {
    const file = JSON.parse(made) as MadeFile;
    try {
      return await this.add(file, destination ?? this.#options.output, signal);
    } finally {
      if (!relative(this.#options.scratch_folder, file.path).startsWith("..")) await rm(file.path, { force: true });
    }
  }

  /** Stores a file of this machine, named by its content; gives the cell. @throws as `store` */
  async add(file: MadeFile & { readonly name?: string }, storeName: string, signal?: AbortSignal): Promise<string> {
    const store = await this.#options.openStore(storeName);
    const { sha256, head } = await digestOf(file.path, signal);
    const found = sniffType(head, file.name ?? basename(file.path)) ?? UNKNOWN;
    const content = await fileContent(file.path);
    const key = `${sha256.slice(0, 2)}/${sha256}.${found.extension}`;
    await store.put(key, content, { content_type: found.type, sha256, signal });
    const { width, height, mode, name } = file;
    return printReference({
      store: storeName,
      key,
      type: found.type,
      bytes: content.bytes,
      ...(width === undefined || height === undefined ? {} : { width, height }),
      ...(mode === undefined ? {} : { mode }),
      ...(name === undefined ? {} : { name }),
    });
  }

  async #pathOf({ store: storeName, key, url }: MediaReference, signal: AbortSignal | undefined): Promise<string> {
    if (storeName !== undefined && key !== undefined) {
      const store = await this.#options.openStore(storeName);
      return store.pathOf(key) ?? this.#fetchObject(store, key, signal);
    }
    if (url === undefined) throw new TypeError("A media reference has neither a store nor an address.");
    if (url.startsWith("http:") || url.startsWith("https:")) {
      const { cache, downloads } = this.#options;
      return cache.get(url, (path) => download(url, path, { ...downloads, signal }));
    }
    const at = url.lastIndexOf("/");
    const store = await this.#options.openStore(url.slice(0, at));
    return this.#fetchObject(store, url.slice(at + 1), signal);
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

async function digestOf(path: string, signal: AbortSignal | undefined): Promise<{ sha256: string; head: Buffer }> {
  const hash = createHash("sha256");
  const head = await readHead(path);
  const ended = signal === undefined ? {} : { signal };
  for await (const piece of createReadStream(path, { highWaterMark: READ_BYTES, ...ended }))
    hash.update(piece as Buffer);
  return { sha256: hash.digest("hex"), head };
}

async function readHead(path: string): Promise<Buffer> {
  try {
    await using file = await open(path, "r");
    const { buffer, bytesRead } = await file.read(Buffer.alloc(SNIFFED_BYTES), 0, SNIFFED_BYTES, 0);
    return buffer.subarray(0, bytesRead);
  } catch (cause) {
    throw appError("media_invalid", {
      detail: `The file ${path} cannot be read: ${(cause as NodeJS.ErrnoException).code ?? "unknown"}.`,
      hint: "Return the path of a file that exists until the row is stored.",
      cause,
    });
  }
}
