import { mkdirSync, readdirSync, readlinkSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { appError } from "@appdb/contract/errors";

/** User ids that nobody else on the machine has. */
export interface UserRange {
  readonly first: number;
  readonly count: number;
}

/**
 * The user id of an owner (a database, an organization): given out once and never again, so that a file that was forgotten
 * somewhere never becomes somebody else's. Kept in `folder` as two links, whose making is exclusive: from the number to
 * the owner, then from the owner to the number. A start that is killed between both takes another number the next time.
 * @throws pod_failed when the range has no number left
 */
export function allotUser(folder: string, owner: string, range: UserRange): number {
  const known = readLink(join(folder, ownerName(owner)));
  if (known !== undefined) return Number(known);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const taken = readdirSync(folder).flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : []));
  for (
    let uid = Math.max(range.first, ...taken.map((number) => number + 1));
    uid < range.first + range.count;
    uid += 1
  ) {
    if (!link(owner, join(folder, String(uid)))) continue;
    if (link(String(uid), join(folder, ownerName(owner)))) return uid;
    // somebody else was quicker for the same owner
    return allotUser(folder, owner, range);
  }
  throw appError("pod_failed", {
    detail: `All ${range.count} user ids from ${range.first} on were given to databases.`,
    hint: "Give the service a larger range of user ids.",
  });
}

function ownerName(owner: string): string {
  return `of-${owner}`;
}

function readLink(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** False when the name is taken. */
function link(target: string, path: string): boolean {
  try {
    symlinkSync(target, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}
