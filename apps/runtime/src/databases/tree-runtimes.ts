import { existsSync } from "node:fs";
import { basename, join } from "node:path";
import { appError } from "@appdb/contract/errors";
import type { Runtime } from "@appdb/contract/runtime";
import type { RuntimeStore } from "./runtime-store.ts";

const ID = /^([0-9a-f]{64})\/(.+)$/s;

/**
 * The runtimes of a hosted database: each tree of project files is one. Their ids name the tree and the application's file,
 * `<digest>/app.py`, and nothing is stored: Python and secrets are always those that the pod was started with.
 */
export interface TreeRuntimes extends Omit<RuntimeStore, "clean"> {
  /** The runtime of a tree. @throws blobs_missing when it is not there */
  of(digest: string): Runtime;
  /** The tree that an id names; undefined for what is no id. */
  treeOf(id: string): string | undefined;
}

export function createTreeRuntimes(filesFolder: string, runtime: Runtime): TreeRuntimes {
  const at = (digest: string): Runtime => ({ ...runtime, project_root: join(filesFolder, digest) });
  return {
    of(digest) {
      const found = at(digest);
      if (existsSync(found.project_root)) return found;
      throw appError("blobs_missing", {
        detail: `The project files ${digest.slice(0, 12)} are not there.`,
        hint: "Run the command again: it uploads what is missing.",
        meta: { files: digest },
      });
    },
    treeOf: (id) => ID.exec(id)?.[1],
    save({ project_root: projectRoot }, appFile) {
      return `${basename(projectRoot)}/${appFile ?? ""}`;
    },
    find(id) {
      const [, digest, appFile] = ID.exec(id) ?? [];
      if (digest === undefined || appFile === undefined) return undefined;
      const found = at(digest);
      return existsSync(found.project_root) ? { runtime: found, app_file: appFile } : undefined;
    },
  };
}
