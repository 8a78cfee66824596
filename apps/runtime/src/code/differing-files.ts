import { createHash } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { join, normalize } from "node:path";
import { appError } from "@appdb/contract/errors";

/** SHA-256 of files by their paths in the project; null: the caller does not tell. */
export type FileDigests = Readonly<Record<string, string>> | null;

/** Maximum files that a message names. */
const MAX_NAMED = 5;
/** Digests of files of trees by their paths, which never change: each query of a caller names the same ones. */
const known = new Map<string, string>();
const MAX_KNOWN = 10_000;

/** The files of a caller that a tree has not, or has with other content. `root` is the tree's folder; null: no files. */
export function differingFiles(root: string | null, digests: FileDigests): readonly string[] {
  return Object.entries(digests ?? {}).flatMap(([path, digest]) =>
    root !== null && digestOf(root, path) === digest ? [] : [path],
  );
}

/** The error for code that is not the caller's. */
export function filesDiffer(paths: readonly string[], hint: string): Error {
  const more = paths.length > MAX_NAMED ? ` and ${paths.length - MAX_NAMED} more` : "";
  return appError("project_files_differ", {
    detail: `The project files of the database differ from yours: ${paths.slice(0, MAX_NAMED).join(", ")}${more}. Nothing was done.`,
    hint,
    meta: { files: paths.slice(0, 100) },
  });
}

function digestOf(root: string, path: string): string | undefined {
  const isInside = normalize(path) === path && !path.startsWith("..") && !path.startsWith("/");
  if (!isInside || !path.endsWith(".py")) return undefined;
  const file = join(root, path);
  const before = known.get(file);
  if (before !== undefined) return before;
  if (!isFile(file)) return undefined;
  const digest = createHash("sha256").update(readFileSync(file)).digest("hex");
  if (known.size >= MAX_KNOWN) known.clear();
  known.set(file, digest);
  return digest;
}

/** False for a folder, and for a name that no file can have: too long, or below a file. */
function isFile(path: string): boolean {
  try {
    return !path.includes("\0") && statSync(path).isFile();
  } catch {
    // the tree has no such file, whatever the reason is
    return false;
  }
}
