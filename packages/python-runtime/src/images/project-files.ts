import { findTreeProblem, selectTreePart, type TreeEntry } from "@appdb/contract/control/project-tree";
import { LinkFollower, placeEntries } from "@appdb/contract/control/tree-links";
import { appError } from "@appdb/contract/errors";
import type { EnvironmentDocument } from "@appdb/contract/routes/control-databases";
import { type NewEntry, OPEN, writeEntries } from "@appdb/system/files/write-entries";
import { checkEnvironmentParts } from "../environments/check-environment.ts";

/** The project files that an image is built from. */
export interface ProjectFiles {
  /** A list that `findTreeProblem` accepts. */
  readonly entries: readonly TreeEntry[];
  /** The bytes of a file. @throws blobs_missing for bytes that are gone, or are not what was uploaded */
  read(entry: TreeEntry): AsyncIterable<Uint8Array>;
}

/**
 * Writes what an environment is built from into a folder of its own: its files as they were hashed, and the entries of the project that it lists.
 * Nothing else of the project is there, so that an image depends on nothing that its hash does not know. The bytes come from the list of
 * entries; no folder is walked. `folder` must be empty, and nobody else may write in it until this resolves. A link travels only where its end does.
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

/** A link whose end stays behind leads to nothing, or to what a build puts there. */
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
    hint: "Send what the command collects: cli db update",
  });
}
