import { mkdirSync } from "node:fs";
import { basename, isAbsolute } from "node:path";
import { pathToFileURL } from "node:url";
import { appError } from "@appdb/contract/errors";
import { readReference } from "@appdb/contract/media";
import { HOME_STORE, type MediaPlace } from "@appdb/contract/media-place";
import { isObjectKey, MEDIA_SCHEME } from "@appdb/contract/media-uri";
import { INPUT_DESTINATION, MEDIA_SOURCES, OUTPUT_DESTINATION } from "@appdb/contract/media-variables";
import type { FileCell } from "@appdb/contract/routes/data-api";
import type { HostedAccess } from "@appdb/contract/runtime";
import { withMedia } from "@appdb/engine/compute/media-runner";
import { MEDIA_PATH } from "@appdb/engine/endpoints/media-routes";
import { MediaNames } from "@appdb/engine/media/media-names";
import { MediaObjects, readDiskRoom } from "@appdb/engine/media/media-objects";
import type { FormReader, Logger, MediaFiles, SqlPool, UdfRunner } from "@appdb/engine/ports";
import { AddressTokens } from "@appdb/media/files/address-tokens";
import { Downloads } from "@appdb/media/files/downloads";
import { FileCache } from "@appdb/media/files/file-cache";
import { LocalMediaFiles, type MediaFilesOptions, storeNameOf } from "@appdb/media/files/media-files";
import { MediaSources } from "@appdb/media/files/media-sources";
import { createFormReader } from "@appdb/media/forms/read-form";
import { openHomeStore } from "@appdb/media/stores/home-store";
import { isCloud, parseStoreAddress, printStoreAddress, readStoreAddress } from "@appdb/media/stores/media-address";
import type { MediaStore } from "@appdb/media/stores/media-store";
import { openStore } from "@appdb/media/stores/open-store";
import { mediaFolders, openOwnFolders, readClientId, removeLeftovers } from "./own-folders.ts";
import { guardScratch } from "./scratch-guard.ts";
import { createUploadRoom } from "./upload-room.ts";

/** The variables of workers that name the folder for files which they make: ours, and those of Python's `tempfile`. */
const SCRATCH = ["APPDB_SCRATCH", "TMPDIR", "TEMP", "TMP"];
const ADDRESS_EXPIRES_S = 3_600;
const CACHE_BYTES = 2_000_000_000;
const DOWNLOAD_BYTES = 2_000_000_000;
const DOWNLOAD_MS = 600_000;
/** Uploads together ask after so many bytes, and after so many milliseconds, whether the disk is full. */
const CHECKED_BYTES = 64_000_000;
const CHECKED_MS = 1_000;

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
  /** Removes the files on their way, for a process that ends in the middle of requests. */
  abandon(): Promise<void>;
}

export interface MediaInput {
  readonly place: MediaPlace;
  /** Credentials and endpoints of stores. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** How a local database reaches media stores of hosted ones. */
  readonly hosted: HostedAccess | undefined;
  /** The stores of the application's columns: requests may name their files too. */
  readonly destinations: readonly string[];
  readonly sql: SqlPool;
  readonly log: Logger;
  /** Defaults to addresses below a service. */
  readonly print_address?: MediaFilesOptions["printAddress"];
}

/** The address of a token below a service. */
function serviceAddress(base: string, token: string, name: string): string {
  return `${base}${MEDIA_PATH}/${token}/${encodeURIComponent(name)}`;
}

/**
 * Opens the media of a database. Stores of clouds are opened on first use, with the credentials of `env`.
 * @throws config_invalid for a destination or a source that is not an address
 */
