import { constants } from "node:fs";
import { chmod, mkdir, open, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";

/** Files that are written at a time. */
const AT_ONCE = 16;
/** Never through a link, and never over what is there. */
const NEW_FILE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/** A file or a link to write. */
export interface NewEntry {
  /** From the folder's root, parts divided by `/`. */
  readonly path: string;
  readonly is_executable: boolean;
  /** Where a link leads, as it is written; null for a file. */
  readonly link: string | null;
  /** The bytes of a file; none of a link. */
  bytes(): AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
}

/** Permissions of what is written. */
export interface EntryModes {
  readonly folder: number;
  readonly file: number;
  readonly program: number;
}

/** Nobody may change what is written. */
export const SEALED: EntryModes = { folder: 0o555, file: 0o444, program: 0o555 };
/** The owner may change what is written. */
export const OPEN: EntryModes = { folder: 0o755, file: 0o644, program: 0o755 };

/**
 * Writes a list of entries into a folder that is empty, and in which nobody else can write until this resolves. Only listed entries and the folders
 * around them are made. The list must be one that `findTreeProblem` accepts: no entry lies below another one.
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
  await eachAtOnce(files, AT_ONCE, async (entry) => {
    signal.throwIfAborted();
    await writeFile(entry, join(folder, entry.path), entry.is_executable ? modes.program : modes.file);
  });
  // last: no file was written below one of them
  for (const { link, path } of entries) if (link !== null) await symlink(link, join(folder, path));
  for (const path of [...folders].reverse()) await chmod(join(folder, path), modes.folder);
  await chmod(folder, modes.folder);
}

/** The folders of the entries, each behind the one that it lies in. */
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

/** In order, so many at a time; the first error ends it once those that were begun have ended. */
async function eachAtOnce<T>(items: readonly T[], count: number, work: (item: T) => Promise<void>): Promise<void> {
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
