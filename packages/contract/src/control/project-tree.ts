import { LinkFollower, placeEntries } from "./tree-links.ts";

/**
 * The transfer format of project files. A tree is the list of its entries sorted by path (by code units). Its digest is
 * the SHA-256 of its canonical JSON (`treeText`). A file's bytes are split into chunks. Each chunk is a blob of the
 * organization, named by its SHA-256.
 */
export const CHUNK_BYTES = 8 * 1024 * 1024;
export const MAX_TREE_FILES = 50_000;
export const MAX_TREE_BYTES = 4 * 1024 * 1024 * 1024;
const MAX_PATH_BYTES = 1_024;
const MAX_PART_BYTES = 255;
/** Names in a path, and in the target of a link. */
export const MAX_PATH_PARTS = 128;

export interface TreeEntry {
  /** Relative to the project root, with parts separated by `/`. */
  readonly path: string;
  /** Bytes; 0 for a link. */
  readonly size: number;
  readonly is_executable: boolean;
  /** SHA-256 of each chunk in hex, in order; none for an empty file and for a link. */
  readonly chunks: readonly string[];
  /** Target of a symbolic link, relative to its folder and inside the tree; null for a file. */
  readonly link: string | null;
}

/** The document whose SHA-256 is the tree's digest: entries sorted by path, members in this order, no spaces. */
export function treeText(entries: readonly TreeEntry[]): string {
  const sorted = [...entries].sort((a, b) => compareTexts(a.path, b.path));
  return JSON.stringify(
    sorted.map(({ path, size, is_executable: isExecutable, chunks, link }) => [path, size, isExecutable, chunks, link]),
  );
}

/**
 * The problem of a tree, for people; undefined if it can be unpacked. Links are followed over the tree's entries, so
 * that no unpacked path leaves the tree. The work is linear in the length of the paths and links.
 */
export function findTreeProblem(entries: readonly TreeEntry[]): string | undefined {
  if (entries.length > MAX_TREE_FILES) return `it has ${entries.length} files; the maximum is ${MAX_TREE_FILES}`;
  const bytes = entries.reduce((sum, entry) => sum + entry.size, 0);
  if (bytes > MAX_TREE_BYTES) return `its files have ${bytes} bytes together; the maximum is ${MAX_TREE_BYTES}`;
  if (new Set(entries.map(({ path }) => path)).size !== entries.length) return "it contains a path twice";
  for (const entry of entries) {
    const problem = findPathProblem(entry.path) ?? findEntryProblem(entry);
    if (problem !== undefined) return describe(entry.path, problem);
  }
  const { placed, problem } = placeEntries(entries);
  if (problem !== undefined) return describe(problem.path, problem.text);
  const links = new LinkFollower();
  for (const { entry, node } of placed) {
    const end = node.kind === "link" ? links.follow(node) : undefined;
    if (typeof end === "string") return describe(entry.path, end);
  }
  return undefined;
}

function describe(path: string, problem: string): string {
  return `${JSON.stringify(path.slice(0, 100))} ${problem}`;
}

/**
 * The text that represents a part of a tree in an environment: a line per file at or below `part`, with its digests.
 * Undefined when the part is missing, and for a text of more than `most_length` characters.
 */
export function listTreePart(
  entries: readonly TreeEntry[],
  part: string,
  mostLength = Number.POSITIVE_INFINITY,
): string | undefined {
  const lines: string[] = [];
  let length = 0;
  for (const entry of selectTreePart(entries, part)) {
    const { chunks, is_executable: isExecutable, link, path } = entry;
    const line = `${link === null ? chunks.join(",") : `->${link}`}${isExecutable ? "*" : ""} ${path}\n`;
    length += line.length;
    if (length > mostLength) return undefined;
    lines.push(line);
  }
  return lines.length === 0 ? undefined : lines.sort(byLine).join("");
}

/** The entries at or below a path of a tree. */
export function* selectTreePart(entries: readonly TreeEntry[], part: string): Generator<TreeEntry> {
  const folder = `${part}/`;
  for (const entry of entries) if (entry.path === part || entry.path.startsWith(folder)) yield entry;
}

/** Paths of the links of a tree. */
export function linksOf(entries: readonly TreeEntry[]): ReadonlySet<string> {
  return new Set(entries.flatMap(({ link, path }) => (link === null ? [] : [path])));
}

/** The first link on a path; undefined when there is none. Costs one lookup per name in the path. */
export function findLinkOnWay(links: ReadonlySet<string>, path: string): string | undefined {
  for (let end = path.indexOf("/"); end !== -1; end = path.indexOf("/", end + 1)) {
    if (links.has(path.slice(0, end))) return path.slice(0, end);
  }
  return links.has(path) ? path : undefined;
}

/** The order of `sort()` on the lines without line breaks. */
function byLine(a: string, b: string): number {
  return compareTexts(a.slice(0, -1), b.slice(0, -1));
}

function compareTexts(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** The problem of a project path, for people; undefined if it stays inside the project on every system. */
export function findPathProblem(path: string): string | undefined {
  if (path === "" || path.startsWith("/") || path.endsWith("/")) return "is not a path relative to the project's root";
  if (/\p{Cc}/u.test(path) || !path.isWellFormed()) return "has control characters or is not well-formed text";
  if (path.includes("\\")) return "has a backslash, which is not a name everywhere";
  if (isLongerThan(path, MAX_PATH_BYTES)) return `is longer than ${MAX_PATH_BYTES} bytes`;
  const parts = path.split("/");
  if (parts.length > MAX_PATH_PARTS) return `is deeper than ${MAX_PATH_PARTS} names`;
  for (const part of parts) {
    if (part === "" || part === "." || part === "..") return `has a part ${JSON.stringify(part)}`;
    if (isLongerThan(part, MAX_PART_BYTES)) return `has a name longer than ${MAX_PART_BYTES} bytes`;
  }
  return undefined;
}

function findEntryProblem({ chunks, link, size }: TreeEntry): string | undefined {
  if (link === null) {
    const count = Math.ceil(size / CHUNK_BYTES);
    return chunks.length === count ? undefined : `has ${chunks.length} chunks; ${count} belong to its size`;
  }
  if (size !== 0 || chunks.length > 0) return "is a link and has bytes";
  // The disk has another name for malformed text, and another entry may have that name.
  const isPossible = link !== "" && !link.startsWith("/") && !/[\p{Cc}\\]/u.test(link) && link.isWellFormed();
  if (!isPossible || isLongerThan(link, MAX_PATH_BYTES)) return "is a link to an absolute or impossible path";
  return link.split("/").length > MAX_PATH_PARTS ? `is a link of more than ${MAX_PATH_PARTS} names` : undefined;
}

/** Whether a text has more bytes of UTF-8. */
function isLongerThan(text: string, bytes: number): boolean {
  // A code unit takes at most three bytes.
  return text.length * 3 > bytes && new TextEncoder().encode(text).length > bytes;
}