export function openMedia({
  place,
  env,
  hosted,
  destinations,
  sql,
  log,
  print_address: printAddress = serviceAddress,
}: MediaInput): OpenMedia {
  const [input, output] = [configuredStore(place, "input"), configuredStore(place, "output")];
  const sources = openSources(place, destinations);
  const folders = mediaFolders(place);
  for (const folder of Object.values(folders)) mkdirSync(folder, { recursive: true, mode: 0o700 });
  const own = openOwnFolders(folders);
  const stores = new Map<string, Promise<MediaStore>>();
  const ownUri = place.home_address ?? `${MEDIA_SCHEME}${basename(place.folder)}/${HOME_STORE}`;
  const openNamed = async (name: string): Promise<MediaStore> => {
    if (name === HOME_STORE) {
      const { objects } = place;
      return openHomeStore({ folder: folders.home, owner: own.owner, objects, address: ownUri });
    }
    const address = parseStoreAddress(name);
    if (address.kind === "mediafs") {
      if (place.home_address !== undefined) throw noMediaFs(name);
      return (await import("./hosted-stores.ts")).openHostedStore(address, hosted, log);
    }
    if (address.kind === "file" && place.home_address !== undefined) throw noFolder(name);
    return await openStore(address, { environment: env });
  };
  const objects = new MediaObjects(sql, { uri: ownUri });
  const names = new MediaNames(sql, HOME_STORE);
  const whileWritable = whileAllowed(() => objects.requireWritable());
  const admitUpload = createUploadRoom(() => readDiskRoom(sql), ownUri);
  let tokens: AddressTokens | undefined;
  const files = new LocalMediaFiles({
    openStore: (name) => {
      const opening = stores.get(name) ?? openNamed(name);
      stores.set(name, opening);
      opening.catch(() => stores.delete(name));
      return opening;
    },
    own_uri: ownUri,
    findOwn: async (name) => {
      const [named] = await names.find([name]);
      if (named !== undefined) return { ...named, store: HOME_STORE };
      return isObjectKey(name) ? await objects.find(name) : undefined;
    },
    nameOf: (destination) => nameOf(destination, place),
    input,
    output,
    hasObjects: (store) => objects.hasAny(store),
    own_stores: [input, output, ...destinations.map((destination) => nameOf(destination, place))],
    sources,
    cache: new FileCache({ folder: folders.cache, max_bytes: CACHE_BYTES, owner: own.owner }),
    uploads_folder: own.uploads,
    lent_folder: folders.cache,
    scratch_folder: own.scratch,
    made_bytes: place.scratch_bytes,
    whileWritable,
    downloads: new Downloads({
      allows_private: place.may_reach_private,
      max_bytes: DOWNLOAD_BYTES,
      total_ms: DOWNLOAD_MS,
      bytes_at_once: 2 * DOWNLOAD_BYTES,
      requireWritable: () => objects.requireWritable(),
    }),
    tokens: () => tokens,
    printAddress,
    record: (object) => objects.record(object),
  });
  const { scratch_bytes: scratchBytes } = place;
  const guard =
    scratchBytes === undefined ? undefined : guardScratch({ folder: folders.scratch, max_bytes: scratchBytes, log });
  const forms = createFormReader(own.uploads, folders.cache, own.upload_prefix);
  return {
    files,
    forms: {
      read: (body, type, limits) => forms.read(whileWritable(admitUpload(body, limits.body_bytes)), type, limits),
    },
    workerEnv: (given) => ({ ...given, ...Object.fromEntries(SCRATCH.map((name) => [name, own.scratch])) }),
    describe(cell) {
      if (tokens === undefined) throw new TypeError("Files have no addresses before they are served.");
      const { store, key, ...shown } = readReference(cell);
      const address = printAddress("", tokens.make(readReference(cell)), shown.name ?? "");
      const uri = store === undefined || key === undefined ? undefined : `${ownUri}/${key}`;
      return { address, ...(uri === undefined ? {} : { uri }), ...shown };
    },
    wrap: (runner) => withMedia(runner, files),
    async serve() {
      await removeLeftovers(folders);
      tokens ??= new AddressTokens(await objects.readSecret(), ADDRESS_EXPIRES_S);
    },
    async abandon() {
      await own[Symbol.asyncDispose]();
      // its mark is gone: its drafts in shared folders have no owner now
      await removeLeftovers(folders);
    },
    async [Symbol.asyncDispose]() {
      guard?.[Symbol.dispose]();
      const opened = await Promise.allSettled(stores.values());
      for (const store of opened) if (store.status === "fulfilled") await store.value[Symbol.asyncDispose]();
      await own[Symbol.asyncDispose]();
    },
  };
}

/** The media of endpoints; nothing for an application without media columns. */
export function mediaDeps(media: OpenMedia | undefined): { readonly media?: MediaFiles; readonly forms?: FormReader } {
  return media === undefined ? {} : { media: media.files, forms: media.forms };
}

