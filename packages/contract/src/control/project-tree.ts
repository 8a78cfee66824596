/**
 * Project files as they travel: a tree is the list of its entries sorted by path (by code units), and its digest is the SHA-256 of its
 * canonical JSON (`treeText`). A file's bytes are cut into chunks; each chunk is a blob of the organization, named by its SHA-256.
 */
export const CHUNK_BYTES = 8 * 1024 * 1024;
export const MAX_TREE_FILES = 50_000;
export const MAX_TREE_BYTES = 4 * 1024 * 1024 * 1024;
const MAX_PATH_BYTES = 1_024;
const MAX_PART_BYTES = 255;

export interface TreeEntry {
  /** From the project's root, parts divided by `/`. */
  readonly path: string;
  /** Bytes; 0 for a link. */
  readonly size: number;
  readonly is_executable: boolean;
  /** SHA-256 of each chunk in hex, in order; none for an empty file and for a link. */
  readonly chunks: readonly string[];
  /** Where a symbolic link leads, relative to its folder and inside of the tree; null for a file. */
  readonly link: string | null;
}

/** The document whose SHA-256 is the tree's digest: entries sorted by path, members in this order, no spaces. */
export function treeText(entries: readonly TreeEntry[]): string {
  const sorted = [...entries].sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
  return JSON.stringify(
    sorted.map(({ path, size, is_executable, chunks, link }) => [path, size, is_executable, chunks, link]),
  );
}

/** What is wrong with a tree, for a person; undefined for one that may be unpacked. Knows nothing of who sends it. */
export function findTreeProblem(entries: readonly TreeEntry[]): string | undefined {
  if (entries.length > MAX_TREE_FILES) return `it has ${entries.length} files; ${MAX_TREE_FILES} is the most`;
  const bytes = entries.reduce((sum, entry) => sum + entry.size, 0);
  if (bytes > MAX_TREE_BYTES) return `its files have ${bytes} bytes together; ${MAX_TREE_BYTES} is the most`;
  const files = new Map(entries.map((entry) => [entry.path, entry]));
  if (files.size !== entries.length) return "a path is in it twice";
  for (const entry of entries) {
    const problem = findPathProblem(entry.path) ?? findEntryProblem(entry, files);
    if (problem !== undefined) return `${JSON.stringify(entry.path.slice(0, 100))} ${problem}`;
  }
  return undefined;
}

/** What is wrong with a path of a project, for a person; undefined for one that stays inside of it on every system. */
export function findPathProblem(path: string): string | undefined {
  if (path === "" || path.startsWith("/") || path.endsWith("/")) return "is no path of a file from the project's root";
  if (/\p{Cc}/u.test(path) || !path.isWellFormed()) return "has control characters or is no well-formed text";
  if (path.includes("\\")) return "has a backslash, which is not a name everywhere";
  if (byteLength(path) > MAX_PATH_BYTES) return `is longer than ${MAX_PATH_BYTES} bytes`;
  for (const part of path.split("/")) {
    if (part === "" || part === "." || part === "..") return `has a part ${JSON.stringify(part)}`;
    if (byteLength(part) > MAX_PART_BYTES) return `has a name longer than ${MAX_PART_BYTES} bytes`;
  }
  return undefined;
}

function findEntryProblem(entry: TreeEntry, files: ReadonlyMap<string, TreeEntry>): string | undefined {
  const parts = entry.path.split("/");
  for (let length = 1; length < parts.length; length++) {
    // also what stops a file from being written through a link
    if (files.has(parts.slice(0, length).join("/"))) return "lies below a path that is a file or a link";
  }
  if (entry.link !== null) {
    if (entry.size !== 0 || entry.chunks.length > 0) return "is a link and has bytes";
    return findLinkProblem(parts.slice(0, -1), entry.link);
  }
  const chunks = Math.ceil(entry.size / CHUNK_BYTES);
  return entry.chunks.length === chunks ? undefined : `has ${entry.chunks.length} chunks; ${chunks} belong to its size`;
}

function findLinkProblem(folder: readonly string[], link: string): string | undefined {
  if (link === "" || link.startsWith("/") || /[\p{Cc}\\]/u.test(link) || byteLength(link) > MAX_PATH_BYTES) {
    return "is a link to an absolute or impossible path";
  }
  const at = [...folder];
  for (const part of link.split("/")) {
    if (part === "..") {
      if (at.pop() === undefined) return "is a link out of the project";
    } else if (part !== "." && part !== "") at.push(part);
  }
  return undefined;
}

function byteLength(text: string): number {
  return new TextEncoder().encode(text).length;
}
