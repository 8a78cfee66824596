import { rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { appError } from "@appdb/contract/errors";
import { isDiskFull } from "../files/is-disk-full.ts";
import { moveFile } from "../files/move-file.ts";
import { makePrivateFolder } from "../files/private-folder.ts";
import { lazyCrypto } from "./lazy-crypto.ts";

/**
 * Writes a private file atomically: readers see the old text or the new one.
 * @throws disk_full; otherwise the system's error
 */
export function writePrivateFile(path: string, text: string): void {
  const temporary = `${path}.${lazyCrypto().randomBytes(6).toString("hex")}.tmp`;
  try {
    makePrivateFolder(dirname(path));
    writeFileSync(temporary, text, { mode: 0o600, flag: "wx" });
    moveFile(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    if (!isDiskFull(error)) throw error;
    throw appError("disk_full", {
      detail: "The disk of the home folder is full; nothing was written.",
      hint: "Free space on that disk and try again.",
      cause: error,
    });
  }
}