/** Returns the same pieces while the database accepts writes: uploads do not fill a full disk, however many there are. */
function whileAllowed(requireWritable: () => Promise<void>) {
  let unchecked = 0;
  let checkedAt = Number.NEGATIVE_INFINITY;
  let last = Promise.resolve();
  return async function* (body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
    for await (const piece of body) {
      unchecked += piece.length;
      if (unchecked >= CHECKED_BYTES || performance.now() - checkedAt > CHECKED_MS) {
        [unchecked, checkedAt] = [0, performance.now()];
        last = requireWritable();
        // each upload awaits it with its next piece
        last.catch(() => undefined);
      }
      await last;
      yield piece;
    }
  };
}

function nameOf(destination: string, { folder, home_address: home }: MediaPlace): string {
  if (destination === HOME_STORE) return HOME_STORE;
  const name = storeNameOf(destination);
  if (name === home) return HOME_STORE;
  const address = parseStoreAddress(name);
  if (address.kind !== "mediafs" || home !== undefined) return name;
  // a folder of this database alone: it deletes files that another one may still need in no other place
  const own = `local/${basename(folder)}-${readClientId(folder)}`;
  return printStoreAddress({ ...address, prefix: address.prefix === "" ? own : `${address.prefix}/${own}` });
}

/** The store of given or computed files by its name. @throws config_invalid that names the setting */
export function configuredStore(place: MediaPlace, name: "input" | "output"): string {
  const isLocal = place.home_address === undefined;
  const text = isLocal && isAbsolute(place[name]) ? pathToFileURL(place[name]).href : place[name];
  if (text === HOME_STORE || text === place.home_address) return HOME_STORE;
  const address = readStoreAddress(text);
  if (address !== undefined && (isLocal || address.kind !== "mediafs")) return nameOf(text, place);
  const variable = name === "input" ? INPUT_DESTINATION : OUTPUT_DESTINATION;
  const setting = isLocal ? variable : `db_${name}_media_dest`;
  throw appError("config_invalid", {
    detail: `${setting} is ${JSON.stringify(text.slice(0, 200))}, which is not a store that this database can use.`,
    hint: `Write for example ${isLocal ? `${setting}=s3://bucket/prefix, ${setting}=mediafs://acme:main/home or ${setting}=/folder` : `${setting} = "s3://bucket/prefix"`}`,
  });
}

/**
 * Given addresses may lie in the stores of the database and of its application, and in those that its operator names.
 * @throws config_invalid that names the setting
 */
export function openSources(place: MediaPlace, destinations: readonly string[]): MediaSources {
  const isLocal = place.home_address === undefined;
  for (const source of place.sources) {
    const address = readStoreAddress(source);
    const isRead = address !== undefined && (isCloud(address) || (isLocal && address.kind === "mediafs"));
    if (!isRead) throw noSource(source, isLocal);
  }
  const named = [place.input, place.output, ...place.sources, ...destinations];
  const stores = isLocal ? named : named.filter((store) => !store.startsWith(MEDIA_SCHEME));
  return new MediaSources(stores, (store) =>
    isLocal
      ? `start the service with the variable ${MEDIA_SOURCES}=${store}`
      : `db_media_sources = ["${store}"] in the database's entry of service.toml, then cli db update`,
  );
}

function noSource(source: string, isLocal: boolean): Error {
  const setting = isLocal ? MEDIA_SOURCES : "db_media_sources";
  return appError("config_invalid", {
    detail: `${setting} has ${JSON.stringify(source.slice(0, 200))}, which is not the address of a store.`,
    hint: `Write for example ${isLocal ? `${MEDIA_SOURCES}=s3://bucket/prefix,mediafs://acme:main/home` : 'db_media_sources = ["s3://bucket/prefix"]'}`,
  });
}

function noMediaFs(name: string): Error {
  return appError("config_invalid", {
    detail: `${name} is the media store of another database. A hosted database stores files in its own.`,
    hint: "Leave the destination out: files are stored in the database's own media store.",
  });
}

function noFolder(name: string): Error {
  return appError("config_invalid", {
    detail: `The media store ${name} is a folder, and a hosted database has no folders of its own.`,
    hint: "Leave the destination out, or name a bucket: s3://bucket/prefix",
  });
}
