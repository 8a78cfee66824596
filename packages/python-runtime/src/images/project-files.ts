import { findTreeProblem, selectTreePart, type TreeEntry } from "@appdb/contract/control/project-tree";
import { LinkFollower, placeEntries } from "@appdb/contract/control/tree-links";
import { appError } from "@appdb/contract/errors";
import type { EnvironmentDocument } from "@appdb/contract/routes/control-databases";
import { type NewEntry, OPEN, writeEntries } from "@appdb/system/files/write-entries";
import { checkEnvironmentParts } from "../environments/check-environment.ts";

/** Project files that an image is built from. */
export interface ProjectFiles {
  /** A list that passes `findTreeProblem`. */
  readonly entries: readonly TreeEntry[];
  /** Reads the bytes of a file. @throws blobs_missing when the bytes are gone or do not match the upload */
  read(entry: TreeEntry): AsyncIterable<Uint8Array>;
}

/**
 * Writes the inputs of an environment into a separate folder: its files as hashed, and the project entries that it
 * lists. It writes nothing else of the project, so an image depends only on its hash. It copies the listed entries and
 * never walks a folder. `folder` must be empty, and nothing else may write to it until this resolves. Links are written
 * only together with their targets.
 * @throws environment_refused, blobs_missing
 */
export async function writeProjectFiles(
  document: EnvironmentDocument,
  project: ProjectFiles | null,
  folder: string,
  signal: AbortSignal,
): Promise<void> {
  checkEnvironmentParts(document, project?.entries ?? null);
  const bytes = new Map<string, NewEntry["bytes"]>();
  const chosen = new Map<string, TreeEntry>();
  for (const { path, text } of document.files) {
    if (path.endsWith("/")) continue;
    chosen.set(path, { path, size: 0, is_executable: false, chunks: [], link: null });
    bytes.set(path, () => [Buffer.from(text)]);
  }
  for (const { path } of document.files) {
    if (project === null || !path.endsWith("/")) continue;
    for (const entry of selectTreePart(project.entries, path.slice(0, -1))) {
      chosen.set(entry.path, entry);
      bytes.set(entry.path, () => project.read(entry));
    }
  }
  const entries = [...chosen.values()];
  const problem = findTreeProblem(entries);
  if (problem !== undefined) throw conflict(problem);
  const list = withoutLooseLinks(entries).map(({ is_executable: isExecutable, link, path }): NewEntry => {
    return { path, is_executable: isExecutable, link, bytes: bytes.get(path) ?? (() => []) };
  });
  await writeEntries(list, folder, OPEN, signal);
}

/** Drops links without a written target: they would be broken, or lead to files of the build. */
function withoutLooseLinks(entries: readonly TreeEntry[]): TreeEntry[] {
  const links = new LinkFollower();
  const { placed } = placeEntries(entries);
  return placed.flatMap(({ entry, node }) => {
    if (node.kind !== "link") return [entry];
    const end = links.follow(node);
    return typeof end !== "string" && end.missing === 0 ? [entry] : [];
  });
}

function conflict(problem: string): Error {
  return appError("environment_refused", {
    detail: `The environment cannot be built from the project's files: ${problem}.`,
    hint: "Send the environment that the command collects: cli db update",
  });
}
