import { createHash, randomBytes } from "node:crypto";
import { closeSync, constants, createReadStream, fstatSync, openSync, statSync } from "node:fs";
import { copyFile, link, mkdir, readdir, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { createFile, removeFile, setMode, syncData, writeAll } from "@appdb/system/files/descriptors";
import { isDiskFull } from "@appdb/system/files/is-disk-full";
import { awaitIfExists } from "@appdb/system/files/read-if-exists";
import { syncPath } from "@appdb/system/files/sync-files";
import {
  checkKey,
  type ListOptions,
  type MediaContent,
  type MediaObject,
  type MediaPage,
  type MediaStore,
  type PutOptions,
} from "./media-store.ts";
import { storeError } from "./store-errors.ts";

/** The folder of objects that are being written, by names that begin with their owner. No key begins with a point. */
export const DRAFTS = ".drafts";
const READ_BYTES = 1 << 20;
const DEFAULT_LIMIT = 1_000;
/** Objects never change. */
const OBJECT_MODE = 0o400;
const NO_LINKS = ["EPERM", "ENOTSUP", "EOPNOTSUPP", "EMLINK", "ENOSYS"];

/**
 * Opens a store of files below `folder`, which exists and which only this program and its kind write. The sync of an
 * object's folder makes it durable. `owner` names drafts, so that those of a dead program are known.
 */
export function openDiskStore(folder: string, owner = "draft"): MediaStore {
  const address = pathToFileURL(folder).href;
  const pathOf = (key: string) => join(folder, checkKey(key));
  const failed = (cause: unknown, key?: string) => toStoreError(cause, address, key);
  return {
    address,
    async put(key, content, options) {
      const path = pathOf(key);
      const present = statSync(path, { throwIfNoEntry: false });
      // an object that is named by its content and has another length was changed from outside
      const isNamedByContent = options.sha256 !== undefined && key.includes(options.sha256);
      const isDamaged = isNamedByContent && present?.size !== content.bytes;
      if (present !== undefined && !isDamaged) return { created: false };
      const draft = join(folder, DRAFTS, `${owner}-${randomBytes(12).toString("hex")}`);
      try {
        await withFolders(folder, draft, () => writeDraft(draft, content, options, address));
        const give = present === undefined ? publish : replace;
        const created = await withFolders(folder, path, () => give(draft, path));
        await syncPath(dirname(path));
        return { created };
      } catch (cause) {
        throw failed(cause, key);
      } finally {
        await removeFile(draft);
      }
    },
    async head(key) {
      const found = await awaitIfExists(stat(pathOf(key)));
      return found === undefined ? undefined : objectOf(key, found);
    },
    pathOf,
    async get(key, { range, signal } = {}) {
      const path = pathOf(key);
      try {
        const { bytes, version } = objectOf(key, await stat(path));
        if (range !== undefined && range.end <= range.start) return { bytes, version, body: noBytes() };
        const part = range === undefined ? {} : { start: range.start, end: range.end - 1 };
        const ended = signal === undefined ? {} : { signal };
        return { bytes, version, body: createReadStream(path, { ...part, ...ended, highWaterMark: READ_BYTES }) };
      } catch (cause) {
        throw failed(cause, key);
      }
    },
    list: (options) => listPage(folder, options),
    async delete(keys) {
      for (const key of keys) await rm(pathOf(key), { force: true });
    },
    signGet: async () => undefined,
    signPut: async () => undefined,
    async [Symbol.asyncDispose]() {},
  };
}

/** Does what makes `path`, and makes its folder if it is missing. */
async function withFolders<T>(folder: string, path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
  }
  // the store's own folder is never made: a store that is not mounted would be a new one
  await stat(folder);
  const first = await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  if (first !== undefined) await syncPath(dirname(first));
  return await work();
}

