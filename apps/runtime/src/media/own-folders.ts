import { randomBytes } from "node:crypto";
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { MEDIA_FOLDERS, type MediaPlace } from "@appdb/contract/media-place";
import { DRAFT as CACHE_DRAFT } from "@appdb/media/files/file-cache";
import { DRAFTS as STORE_DRAFTS } from "@appdb/media/stores/disk-store";
import { awaitIfExists, readIfExists } from "@appdb/system/files/read-if-exists";
import { removeFolder } from "@appdb/system/files/remove-folder";
import { markAlive, readMarks, removeMark } from "@appdb/system/processes/live-marks";

/** Names of uploads that workers see. */
const UPLOAD = "upload-";
const OWNER = /^[0-9a-f]{24}$/;
const OWNER_DIGITS = 24;
/** Contains the id of the database among the clients of hosted stores. */
const CLIENT_FILE = "client";

/** The folders of media that processes of a database share. */
export interface MediaFolders {
  readonly home: string;
  readonly cache: string;
  readonly uploads: string;
  readonly scratch: string;
}

/** Files on their way of one process. Disposing removes them. */
export interface OwnFolders extends AsyncDisposable {
  /** Names drafts in shared folders. */
  readonly owner: string;
  readonly uploads: string;
  readonly scratch: string;
  /** The beginning of the names of uploads. */
  readonly upload_prefix: string;
}

export function mediaFolders({ folder }: Pick<MediaPlace, "folder">): MediaFolders {
  const { home, cache, uploads, scratch } = MEDIA_FOLDERS;
  return {
    home: join(folder, home),
    cache: join(folder, cache),
    uploads: join(folder, uploads),
    scratch: join(folder, scratch),
  };
}

/** A new name for drafts of this process in shared folders, which live as long as its mark. */
export function markOwner(uploads: string): { readonly owner: string; readonly mark: Disposable } {
  const owner = randomBytes(OWNER_DIGITS / 2).toString("hex");
  return { owner, mark: markAlive(uploads, owner) };
}

/**
 * Makes folders of this process. Its mark comes first, so that files without a living owner are always left behind. Only
 * processes that code cannot write for see the mark: it is with the uploads.
 */
export function openOwnFolders({ uploads, scratch }: MediaFolders): OwnFolders {
  const { mark, owner } = markOwner(uploads);
  const own = { uploads: join(uploads, owner), scratch: join(scratch, owner) };
  for (const folder of Object.values(own)) mkdirSync(folder, { mode: 0o700 });
  return {
    owner,
    ...own,
    upload_prefix: `${UPLOAD}${owner}-`,
    async [Symbol.asyncDispose]() {
      for (const folder of Object.values(own)) await removeFolder(folder);
      mark[Symbol.dispose]();
    },
  };
}

/**
 * Removes files that killed processes left behind. Other processes may use the folders at the same time, and functions
 * may make links and folders in them: no link is followed.
 */
export async function removeLeftovers({ cache, home, scratch, uploads }: MediaFolders): Promise<void> {
  const drafts = join(home, STORE_DRAFTS);
  // The names come before the marks: a process that starts meanwhile has no name in the lists.
  const names = [
    ...(await listOwned(uploads, (name) => (name.includes(".") ? undefined : name))),
    ...(await listOwned(scratch, (name) => name)),
    ...(await listOwned(cache, ownerInCache)),
    ...(await listOwned(drafts, (name) => name.split("-", 1)[0])),
  ];
  const marks = await readMarks(uploads);
  for (const { path, owner } of names) if (marks.get(owner) !== true) await removeFolder(path);
  for (const [owner, lives] of marks) if (!lives) removeMark(uploads, owner);
}

/** Empties the folder of all files that functions make. The folders of processes stay. */
export async function emptyScratch(scratch: string): Promise<void> {
  for (const name of await readdir(scratch)) {
    const path = join(scratch, name);
    await removeFolder(path);
    if (OWNER.test(name)) mkdirSync(path, { recursive: true, mode: 0o700 });
  }
}

async function listOwned(folder: string, ownerOf: (name: string) => string | undefined) {
  const names = (await awaitIfExists(readdir(folder))) ?? [];
  return names.flatMap((name) => {
    const owner = ownerOf(name);
    return owner === undefined ? [] : [{ path: join(folder, name), owner }];
  });
}

function ownerInCache(name: string): string | undefined {
  const start = [UPLOAD, CACHE_DRAFT].find((prefix) => name.startsWith(prefix));
  return start === undefined ? undefined : name.slice(start.length, start.length + OWNER_DIGITS);
}

/**
 * The id of a local database among the clients of a hosted store, from the folder of its media. The first call makes it.
 * A file and not a hash of names: machines and folders of the same names exist.
 */
export function readClientId(folder: string): string {
  const path = join(folder, CLIENT_FILE);
  const found = readIfExists(() => readFileSync(path, "utf8"));
  if (found !== undefined) return found;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const draft = join(folder, `${CLIENT_FILE}.${randomBytes(6).toString("hex")}`);
  writeFileSync(draft, randomBytes(6).toString("hex"), { mode: 0o600, flag: "wx", flush: true });
  try {
    linkSync(draft, path);
  } catch (error) {
    // another process was first
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    rmSync(draft, { force: true });
  }
  return readFileSync(path, "utf8");
}
