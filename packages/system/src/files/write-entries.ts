import { constants } from "node:fs";
import { chmod, mkdir, open, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";

/** Maximum number of files written concurrently. */
const AT_ONCE = 16;
/** Follows no link and overwrites nothing. */
const NEW_FILE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/** A file or a link to write. */
export interface NewEntry {
  /** Path from the folder's root, separated by `/`. */
  readonly path: string;
  readonly is_executable: boolean;
  /** Target of a link as written; null for a file. */
  readonly link: string | null;
  /** Bytes of a file; unused for a link. */
  bytes(): AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
}

/** Permissions of written entries. */
export interface EntryModes {
  readonly folder: number;
  readonly file: number;
  readonly program: number;
}

/** Read-only for everyone. */
export const SEALED: EntryModes = { folder: 0o555, file: 0o444, program: 0o555 };
/** Writable by the owner. */
export const OPEN: EntryModes = { folder: 0o755, file: 0o644, program: 0o755 };

/**
 * Writes entries into an empty folder. No one else may write there until it resolves. Creates only the listed entries
 * and their parent folders. The list must pass `findTreeProblem`: no entry lies below another one.
 */
export async function writeEntries(
  entries: readonly NewEntry[],
  folder: string,
  modes: EntryModes,
  signal: AbortSignal,
): Promise<void> {
  const folders = foldersOf(entries);
  for (const path of folders) await mkdir(join(folder, path), { mode: 0o700 });
  const files = entries.filter(({ link }) => link === null);
  await forEachConcurrently(files, AT_ONCE, async (entry) => {
    signal.throwIfAborted();
    await writeFile(entry, join(folder, entry.path), entry.is_executable ? modes.program : modes.file);
  });
  // links last: no file was written below one of them
  for (const { link, path } of entries) if (link !== null) await symlink(link, join(folder, path));
  for (const path of [...folders].reverse()) await chmod(join(folder, path), modes.folder);
  await chmod(folder, modes.folder);
}

/** Parent folders of the entries, each after its own parent. */
function foldersOf(entries: readonly NewEntry[]): string[] {
  const found = new Set<string>();
  for (const { path } of entries) {
    for (let parent = dirname(path); parent !== "." && !found.has(parent); parent = dirname(parent)) found.add(parent);
  }
  return [...found].sort((a, b) => (a < b ? -1 : 1));
}

async function writeFile(entry: NewEntry, path: string, mode: number): Promise<void> {
  const file = await open(path, NEW_FILE, 0o600);
  try {
    for await (const piece of entry.bytes()) {
      for (let at = 0; at < piece.length; ) at += (await file.write(piece, at)).bytesWritten;
    }
    await file.chmod(mode);
  } finally {
    await file.close();
  }
}

/** Runs items in order with bounded concurrency. The first error stops it after the running ones end. */
async function forEachConcurrently<T>(
  items: readonly T[],
  count: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const rest = items[Symbol.iterator]();
  const errors: unknown[] = [];
  const lane = async () => {
    for (let next = rest.next(); next.done !== true && errors.length === 0; next = rest.next()) {
      await work(next.value).catch((error: unknown) => errors.push(error));
    }
  };
  await Promise.all(Array.from({ length: Math.min(count, items.length) }, lane));
  if (errors.length > 0) throw errors[0];
}
