import { lstatSync, readFileSync, type Stats, statSync } from "node:fs";
import { setImmediate as nextTurn } from "node:timers/promises";
import { CHUNK_BYTES, findTreeProblem, MAX_TREE_BYTES, type TreeEntry } from "@appdb/contract/control/project-tree";
import { type AppError, appError } from "@appdb/contract/errors";
import { stripToolService } from "@appdb/python-runtime/environments/strip-tool-service";
import { formatBytes } from "../output/sizes.ts";
import { type DigestCache, openDigestCache } from "./digest-cache.ts";
import { mentionsService } from "./find-project.ts";
import { digestOf, filesChanged, hashFile, isSameFile } from "./hash-file.ts";
import type { LeftOut, SelectedFile, SelectedFiles } from "./select-files.ts";

/** Source of a blob's bytes. */
export interface BlobSource {
  /** Path of the file from the project's root. */
  readonly path: string;
  readonly absolute: string;
  readonly offset: number;
  readonly length: number;
  /** Set when the uploaded content differs from the file. */
  readonly bytes: Uint8Array | undefined;
}

/** Project files as they are uploaded. */
export interface ProjectTree {
  /** Sorted by path. */
  readonly entries: readonly TreeEntry[];
  /** SHA-256 of whole files, by path. */
  readonly digests: ReadonlyMap<string, string>;
  /** By digest. */
  readonly blobs: ReadonlyMap<string, BlobSource>;
  readonly bytes: number;
  readonly left_out: readonly LeftOut[];
}

/** How long files are read before other work runs: Ctrl-C, the terminal. */
const TURN_MS = 30;

/**
 * Reads the digests of a project's files; those of unchanged files come from the home's cache. Our section is removed
 * from pyproject.toml.
 * @throws files_changed, tree_invalid for more bytes than a project may have, config_invalid, interrupted
 */
export async function readProjectTree(
  deps: { readonly home: string; readonly signal: AbortSignal },
  root: string,
  selected: SelectedFiles,
): Promise<ProjectTree> {
  refuseTooLarge(selected.files);
  const cache = openDigestCache(deps.home, root);
  const tree = { entries: [] as TreeEntry[], digests: new Map<string, string>(), blobs: new Map<string, BlobSource>() };
  const excluded = [...selected.left_out];
  const read = new Map<string, SelectedFile>();
  const giveTurn = createYield(deps.signal);
  for (const file of selected.files) {
    const taken = await takeFile(file, cache, giveTurn);
    if ("reason" in taken) {
      excluded.push({ path: file.path, reason: taken.reason });
      continue;
    }
    read.set(file.path, { ...file, stats: taken.stats });
    tree.digests.set(file.path, taken.digest);
    tree.entries.push(entryOf(file, taken.stats, taken.size, taken.chunks));
    for (const [index, chunk] of taken.chunks.entries()) {
      if (!tree.blobs.has(chunk)) tree.blobs.set(chunk, sourceOf(file, index, taken.size, taken.bytes));
    }
  }
  for (const { link, path } of selected.links) {
    tree.entries.push({ path, size: 0, is_executable: false, chunks: [], link });
  }
  refuseMoved([...read.values()]);
  cache.save();
  const entries = tree.entries.sort((one, other) => (one.path < other.path ? -1 : 1));
  const problem = findTreeProblem(entries);
  if (problem !== undefined) throw invalid(`The project's files cannot be sent: ${problem}.`);
  return { ...tree, entries, bytes: entries.reduce((sum, { size }) => sum + size, 0), left_out: excluded };
}

interface TakenFile {
  readonly digest: string;
  readonly chunks: readonly string[];
  /** Uploaded size. */
  readonly size: number;
  readonly stats: Stats;
  readonly bytes: Uint8Array | undefined;
}

async function takeFile(
  file: SelectedFile,
  cache: DigestCache,
  giveTurn: () => Promise<void>,
): Promise<TakenFile | { readonly reason: string }> {
  const { absolute, path, stats } = file;
  try {
    const bytes = rewrite(path, absolute);
    if (bytes !== undefined) {
      const digest = digestOf(bytes);
      return { digest, chunks: bytes.length === 0 ? [] : [digest], size: bytes.length, stats, bytes };
    }
    const known = cache.find(path, stats);
    if (known !== undefined) return { ...known, size: stats.size, stats, bytes: undefined };
    const readAtMs = Date.now();
    const hashed = await hashFile(path, absolute, giveTurn);
    cache.store(path, hashed.stats, { digest: hashed.digest, chunks: hashed.chunks }, readAtMs);
    return { ...hashed, size: hashed.stats.size, bytes: undefined };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") throw filesChanged([path]);
    if (code === "EACCES" || code === "EPERM" || code === "EIO") return { reason: "cannot be read" };
    throw error;
  }
}

/** Content that replaces a file in the upload. Undefined for an unchanged file. */
function rewrite(path: string, absolute: string): Uint8Array | undefined {
  if (path !== "pyproject.toml" && !path.endsWith("/pyproject.toml")) return undefined;
  const text = readFileSync(absolute, "utf8");
  return mentionsService(text) ? Buffer.from(stripToolService(text)) : undefined;
}

function entryOf({ path }: SelectedFile, stats: Stats, size: number, chunks: readonly string[]): TreeEntry {
  return { path, size, is_executable: (stats.mode & 0o100) !== 0, chunks, link: null };
}

function sourceOf(file: SelectedFile, index: number, size: number, bytes: Uint8Array | undefined): BlobSource {
  const offset = index * CHUNK_BYTES;
  return { path: file.path, absolute: file.absolute, offset, length: Math.min(CHUNK_BYTES, size - offset), bytes };
}

/** Checks all files again: the first may have changed while the last was read, and would be inconsistent with it. */
function refuseMoved(files: readonly SelectedFile[]): void {
  const moved = files.filter(({ absolute, stats }) => {
    const now = lstatSync(absolute, { throwIfNoEntry: false });
    const target = now?.isSymbolicLink() === true ? statSync(absolute, { throwIfNoEntry: false }) : now;
    return target === undefined || !isSameFile(stats, target);
  });
  if (moved.length > 0) throw filesChanged(moved.map(({ path }) => path));
}

function refuseTooLarge(files: readonly SelectedFile[]): void {
  const bytes = files.reduce((sum, { stats }) => sum + stats.size, 0);
  if (bytes <= MAX_TREE_BYTES) return;
  const largest = [...files].sort((one, other) => other.stats.size - one.stats.size).slice(0, 3);
  const shown = largest.map(({ path, stats }) => `${path} (${formatBytes(stats.size)})`).join(", ");
  throw invalid(
    `The project's files have ${formatBytes(bytes)} together; the maximum is ${formatBytes(MAX_TREE_BYTES)}. The largest: ${shown}.`,
  );
}

function invalid(detail: string): AppError {
  return appError("tree_invalid", {
    detail,
    hint: "Exclude what the application does not need: exclude = [...] in the database's entry of service.toml, or a .gitignore",
  });
}

function createYield(signal: AbortSignal): () => Promise<void> {
  let since = performance.now();
  return async () => {
    if (performance.now() - since < TURN_MS) return;
    await nextTurn();
    since = performance.now();
    if (signal.aborted) throw appError("interrupted", { detail: "The command was interrupted. Nothing was changed." });
  };
}