async function writeDraft(draft: string, content: MediaContent, options: PutOptions, address: string): Promise<void> {
  if (content.path !== undefined) {
    if (content.is_movable !== true || !(await moveFile(content.path, draft))) {
      await copyFile(content.path, draft, constants.COPYFILE_FICLONE | constants.COPYFILE_EXCL);
    }
    // the kernel has it in memory, because it got this name just now
    const file = openSync(draft, "r+");
    try {
      await checkLength(fstatSync(file).size, content, address);
      await setMode(file, OBJECT_MODE);
      await syncData(file);
    } finally {
      closeSync(file);
    }
    return;
  }
  const hash = createHash("sha256");
  const file = await createFile(draft, "wx", OBJECT_MODE);
  try {
    let bytes = 0;
    for await (const piece of content.read(0, content.bytes)) {
      options.signal?.throwIfAborted();
      hash.update(piece);
      bytes += piece.length;
      await writeAll(file, piece);
    }
    await checkLength(bytes, content, address);
    const found = hash.digest("hex");
    if (options.sha256 !== undefined && found !== options.sha256) {
      const said = `their SHA-256 is ${found} and not ${options.sha256}`;
      throw storeError("invalid", { address, said, credentials: "" });
    }
    await syncData(file);
  } finally {
    closeSync(file);
  }
}

/** Moves a file within a file system; false for another one. */
async function moveFile(path: string, draft: string): Promise<boolean> {
  try {
    await rename(path, draft);
    return true;
  } catch (error) {
    if (codeOf(error) !== "EXDEV") throw error;
    return false;
  }
}

async function checkLength(bytes: number, content: MediaContent, address: string): Promise<void> {
  if (bytes === content.bytes) return;
  const said = `there are ${bytes} of ${content.bytes} bytes`;
  throw storeError("invalid", { address, said, credentials: "" });
}

/** Gives the draft its name unless another one has it. */
async function publish(draft: string, path: string): Promise<boolean> {
  try {
    await link(draft, path);
    return true;
  } catch (error) {
    const code = codeOf(error) ?? "";
    if (code === "EEXIST") return false;
    if (!NO_LINKS.includes(code)) throw error;
    // a file system without hard links: objects of one key are equal, so that a later one may replace it
    return await replace(draft, path);
  }
}

async function replace(draft: string, path: string): Promise<boolean> {
  await rename(draft, path);
  return true;
}

async function listPage(
  folder: string,
  { prefix = "", after = "", limit = DEFAULT_LIMIT }: ListOptions = {},
): Promise<MediaPage> {
  const objects: MediaObject[] = [];
  for await (const key of walk(folder, "", prefix, after)) {
    const found = await awaitIfExists(stat(join(folder, key)));
    if (found === undefined) continue;
    if (objects.length === limit) return { objects, next: objects.at(-1)?.key };
    objects.push(objectOf(key, found));
  }
  return { objects, next: undefined };
}

/** Gives keys in the order of their bytes, as object stores do. */
async function* walk(folder: string, above: string, prefix: string, after: string): AsyncGenerator<string> {
  const entries = (await awaitIfExists(readdir(join(folder, above), { withFileTypes: true }))) ?? [];
  const names = entries
    .filter((entry) => !entry.name.startsWith(".") && (entry.isFile() || entry.isDirectory()))
    .map((entry) => above + entry.name + (entry.isDirectory() ? "/" : ""))
    .sort((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)));
  for (const name of names) {
    const isFolder = name.endsWith("/");
    const reaches = isFolder ? name.startsWith(prefix) || prefix.startsWith(name) : name.startsWith(prefix);
    const isPassed = isFolder ? name < after && !after.startsWith(name) : name <= after;
    if (!reaches || isPassed) continue;
    if (isFolder) yield* walk(folder, name, prefix, after);
    else yield name;
  }
}

function objectOf(key: string, { size, mtimeMs }: { readonly size: number; readonly mtimeMs: number }): MediaObject {
  return { key, bytes: size, modified_ms: Math.floor(mtimeMs), version: `${size}-${mtimeMs}` };
}

async function* noBytes(): AsyncGenerator<Uint8Array> {}

function toStoreError(cause: unknown, address: string, key: string | undefined): unknown {
  const code = codeOf(cause);
  const context = { address, said: code ?? "", credentials: "the rights of the folder", key, cause };
  if (isDiskFull(cause)) return storeError("full", { ...context, said: "the disk is full" });
  if (code === "EACCES" || code === "EPERM" || code === "EROFS") return storeError("denied", context);
  if (code === "EIO") return storeError("unavailable", context);
  if (code === "ENOENT") return storeError(key === undefined ? "no_store" : missing(cause, address), context);
  return cause;
}

/** Whether the object is missing, or all of the store. */
function missing(cause: unknown, address: string): "no_store" | "not_found" {
  const path = (cause as NodeJS.ErrnoException).path;
  return path !== undefined && pathToFileURL(path).href === address ? "no_store" : "not_found";
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}
