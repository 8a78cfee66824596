import { mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { appError } from "@appdb/contract/errors";
import { HOME_STORE, type MediaPlace } from "@appdb/contract/media-place";
import { withMedia } from "@appdb/engine/compute/media-runner";
import { MediaObjects } from "@appdb/engine/media/media-objects";
import type { FormReader, MediaFiles, SqlPool, UdfRunner } from "@appdb/engine/ports";
import { AddressTokens } from "@appdb/media/files/address-tokens";
import { FileCache } from "@appdb/media/files/file-cache";
import { LocalMediaFiles, storeNameOf } from "@appdb/media/files/media-files";
import { createFormReader } from "@appdb/media/forms/read-form";
import { openDiskStore } from "@appdb/media/stores/disk-store";
import { parseStoreAddress } from "@appdb/media/stores/media-address";
import type { MediaStore } from "@appdb/media/stores/media-store";
import { openStore } from "@appdb/media/stores/open-store";

/** The variables of workers that name the folder for files which they make: ours, and those of Python's `tempfile`. */
const SCRATCH = ["APPDB_SCRATCH", "TMPDIR", "TEMP", "TMP"];
const ADDRESS_EXPIRES_S = 3_600;
const CACHE_BYTES = 2_000_000_000;
const DOWNLOAD_BYTES = 2_000_000_000;
const DOWNLOAD_MS = 600_000;
/** Files on their way that are older were left behind by a killed process. */
const ABANDONED_MS = 86_400_000;

/** The media of a database, for one process. */
export interface OpenMedia extends AsyncDisposable {
  readonly files: MediaFiles;
  readonly forms: FormReader;
  /** The environment of workers, with the folder for the files that they make, temporary ones included. */
  workerEnv(env: Readonly<Record<string, string>>): Record<string, string>;
  /** The same runner for graphs that read and make media. */
  wrap(runner: UdfRunner): UdfRunner;
  /** Prepares addresses; must end before the first answer. @throws database_unavailable */
  ready(): Promise<void>;
}

/**
 * Opens the media of a database. Stores of clouds are opened on first use, with the credentials of `env`.
 * @throws config_invalid for a destination that is not an address
 */
export function openMedia(
  place: MediaPlace,
  env: Readonly<Record<string, string | undefined>>,
  sql: SqlPool,
): OpenMedia {
  const folders = {
    home: join(place.folder, HOME_STORE),
    cache: join(place.folder, "cache"),
    uploads: join(place.folder, "uploads"),
    scratch: join(place.folder, "scratch"),
  };
  for (const folder of Object.values(folders)) mkdirSync(folder, { recursive: true, mode: 0o700 });
  for (const folder of [folders.uploads, folders.scratch]) removeAbandoned(folder);
  const stores = new Map<string, Promise<MediaStore>>();
  const openNamed = (name: string): Promise<MediaStore> => {
    if (name === HOME_STORE) return Promise.resolve(openDiskStore(folders.home));
    const address = parseStoreAddress(name);
    if (address.kind === "mediafs") throw noMediaFs(name);
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
    input: nameOf(place.input),
    output: nameOf(place.output),
    cache: new FileCache({ folder: folders.cache, max_bytes: CACHE_BYTES }),
    uploads_folder: folders.uploads,
    scratch_folder: folders.scratch,
    downloads: { allows_private: place.may_reach_private, max_bytes: DOWNLOAD_BYTES, total_ms: DOWNLOAD_MS },
    tokens: () => {
      if (tokens === undefined) throw new TypeError("The addresses of media are not ready.");
      return tokens;
    },
    record: (object) => objects.record(object),
  });
  return {
    files,
    forms: createFormReader(folders.uploads),
    workerEnv: (own) => ({ ...own, ...Object.fromEntries(SCRATCH.map((name) => [name, folders.scratch])) }),
    wrap: (runner) => withMedia(runner, files),
    async ready() {
      tokens ??= new AddressTokens(await objects.readSecret(), ADDRESS_EXPIRES_S);
    },
    async [Symbol.asyncDispose]() {
      const opened = await Promise.allSettled(stores.values());
      for (const store of opened) if (store.status === "fulfilled") await store.value[Symbol.asyncDispose]();
    },
  };
}

/** The media of endpoints; nothing for an application without media columns. */
export function mediaDeps(media: OpenMedia | undefined): { readonly media?: MediaFiles; readonly forms?: FormReader } {
  return media === undefined ? {} : { media: media.files, forms: media.forms };
}

function nameOf(destination: string): string {
  return destination === HOME_STORE ? HOME_STORE : storeNameOf(destination);
}

function noMediaFs(name: string): Error {
  return appError("config_invalid", {
    detail: `The media store ${name} cannot be used from this database yet.`,
    hint: "Leave the destination out: files are stored in the database's own media store.",
  });
}

/** Removes files that a killed process left behind. Other processes may use the folder at the same time. */
function removeAbandoned(folder: string): void {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    const found = statSync(path, { throwIfNoEntry: false });
    if (found !== undefined && Date.now() - found.mtimeMs > ABANDONED_MS)
      rmSync(path, { recursive: true, force: true });
  }
}
