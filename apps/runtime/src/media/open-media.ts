import { mkdirSync } from "node:fs";
import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import { appError } from "@appdb/contract/errors";
import { readReference } from "@appdb/contract/media";
import { HOME_STORE, MEDIA_FOLDERS, type MediaPlace } from "@appdb/contract/media-place";
import type { FileCell } from "@appdb/contract/routes/pod";
import { withMedia } from "@appdb/engine/compute/media-runner";
import { MEDIA_PATH } from "@appdb/engine/endpoints/media-routes";
import { MediaObjects } from "@appdb/engine/media/media-objects";
import type { FormReader, Logger, MediaFiles, SqlPool, UdfRunner } from "@appdb/engine/ports";
import { AddressTokens } from "@appdb/media/files/address-tokens";
import { FileCache } from "@appdb/media/files/file-cache";
import { LocalMediaFiles, type MediaFilesOptions, storeNameOf } from "@appdb/media/files/media-files";
import { createFormReader } from "@appdb/media/forms/read-form";
import { openDiskStore } from "@appdb/media/stores/disk-store";
import { parseStoreAddress } from "@appdb/media/stores/media-address";
import type { MediaStore } from "@appdb/media/stores/media-store";
import { openStore } from "@appdb/media/stores/open-store";
import { awaitIfExists } from "@appdb/system/files/read-if-exists";
import { removeFolder } from "@appdb/system/files/remove-folder";
import { guardScratch } from "./scratch-guard.ts";

/** The variables of workers that name the folder for files which they make: ours, and those of Python's `tempfile`. */
const SCRATCH = ["APPDB_SCRATCH", "TMPDIR", "TEMP", "TMP"];
const ADDRESS_EXPIRES_S = 3_600;
const CACHE_BYTES = 2_000_000_000;
const DOWNLOAD_BYTES = 2_000_000_000;
const DOWNLOAD_MS = 600_000;
/** An upload asks this often whether the disk is full. */
const CHECKED_BYTES = 64_000_000;
/** Files on their way that are older were left behind by a killed process. */
const ABANDONED_MS = 86_400_000;

/** The media of a database, for one process. */
export interface OpenMedia extends AsyncDisposable {
  readonly files: MediaFiles;
  readonly forms: FormReader;
  /** The environment of workers, with the folder for the files that they make, temporary ones included. */
  workerEnv(env: Readonly<Record<string, string>>): Record<string, string>;
  /** What people are shown of a cell. @throws TypeError before `serve` */
  describe(cell: string): FileCell;
  /** The same runner for graphs that read and make media. */
  wrap(runner: UdfRunner): UdfRunner;
  /**
   * Prepares the addresses of a service, and removes what killed processes left; must end before its first answer. Without
   * it answers name files by store and key. @throws database_unavailable
   */
  serve(): Promise<void>;
}

/** The address of a token below a service. */
function serviceAddress(base: string, token: string, name: string): string {
  return `${base}${MEDIA_PATH}/${token}/${encodeURIComponent(name)}`;
}

/**
 * Opens the media of a database. Stores of clouds are opened on first use, with the credentials of `env`.
 * @throws config_invalid for a destination that is not an address
 */
