import { existsSync } from "node:fs";
import { basename, join } from "node:path";
import { appError } from "@appdb/contract/errors";
import type { Runtime } from "@appdb/contract/runtime";
import type { RuntimeStore } from "./runtime-store.ts";

const ID = /^([0-9a-f]{64}|none)\/(.*)$/s;
/** The tree of a database without project files. */
const NO_FILES = "none";

/**
 * Runtimes of a hosted database, one for each tree of project files. An id names the tree and the application file,
 * `<digest>/app.py`, or no file, `<digest>/`, for functions of programs alone. Nothing is stored: Python and secrets are those of the pod's start.
 */
export interface TreeRuntimes extends Omit<RuntimeStore, "clean"> {
  /** Runtime of a tree; null: of a database without files. @throws blobs_missing when the tree is missing */
  of(digest: string | null): Runtime;
  /** Tree of an id; undefined for an invalid id. */
  treeOf(id: string): string | undefined;
}

export function createTreeRuntimes(filesFolder: string, runtime: Runtime): TreeRuntimes {
  const at = (digest: string): Runtime => ({ ...runtime, project_root: join(filesFolder, digest) });
  return {
    of(digest) {
      const found = at(digest ?? NO_FILES);
      if (digest === null) return found;
      if (existsSync(found.project_root)) return found;
      throw appError("blobs_missing", {
        detail: `The project files ${digest.slice(0, 12)} are missing.`,
        hint: "Run the command again. It uploads missing files.",
        meta: { files: digest },
      });
    },
    treeOf(id) {
      const tree = ID.exec(id)?.[1];
      return tree === NO_FILES ? undefined : tree;
    },
    save({ project_root: projectRoot }, appFile) {
      return `${basename(projectRoot)}/${appFile ?? ""}`;
    },
    find(id) {
      const [, digest, appFile] = ID.exec(id) ?? [];
      if (digest === undefined || appFile === undefined) return undefined;
      const found = at(digest);
      return existsSync(found.project_root) ? { runtime: found, app_file: appFile === "" ? null : appFile } : undefined;
    },
  };
}
