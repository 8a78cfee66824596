import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join, normalize } from "node:path";
import { appError } from "@appdb/contract/errors";

/** SHA-256 of files by their paths in the project; null: the caller does not tell. */
export type FileDigests = Readonly<Record<string, string>> | null;

/** Maximum files that a message names. */
const MAX_NAMED = 5;

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
  const file = join(root, path);
  if (!isInside || !path.endsWith(".py") || !existsSync(file)) return undefined;
  return createHash("sha256").update(readFileSync(file)).digest("hex");
}
