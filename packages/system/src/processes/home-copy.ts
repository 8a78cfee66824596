import { readdirSync, readFileSync, realpathSync } from "node:fs";
import { join, relative } from "node:path";
import { type AppError, appError } from "@appdb/contract/errors";
import { isOtherFolder } from "../files/is-other-folder.ts";
import { readIfExists } from "../files/read-if-exists.ts";
import { findLockOwner } from "./numbered-lock.ts";
import { writePrivateFile } from "./private-files.ts";

/** In the folder of a home's locks: the path of the home, which a copy of the home contains unchanged. */
const PLACE = "place";

/**
 * Refuses a copy of a home while processes of the original run: the copy's files name them, so they would be taken over
 * or ended. A home that was moved is not a copy: nothing is left in its previous place.
 * @throws home_copied
 */
export function refuseCopiedHome(home: string, locks: string, program: "daemon" | "server"): void {
  const stored = readIfExists(() => readFileSync(join(locks, PLACE), "utf8"))?.trim();
  if (stored === undefined || stored === "" || !isOtherFolder(stored, home)) return;
  const original = join(stored, relative(home, locks));
  // another home, or something else, took the place of one that was moved
  if (readIfExists(() => readFileSync(join(original, PLACE), "utf8"))?.trim() !== stored) return;
  const pid = findAnyOwner(original);
  if (pid !== undefined) throw copiedHome(home, { original: stored, pid, program });
}

/** Records where the home is. Call it with the home's lock. */
export function recordPlace(home: string, locks: string): void {
  const path = join(locks, PLACE);
  const place = realpathSync(home);
  if (readIfExists(() => readFileSync(path, "utf8"))?.trim() !== place) writePrivateFile(path, `${place}\n`);
}

export function copiedHome(
  home: string,
  {
    original,
    pid,
    program,
  }: { readonly original: string; readonly pid: number; readonly program: "daemon" | "server" },
): AppError {
  return appError("home_copied", {
    detail: `The home ${home} is a copy of ${original}, which is in use by process ${pid}. A start of the copy would end processes of the original.`,
    hint:
      program === "daemon"
        ? `Stop the daemon of the original: SERVICE_HOME='${original.replaceAll("'", "'\\''")}' cli daemon stop`
        : `Stop the server of ${original} with its pods and gateway, then start this one again.`,
    meta: { home, original, pid },
  });
}

/** A process that holds one of the folder's locks. */
function findAnyOwner(locks: string): number | undefined {
  const names = readIfExists(() => readdirSync(locks)) ?? [];
  const prefixes = new Set(names.flatMap((name) => /^(.+\.)\d+$/.exec(name)?.[1] ?? []));
  for (const prefix of prefixes) {
    const owner = findLockOwner(locks, prefix);
    if (owner !== undefined) return owner.pid;
  }
  return undefined;
}
