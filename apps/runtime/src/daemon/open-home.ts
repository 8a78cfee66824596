import { randomBytes } from "node:crypto";
import { accessSync, constants, readFileSync, realpathSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type DaemonFile, HOME_PATHS } from "@appdb/contract/home";
import { homeError } from "@appdb/contract/home-error";
import { makePrivateFolder } from "@appdb/system/files/private-folder";
import { writePrivateFile } from "@appdb/system/processes/private-files";

/** Creates the home if it is missing and returns its real path. @throws home_not_writable, disk_full */
export function openDaemonHome(home: string): string {
  try {
    makePrivateFolder(home);
    accessSync(home, constants.R_OK | constants.W_OK | constants.X_OK);
    return realpathSync(home);
  } catch (cause) {
    throw homeError(home, cause);
  }
}

/** Returns the home's token; creates it once. Only the owner may read it. */
export function openToken(home: string): string {
  const path = join(home, HOME_PATHS.token);
  try {
    const token = readFileSync(path, "utf8").trim();
    if (token.length >= 32) return token;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
  const token = randomBytes(32).toString("base64url");
  writePrivateFile(path, `${token}\n`);
  return token;
}

/** Writes the daemon's address once it is listening, so that readers can connect. */
export function writeDaemonFile(home: string, file: DaemonFile): void {
  writePrivateFile(join(home, HOME_PATHS.daemon), `${JSON.stringify(file)}\n`);
}

export function removeDaemonFile(home: string): void {
  rmSync(join(home, HOME_PATHS.daemon), { force: true });
}
