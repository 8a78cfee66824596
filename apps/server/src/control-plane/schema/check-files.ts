import type { TreeEntry } from "@appdb/contract/control/project-tree";
import { AppError, appError } from "@appdb/contract/errors";
import type { ImportedFile } from "@appdb/contract/routes/pod";

export type ImportedDigests = Readonly<Record<string, string>>;

/** Maximum files that a message names. */
const MAX_NAMED = 5;
/** Errors of Python that may be caused by other files than expected. */
const OF_THE_FILES = ["app_invalid", "app_file_not_found", "manifest_invalid"];

/** Refuses an update if the application's imports differ from the caller's files. @throws project_files_differ */
export function checkImported(uri: string, imported: readonly ImportedFile[], digests: ImportedDigests | null): void {
  if (digests === null) return;
  refuse(
    uri,
    imported.filter(({ digest, path }) => digests[path] !== digest).map(({ path }) => path),
  );
}

/** Checks the application's file itself, before it runs. @throws project_files_differ */
export function checkAppFile(
  uri: string,
  entries: readonly TreeEntry[],
  appFile: string,
  digests: ImportedDigests | null,
): void {
  const entry = entries.find(({ path }) => path === appFile);
  if (digests === null || entry === undefined || isSame(entry, digests)) return;
  refuse(uri, [appFile]);
}

/** Replaces an error that other files may have caused. @throws project_files_differ, otherwise the error itself */
export function explainError(
  uri: string,
  entries: readonly TreeEntry[],
  digests: ImportedDigests | null,
  error: unknown,
): never {
  if (digests === null || !(error instanceof AppError) || !OF_THE_FILES.includes(error.code)) throw error;
  const others = entries.filter((entry) => entry.path.endsWith(".py") && !isSame(entry, digests));
  const paths = new Set(entries.map(({ path }) => path));
  const added = Object.keys(digests).filter((path) => path.endsWith(".py") && !paths.has(path));
  refuse(uri, [...others.map(({ path }) => path), ...added], error);
  throw error;
}

export function noFiles(uri: string): Error {
  return appError("project_files_differ", {
    detail: `${uri} has no project files yet.`,
    hint: `Upload them: cli db update ${uri}`,
    meta: { uri, files: [] },
  });
}

/** The digest of a file with several chunks is known only after reading it. */
function isSame({ chunks, path }: TreeEntry, digests: ImportedDigests): boolean {
  return chunks.length !== 1 || digests[path] === chunks[0];
}

function refuse(uri: string, paths: readonly string[], cause?: unknown): void {
  if (paths.length === 0) return;
  const named = paths.slice(0, MAX_NAMED).join(", ");
  const more = paths.length > MAX_NAMED ? ` and ${paths.length - MAX_NAMED} more` : "";
  throw appError("project_files_differ", {
    detail: `${named}${more}: differs from the files of ${uri}.`,
    hint: `Update the database first: cli db update ${uri}`,
    meta: { uri, files: paths.slice(0, 100) },
    cause,
  });
}