export function openMedia(
  place: MediaPlace,
  env: Readonly<Record<string, string | undefined>>,
  sql: SqlPool,
  log: Logger,
  printAddress: MediaFilesOptions["printAddress"] = serviceAddress,
): OpenMedia {
  const folders = {
    home: join(place.folder, MEDIA_FOLDERS.home),
    cache: join(place.folder, MEDIA_FOLDERS.cache),
    uploads: join(place.folder, MEDIA_FOLDERS.uploads),
    scratch: join(place.folder, MEDIA_FOLDERS.scratch),
  };
  for (const folder of Object.values(folders)) mkdirSync(folder, { recursive: true, mode: 0o700 });
  const stores = new Map<string, Promise<MediaStore>>();
  const openNamed = (name: string): Promise<MediaStore> => {
    if (name === HOME_STORE) return Promise.resolve(openDiskStore(folders.home));
    const address = parseStoreAddress(name);
    if (address.kind === "mediafs") throw noMediaFs(name);
    if (address.kind === "file" && place.home_address !== undefined) throw noFolder(name);
    return openStore(address, { environment: env });
  };
  const objects = new MediaObjects(sql);
  let tokens: AddressTokens | undefined;
  const files = new LocalMediaFiles({
    openStore: (name) => {
      const opening = stores.get(name) ?? openNamed(name);
      stores.set(name, opening);
      opening.catch(() => stores.delete(name));
      return opening;
    },
    nameOf: (destination) => nameOf(destination, place),
    input: nameOf(place.input, place),
    output: nameOf(place.output, place),
    cache: new FileCache({ folder: folders.cache, max_bytes: CACHE_BYTES }),
    uploads_folder: folders.uploads,
    lent_folder: folders.cache,
    scratch_folder: folders.scratch,
    downloads: { allows_private: place.may_reach_private, max_bytes: DOWNLOAD_BYTES, total_ms: DOWNLOAD_MS },
    tokens: () => tokens,
    printAddress,
    record: (object) => objects.record(object),
  });
  const { scratch_bytes: scratchBytes } = place;
  const guard =
    scratchBytes === undefined ? undefined : guardScratch({ folder: folders.scratch, max_bytes: scratchBytes, log });
  const forms = createFormReader(folders.uploads, folders.cache);
  return {
    files,
    forms: { read: (body, ...form) => forms.read(whileWritable(body, objects), ...form) },
    workerEnv: (own) => ({ ...own, ...Object.fromEntries(SCRATCH.map((name) => [name, folders.scratch])) }),
    describe(cell) {
      if (tokens === undefined) throw new TypeError("Files have no addresses before they are served.");
      const { store: _store, key: _key, ...shown } = readReference(cell);
      return { address: printAddress("", tokens.make(readReference(cell)), shown.name ?? ""), ...shown };
    },
    wrap: (runner) => withMedia(runner, files),
    async serve() {
      for (const folder of [folders.uploads, folders.scratch]) await removeAbandoned(folder);
      tokens ??= new AddressTokens(await objects.readSecret(), ADDRESS_EXPIRES_S);
    },
    async [Symbol.asyncDispose]() {
      guard?.[Symbol.dispose]();
      const opened = await Promise.allSettled(stores.values());
      for (const store of opened) if (store.status === "fulfilled") await store.value[Symbol.asyncDispose]();
    },
  };
}

/** The media of endpoints; nothing for an application without media columns. */
export function mediaDeps(media: OpenMedia | undefined): { readonly media?: MediaFiles; readonly forms?: FormReader } {
  return media === undefined ? {} : { media: media.files, forms: media.forms };
}

/** The same pieces while the database accepts writes: an upload does not fill a full disk. @throws disk_full */
async function* whileWritable(
  body: AsyncIterable<Uint8Array>,
  objects: MediaObjects,
): AsyncGenerator<Uint8Array, void, undefined> {
  let bytes = Number.POSITIVE_INFINITY;
  for await (const piece of body) {
    if (bytes >= CHECKED_BYTES) {
      await objects.requireWritable();
      bytes = 0;
    }
    bytes += piece.length;
    yield piece;
  }
}

function nameOf(destination: string, { home_address: home }: MediaPlace): string {
  const name = destination === HOME_STORE ? HOME_STORE : storeNameOf(destination);
  return name === home ? HOME_STORE : name;
}

function noMediaFs(name: string): Error {
  return appError("config_invalid", {
    detail: `The media store ${name} cannot be used from this database yet.`,
    hint: "Leave the destination out: files are stored in the database's own media store.",
  });
}

function noFolder(name: string): Error {
  return appError("config_invalid", {
    detail: `The media store ${name} is a folder, and a hosted database has no folders of its own.`,
    hint: "Leave the destination out, or name a bucket: s3://bucket/prefix",
  });
}

/**
 * Removes files that a killed process left behind. Other processes may use the folder at the same time, and functions
 * may make links and folders in it: no link is followed.
 */
async function removeAbandoned(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    const found = await awaitIfExists(lstat(path));
    if (found !== undefined && Date.now() - found.mtimeMs > ABANDONED_MS) await removeFolder(path);
  }
}
