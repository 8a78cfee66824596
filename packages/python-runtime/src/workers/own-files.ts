import { randomBytes } from "node:crypto";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { awaitIfExists } from "@appdb/system/files/read-if-exists";
import { removeFolder } from "@appdb/system/files/remove-folder";

/** Time after a worker's end in which its last results are stored. */
const LATE_MS = 300_000;

/** The files of one worker in the folder that workers share. */
export interface OwnFiles {
  /** Variables for the worker: the names of the files that the library makes for functions begin with its name. */
  readonly env: Readonly<Record<string, string>>;
  /** Removes its files once its last results are stored. It has ended. */
  removeLater(lateMs?: number): void;
}

/** Names the files of a new worker. `scratch`: the shared folder; undefined where functions make no files. */
export function nameOwnFiles(scratch: string | undefined): OwnFiles {
  if (scratch === undefined) return { env: {}, removeLater: () => undefined };
  const name = `worker-${randomBytes(8).toString("hex")}-`;
  const remove = async (): Promise<void> => {
    for (const found of (await awaitIfExists(readdir(scratch))) ?? []) {
      if (found.startsWith(name)) await removeFolder(join(scratch, found));
    }
  };
  return {
    env: { APPDB_SCRATCH_NAME: name },
    removeLater(lateMs = LATE_MS) {
      // what cannot be removed now is removed with the whole folder
      setTimeout(() => void remove().catch(() => undefined), lateMs).unref();
    },
  };
}
