import {
  chmodSync,
  copyFileSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { appError } from "@appdb/contract/errors";
import type { EnvironmentDocument } from "@appdb/contract/routes/control-databases";

/**
 * Writes what an environment is built from into a folder of its own: its files as they were hashed, and copies of what it takes from the
 * project. Nothing else of the project is there, so that an image depends on nothing that its hash does not know. The document must have
 * been checked.
 * @throws build_failed when the project's files lack something
 */
export function writeProjectFiles(document: EnvironmentDocument, project_folder: string | null, folder: string): void {
  mkdirSync(folder, { recursive: true });
  for (const { path, text } of document.files.filter((file) => !file.path.endsWith("/"))) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  for (const { path } of document.files.filter((file) => file.path.endsWith("/"))) {
    const part = path.slice(0, -1);
    if (project_folder === null || lstatSync(join(project_folder, part), { throwIfNoEntry: false }) === undefined) {
      throw appError("build_failed", {
        detail: `The environment takes ${part} from the project, and it is not among the project's files.`,
        hint: "Let it be uploaded: name it by include in the database's entry",
        meta: { path: part },
      });
    }
    mkdirSync(dirname(join(folder, part)), { recursive: true });
    copy(join(project_folder, part), join(folder, part));
  }
}

/** A build writes beside its sources, so what is read-only in a tree is not in the copy. */
function copy(from: string, to: string): void {
  const found = lstatSync(from);
  if (found.isSymbolicLink()) symlinkSync(readlinkSync(from), to);
  else if (found.isDirectory()) {
    mkdirSync(to, { recursive: true });
    for (const name of readdirSync(from)) copy(join(from, name), join(to, name));
  } else {
    copyFileSync(from, to);
    chmodSync(to, (found.mode & 0o100) === 0 ? 0o644 : 0o755);
  }
}
